package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"go.yaml.in/yaml/v3"

	"github.com/millrace-dev/millrace/internal/partner/jsondoc"
)

// Alternate is another server of a model, which a caller chooses with the option model_provider. The server has its
// own catalog entry; expressions translate bodies and answers between the two entries.
type Alternate struct {
	Server string // its value of model_provider
	Model  *Model // the entry of the server: protocol, schemas, price

	id       string // id of Model
	line     int    // line of the entry in its file
	request  map[string]Expr
	used     map[string]bool // top-level fields of the body that the translation reads; nil = all
	lossy    map[string]Expr // field -> condition under which the translation loses a part of the field
	response Expr
	fallback Expr
}

// Servers returns the values of model_provider that choose an alternate.
func Servers() []string { return []string{"fal", "wavespeed", "runware", "higgsfield"} }

// Alternate returns the model's alternate of that name.
func (m *Model) Alternate(server string) (*Alternate, bool) {
	for _, a := range m.Alternates {
		if a.Server == server {
			return a, true
		}
	}
	return nil, false
}

// PriceAt returns the price of a call at a server. If the server does not serve the model, or is the model's own
// server, it returns the model's own price. strict reports that the body is written for that server already.
func (m *Model) PriceAt(server string, strict bool, body []byte) Estimate {
	a, ok := m.Alternate(server)
	if !ok {
		return m.Price(body)
	}
	if !strict {
		translated, _, err := a.Request(body)
		if err != nil {
			return Estimate{Source: PriceUnknown, Reason: "the body cannot be translated into a request of " + server}
		}
		body = translated
	}
	return a.Model.Price(body)
}

// CanReplace reports whether the alternate may serve this body while the model's own server is unavailable.
func (a *Alternate) CanReplace(body []byte) bool {
	return !a.fallback.Set() || a.fallback.Holds(Scope{Input: decodeBounded(body)})
}

// Request translates a body of the model, one JSON object, into a body for the alternate. It also returns the sorted
// names of the top-level fields that the translation drops, in whole or in part. Numbers beyond 64 bits are rounded.
func (a *Alternate) Request(body []byte) (translated []byte, dropped []string, err error) {
	if a.request == nil {
		return body, nil, nil
	}
	input, err := jsondoc.Whole(body)
	if err != nil {
		return nil, nil, fmt.Errorf("read the body: %w", err)
	}
	scope, out := Scope{Input: input}, map[string]any{}
	for name, e := range a.request {
		if value := e.Eval(scope); value != nil {
			out[name] = value
		}
	}
	if translated, err = encode(out); err != nil {
		return nil, nil, fmt.Errorf("write the body for %s: %w", a.Server, err)
	}
	return translated, a.untranslated(scope), nil
}

// untranslated returns the fields that have a value and are not fully translated.
func (a *Alternate) untranslated(s Scope) []string {
	lost := map[string]bool{}
	object, _ := s.Input.(map[string]any)
	for name, value := range object {
		if value != nil && a.used != nil && !a.used[name] {
			lost[name] = true
		}
	}
	for name, when := range a.lossy {
		if when.Holds(s) {
			lost[name] = true
		}
	}
	return slices.Sorted(maps.Keys(lost))
}

// Translates reports whether the alternate's answers have to be translated into the model's format.
func (a *Alternate) Translates() bool { return a.response.Set() }

// Response translates an answer of the alternate into an answer of the model m and checks the result against m's
// output schema. input is the caller's body; handle is empty for a synchronous alternate.
func (a *Alternate) Response(m *Model, input, answer []byte, handle string) ([]byte, error) {
	caller, err := jsondoc.Whole(input)
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	document, err := jsondoc.Whole(answer)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	object, ok := a.response.Eval(Scope{Status: 200, Input: caller, Body: document, Handle: handle}).(map[string]any)
	if !ok {
		return nil, errors.New("the answer lacks a value that its translation needs")
	}
	translated, err := encode(object)
	if err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	if m.output != nil {
		if broken := m.output.violations(translated); len(broken) > 0 {
			return nil, fmt.Errorf("the translated answer does not match the output schema of %s at %v: %s", m.ID, broken[0].path, broken[0].msg)
		}
	}
	return translated, nil
}

func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	if err := w.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// alternate is an Alternate as written in an entry file.
type alternate struct {
	Server, Model      string
	Request, Lossy     map[string]Expr
	Response, Fallback Expr
	node               *yaml.Node
}

// UnmarshalYAML implements yaml.Unmarshaler. It keeps the node, whose line errors report.
func (a *alternate) UnmarshalYAML(n *yaml.Node) error {
	type plain alternate
	if err := n.Decode((*plain)(a)); err != nil {
		return err
	}
	a.node = n
	return nil
}

func (a *alternate) compile() (*Alternate, error) {
	used, err := inputsOf(a.Request)
	if err != nil {
		return nil, &problem{a.node, err.Error()}
	}
	return &Alternate{
		Server: a.Server, id: a.Model, line: a.node.Line, request: a.Request, used: used, lossy: a.Lossy,
		response: a.Response, fallback: a.Fallback,
	}, nil
}

// inputsOf returns the top-level fields of the caller's body that the expressions read, or nil if an expression reads
// the whole body.
func inputsOf(expressions map[string]Expr) (map[string]bool, error) {
	found := inputs{fields: map[string]bool{}}
	for _, e := range expressions {
		tree, err := parser.Parse(e.source)
		if err != nil {
			return nil, err
		}
		ast.Walk(&tree.Node, &found)
	}
	if found.wholes > found.members {
		return nil, nil
	}
	return found.fields, nil
}

// inputs collects the members of "input" that an expression reads. Every member access mentions "input" once; more
// mentions than member accesses mean that the expression reads the whole input.
type inputs struct {
	fields          map[string]bool
	members, wholes int
}

// Visit implements ast.Visitor.
func (i *inputs) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == "input" {
			i.wholes++
		}
	case *ast.MemberNode:
		of, named := n.Node.(*ast.IdentifierNode)
		field, plain := n.Property.(*ast.StringNode)
		if named && plain && of.Value == "input" {
			i.fields[field.Value] = true
			i.members++
		}
	}
}

// joinAlternates finds the entries of the model's alternates and checks the translations with the model's example.
func (m *Model) joinAlternates(models map[string]*Model) []error {
	var problems []error
	seen := map[string]bool{}
	for _, a := range m.Alternates {
		a.Model = models[a.id]
		var problem string
		switch {
		case seen[a.Server]:
			problem = fmt.Sprintf("the server %s is listed twice", a.Server)
		case a.Model == nil:
			problem = fmt.Sprintf("model %s does not exist", a.id)
		case a.Model == m:
			problem = "a model cannot be an alternate of itself"
		default:
			problem = a.checkExample(m)
		}
		seen[a.Server] = true
		if problem != "" {
			problems = append(problems, fmt.Errorf("%d: alternates of %s: %s", a.line, m.ID, problem))
		}
	}
	return problems
}

// checkExample translates the model's example and returns the reason why the alternate would refuse the result, or "".
func (a *Alternate) checkExample(m *Model) string {
	if m.Example == nil {
		return ""
	}
	body, _, err := a.Request(m.Example)
	if err != nil {
		return err.Error()
	}
	if broken := a.Model.Validate(body); len(broken) > 0 {
		return fmt.Sprintf("the translated example does not match the input schema of %s at %v: %s", a.id, broken[0].Loc, broken[0].Msg)
	}
	return ""
}
