package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millrace-dev/millrace/internal/partner/jsondoc"
)

// maxEcho bounds the rejected value that a violation repeats; a longer value is left out.
const maxEcho = 8 << 10

// maxViolations bounds the violations of one answer.
const maxViolations = 100

// Validate checks a body, one JSON object, against the input schema and the rules of the entry. It returns nil for an
// accepted body; a model without an input schema accepts every object. Violations are sorted by path.
func (m *Model) Validate(body []byte) []Violation {
	var found []violation
	if m.input != nil {
		found = m.input.violations(body)
	}
	if len(found) == 0 {
		found = append(m.brokenRules(body), m.taskConflicts(body)...)
	}
	return render(body, found)
}

// UnknownFields returns a violation for every top-level member of the body that the input schema does not declare
// (reject_unknown_fields). It returns nil if the model has no schema or its schema allows additional members.
func (m *Model) UnknownFields(body []byte) []Violation {
	if m.input == nil {
		return nil
	}
	top := resolved(m.input.compiled)
	if open, ok := top.AdditionalProperties.(bool); len(top.Properties) == 0 || top.AdditionalProperties != nil && (!ok || open) {
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	var found []violation
	for name := range object {
		if top.Properties[name] == nil {
			found = append(found, extraField(nil, name))
		}
	}
	return render(body, found)
}

func resolved(s *jsonschema.Schema) *jsonschema.Schema {
	for s.Ref != nil && len(s.Properties) == 0 {
		s = s.Ref
	}
	return s
}

// violation is a Violation without the rejected value.
type violation struct {
	path  []string // in the document
	loc   []any    // set by rules; nil = derived from path
	field string   // name of a missing member below path
	msg   string
	kind  string
	ctx   map[string]any
}

func (s *schema) violations(body []byte) []violation {
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return []violation{{msg: "Invalid JSON", kind: "json_invalid"}}
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(s.compiled.Validate(instance), &invalid) {
		return nil
	}
	var found []violation
	for _, leaf := range innermost(invalid) {
		found = append(found, describe(leaf)...)
	}
	return found
}

func (m *Model) brokenRules(body []byte) []violation { return violationsOf(m.rules, body) }

// Violations for fields that the price does not cover.
const (
	unpricedKind = "price_not_covered"
	unpricedMsg  = "The provider takes this field, but the price list of this router does not cover it, so that no credit can be reserved " +
		"for the call. The operator can set a ceiling to reserve for such calls of the model."
)

// Unpriced returns a violation for every part of the body that the provider takes and the price does not cover, and
// one for the whole body if the price cannot be computed from it. A call with such a body would cost more than the
// amount reserved for it.
func (m *Model) Unpriced(body []byte) []Violation {
	found := violationsOf(m.unpriced, body)
	if len(found) == 0 && m.Priced() && m.Price(body).Source == PriceUnknown {
		return []Violation{{
			Loc: []any{"body"}, Type: unpricedKind,
			Msg: "The price of this call cannot be computed from its body; check the fields that the model's price depends on.",
		}}
	}
	return render(body, found)
}

// violationsOf returns a violation for every rule that refuses the body.
func violationsOf(rules []inputRule, body []byte) []violation {
	if len(rules) == 0 {
		return nil
	}
	scope := Scope{Input: decodeBounded(body)}
	var found []violation
	for _, r := range rules {
		if !r.refuse.Holds(scope) {
			continue
		}
		path := make([]string, len(r.loc))
		for i, step := range r.loc {
			path[i] = fmt.Sprint(step)
		}
		found = append(found, violation{path: path, loc: r.loc, msg: r.msg, kind: r.kind})
	}
	return found
}

func decodeBounded(body []byte) any {
	value, err := jsondoc.Skeleton(bytes.NewReader(body))
	if err != nil { // for a body that is not JSON, expressions read nil
		return nil
	}
	return value
}

// render returns violations in the format of the contract, with the rejected values as the caller wrote them.
func render(body []byte, found []violation) []Violation {
	if len(found) == 0 {
		return nil
	}
	slices.SortStableFunc(found, func(a, b violation) int {
		return cmp.Or(slices.Compare(a.path, b.path), strings.Compare(a.field, b.field), strings.Compare(a.kind, b.kind))
	})
	found = found[:min(len(found), maxViolations)]
	values := jsondoc.Raw(body, lookups(found)...)
	violations := make([]Violation, 0, len(found))
	for _, v := range found {
		rendered := Violation{Loc: v.location(values), Msg: v.msg, Type: v.kind}
		if input := values[pointerTo(v.path)]; len(input) <= maxEcho {
			rendered.Input = input
		}
		if ctx, err := json.Marshal(v.ctx); err == nil && len(v.ctx) > 0 {
			rendered.Ctx = ctx
		}
		violations = append(violations, rendered)
	}
	return violations
}

// lookups returns the JSON pointers that rendering needs: the rejected values, and the parents of steps that may be
// indexes of an array.
func lookups(found []violation) []string {
	var pointers []string
	for _, v := range found {
		pointers = append(pointers, pointerTo(v.path))
		for i, step := range v.path {
			if _, err := strconv.Atoi(step); err == nil {
				pointers = append(pointers, pointerTo(v.path[:i]))
			}
		}
	}
	slices.Sort(pointers)
	return slices.Compact(pointers)
}

// location returns the path of the offending field, beginning with "body". Array indexes are numbers.
func (v violation) location(values map[string]json.RawMessage) []any {
	loc := []any{"body"}
	if v.loc != nil {
		return append(loc, v.loc...)
	}
	for i, step := range v.path {
		index, err := strconv.Atoi(step)
		if parent := values[pointerTo(v.path[:i])]; err == nil && len(parent) > 0 && parent[0] == '[' {
			loc = append(loc, index)
			continue
		}
		loc = append(loc, step)
	}
	if v.field != "" {
		loc = append(loc, v.field)
	}
	return loc
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

func pointerTo(path []string) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteByte('/')
		b.WriteString(escapePointer.Replace(step))
	}
	return b.String()
}

// TaskConflicts returns a violation for every member of a body that belongs to the entry's task: the task's id, and
// constants with another value. If several models share an address, these members select the model and the task, so
// they are checked even in strict_mode, where the rest of the body is not.
func (m *Model) TaskConflicts(body []byte) []Violation { return render(body, m.taskConflicts(body)) }

func (m *Model) taskConflicts(body []byte) []violation {
	if m.Encoding != EncodingTasks {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil
	}
	var found []violation
	for name, raw := range members {
		own, constant := m.Task.Members[name]
		if name == m.Task.ID || constant && !equalJSON(raw, own) {
			found = append(found, extraField(nil, name))
		}
	}
	return found
}

// equalJSON reports whether the caller's value equals the entry's.
func equalJSON(raw json.RawMessage, own any) bool {
	encoded, err := json.Marshal(own)
	if err != nil {
		return false
	}
	var given, wanted any
	return json.Unmarshal(raw, &given) == nil && json.Unmarshal(encoded, &wanted) == nil && reflect.DeepEqual(given, wanted)
}
