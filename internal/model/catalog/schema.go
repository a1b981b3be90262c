package catalog

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
