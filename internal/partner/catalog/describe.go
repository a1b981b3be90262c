package catalog

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

var english = message.NewPrinter(language.English)

func distance(a, b string) int { return levenshtein.ComputeDistance(a, b) }

// innermost returns the innermost errors of e. Among alternatives (anyOf, oneOf) it follows the one that the caller
// probably meant: the alternative that fails deepest. If no alternative fails deeper than the others, the error is
// that of the choice.
func innermost(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return chosen(e)
	}
	var all []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		all = append(all, innermost(cause)...)
	}
	return all
}

func chosen(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	var best []*jsonschema.ValidationError
	fitting := 0
	for _, cause := range e.Causes {
		branch := innermost(cause)
		if slices.ContainsFunc(branch, func(b *jsonschema.ValidationError) bool { return otherAlternative(b, e) }) {
			continue
		}
		best, fitting = branch, fitting+1
	}
	if fitting == 1 {
		return best
	}
	return []*jsonschema.ValidationError{e}
}

// otherAlternative reports whether the caller did not mean the alternative, because the value has another type or is another
// constant.
func otherAlternative(leaf, of *jsonschema.ValidationError) bool {
	if len(leaf.InstanceLocation) > len(of.InstanceLocation)+1 {
		return false
	}
	switch leaf.ErrorKind.(type) {
	case *kind.Type:
		return len(leaf.InstanceLocation) == len(of.InstanceLocation)
	case *kind.Const:
		return true
	}
	return false
}

// describe gives an error the message and the type of FastAPI, which clients recognise.
func describe(e *jsonschema.ValidationError) []violation {
	path := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return missing(path, k.Missing)
	case *kind.DependentRequired:
		return missing(path, k.Missing)
	case *kind.AdditionalProperties:
		var all []violation
		for _, name := range k.Properties {
			all = append(all, extraField(path, name))
		}
		return all
	}
	v := violation{path: path}
	v.msg, v.kind, v.ctx = describeValue(e.ErrorKind)
	return []violation{v}
}

func missing(path, fields []string) []violation {
	var all []violation
	for _, name := range fields {
		all = append(all, violation{path: path, field: name, msg: "Field required", kind: "missing"})
	}
	return all
}

func extraField(path []string, name string) violation {
	return violation{path: append(slices.Clone(path), name), msg: "Extra inputs are not permitted", kind: "extra_forbidden"}
}

func describeValue(k jsonschema.ErrorKind) (msg, kindName string, ctx map[string]any) {
	switch k := k.(type) {
	case *kind.Type:
		return describeType(k)
	case *kind.Enum:
		expected := alternatives(k.Want)
		return "Input should be " + expected, "enum", map[string]any{"expected": expected}
	case *kind.Const:
		expected := alternatives([]any{k.Want})
		return "Input should be " + expected, "literal_error", map[string]any{"expected": expected}
	case *kind.Minimum:
		return bound("greater than or equal to", "greater_than_equal", "ge", k.Want)
	case *kind.ExclusiveMinimum:
		return bound("greater than", "greater_than", "gt", k.Want)
	case *kind.Maximum:
		return bound("less than or equal to", "less_than_equal", "le", k.Want)
	case *kind.ExclusiveMaximum:
		return bound("less than", "less_than", "lt", k.Want)
	case *kind.MultipleOf:
		return bound("a multiple of", "multiple_of", "multiple_of", k.Want)
	default:
		return describeLength(k)
	}
}

func describeLength(k jsonschema.ErrorKind) (msg, kindName string, ctx map[string]any) {
	switch k := k.(type) {
	case *kind.MinLength:
		return fmt.Sprintf("String should have at least %s", counted(k.Want, "character")), "string_too_short",
			map[string]any{"min_length": k.Want}
	case *kind.MaxLength:
		return fmt.Sprintf("String should have at most %s", counted(k.Want, "character")), "string_too_long", map[string]any{"max_length": k.Want}
	case *kind.Pattern:
		return fmt.Sprintf("String should match pattern '%s'", k.Want), "string_pattern_mismatch", map[string]any{"pattern": k.Want}
	case *kind.MinItems:
		return fmt.Sprintf("List should have at least %s after validation, not %d", counted(k.Want, "item"), k.Got), "too_short",
			map[string]any{"field_type": "List", "min_length": k.Want, "actual_length": k.Got}
	case *kind.MaxItems:
		return fmt.Sprintf("List should have at most %s after validation, not %d", counted(k.Want, "item"), k.Got), "too_long",
			map[string]any{"field_type": "List", "max_length": k.Want, "actual_length": k.Got}
	case *kind.AnyOf, *kind.OneOf:
		return "Value error, the value must match exactly one of the allowed forms", "value_error", nil
	default:
		return "Value error, " + k.LocalizedString(english), "value_error", nil
	}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// typeNames are the names of JSON types in messages and in violation types.
var typeNames = map[string][2]string{
	"string":  {"a valid string", "string_type"},
	"integer": {"a valid integer", "int_type"},
	"number":  {"a valid number", "float_type"},
	"boolean": {"a valid boolean", "bool_type"},
	"array":   {"a valid list", "list_type"},
	"object":  {"a valid dictionary", "dict_type"},
	"null":    {"None", "none_required"},
}

func describeType(k *kind.Type) (msg, kindName string, ctx map[string]any) {
	wanted := slices.DeleteFunc(slices.Clone(k.Want), func(t string) bool { return t == "null" && len(k.Want) > 1 })
	var words []string
	for _, t := range wanted {
		words = append(words, typeNames[t][0])
	}
	return "Input should be " + strings.Join(words, " or "), typeNames[wanted[0]][1], nil
}

func bound(words, kindName, key string, want *big.Rat) (string, string, map[string]any) {
	limit := json.Number(strings.TrimSuffix(strings.TrimRight(want.FloatString(10), "0"), "."))
	return fmt.Sprintf("Input should be %s %s", words, limit), kindName, map[string]any{key: limit}
}

// alternatives formats values as 'a', 'b' or 'c'.
func alternatives(values []any) string {
	var quoted []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			quoted = append(quoted, "'"+s+"'")
			continue
		}
		quoted = append(quoted, fmt.Sprint(v))
	}
	last := len(quoted) - 1
	if last == 0 {
		return quoted[0]
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
