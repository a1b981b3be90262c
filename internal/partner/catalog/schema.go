package catalog

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"go.yaml.in/yaml/v3"
)

// schema is a compiled JSON Schema with its document.
type schema struct {
	json     json.RawMessage // as written, members in the order of the file
	openapi  json.RawMessage // translated into the dialect of OpenAPI 3.0
	compiled *jsonschema.Schema
}

// inputRule is a check across several fields, which a schema cannot express.
type inputRule struct {
	refuse Expr
	loc    []any
	msg    string
	kind   string
}

// compileSchema compiles the schema of an entry. It returns nil for a missing schema.
func compileSchema(node *yaml.Node) (*schema, error) {
	if node.IsZero() {
		return nil, nil
	}
	raw, err := ordered(node)
	if err != nil {
		return nil, err
	}
	compiled, err := compileJSON("schema.json", raw)
	if err != nil {
		return nil, &problem{node, "the schema does not compile: " + err.Error()}
	}
	translated, err := openAPISchema(node)
	if err != nil {
		return nil, err
	}
	return &schema{json: raw, openapi: translated, compiled: compiled}, nil
}

// InputAuthored reports whether the model has an input schema.
func (m *Model) InputAuthored() bool { return m.input != nil }

// OutputAuthored reports whether the model has an output schema.
func (m *Model) OutputAuthored() bool { return m.output != nil }

// InputSchema returns the input schema (JSON Schema, draft 2020-12, members in the order of the entry), or nil.
// Callers must not change it.
func (m *Model) InputSchema() json.RawMessage {
	if m.input == nil {
		return nil
	}
	return m.input.json
}

// OutputSchema returns the output schema, or nil; see InputSchema.
func (m *Model) OutputSchema() json.RawMessage {
	if m.output == nil {
		return nil
	}
	return m.output.json
}

// entrySchema describes a catalog file; text editors can use it too.
//
//go:embed entry.schema.json
var entrySchema []byte

var compiledEntrySchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	return compileJSON("entry.schema.json", entrySchema)
})

// compileJSON compiles a JSON Schema of draft 2020-12. The schema may refer only to itself: files and the network are
// never read.
func compileJSON(name string, raw []byte) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(name, document); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// noLoader refuses every reference to another document.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may refer only to itself, not to %s", url)
}

// checkShape checks a file against the entry schema. Each problem contains its YAML node.
func checkShape(root *yaml.Node) error {
	raw, err := ordered(root)
	if err != nil {
		return err
	}
	shape, err := compiledEntrySchema()
	if err != nil {
		return fmt.Errorf("the schema of catalog files: %w", err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	var invalid *jsonschema.ValidationError
	if err := shape.Validate(instance); !errors.As(err, &invalid) {
		return err
	}
	var problems []error
	for _, leaf := range innermostErrors(invalid) {
		problems = append(problems, &problem{nodeOf(root, leaf), explain(root, leaf)})
	}
	return errors.Join(problems...)
}

// nodeOf returns the YAML node of an error: the name of an unknown field, otherwise the value.
func nodeOf(root *yaml.Node, e *jsonschema.ValidationError) *yaml.Node {
	n := at(root, e.InstanceLocation)
	unknown, ok := e.ErrorKind.(*kind.AdditionalProperties)
	if !ok || n.Kind != yaml.MappingNode {
		return n
	}
	for _, p := range pairs(n) {
		if slices.Contains(unknown.Properties, p.key.Value) {
			return p.key
		}
	}
	return n
}

// innermostErrors returns the innermost errors, which are the causes.
func innermostErrors(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		all = append(all, innermostErrors(cause)...)
	}
	return all
}

// explain describes an error to the author of the entry, including the allowed values.
func explain(root *yaml.Node, e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return "needs " + strings.Join(k.Missing, ", ")
	case *kind.AdditionalProperties:
		return fmt.Sprintf("has no field %s", strings.Join(k.Properties, ", ")) + suggestField(k.Properties)
	case *kind.Enum:
		allowed := make([]string, len(k.Want))
		for i, v := range k.Want {
			allowed[i] = fmt.Sprint(v)
		}
		return fmt.Sprintf("%q is not allowed; it takes one of %s", at(root, e.InstanceLocation).Value, strings.Join(allowed, ", "))
	case *kind.Pattern:
		return fmt.Sprintf("%q does not match %s", k.Got, k.Want)
	case *kind.Type:
		return fmt.Sprintf("takes %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.DependentRequired:
		return fmt.Sprintf("with %s it also needs %s", k.Prop, strings.Join(k.Missing, ", "))
	default:
		return e.ErrorKind.LocalizedString(english)
	}
}

// suggestField suggests the field that the author probably meant.
func suggestField(unknown []string) string {
	for _, name := range unknown {
		for _, known := range entryFields() {
			if distance(name, known) <= 2 {
				return fmt.Sprintf(" (is it %s?)", known)
			}
		}
	}
	return "; known are " + strings.Join(entryFields(), ", ")
}

// entryFields returns the names of a model's fields, from the entry schema itself.
func entryFields() []string {
	shape, err := compiledEntrySchema()
	if err != nil {
		return nil
	}
	models := shape.Properties["models"].Items2020
	var names []string
	for name := range models.AllOf[0].Ref.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
