package catalog

import "github.com/santhosh-tekuri/jsonschema/v6"

// schema is one compiled JSON Schema with the document it came from.
type schema struct {
	source   any
	compiled *jsonschema.Schema
}

// inputRule is a check across fields that a schema cannot express.
type inputRule struct {
	refuse Expr
	loc    []any
	msg    string
	kind   string
}

// InputAuthored reports whether the model has an input schema (checklist ).
func (m *Model) InputAuthored() bool { return m.input != nil }

// OutputAuthored reports whether the model has an output schema.
func (m *Model) OutputAuthored() bool { return m.output != nil }

// InputSchema returns the input schema as JSON values (draft 2020-12), nil when there is none.
// It is not to be changed.
func (m *Model) InputSchema() any {
	if m.input == nil {
		return nil
	}
	return m.input.source
}

// OutputSchema is InputSchema for the output.
func (m *Model) OutputSchema() any {
	if m.output == nil {
		return nil
	}
	return m.output.source
}
