package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// openAPISchema translates a JSON Schema of draft 2020-12 into the dialect of OpenAPI 3.0: nullable instead of a null
// type, bounds with boolean exclusivity, enum instead of const. It refuses keywords without a translation, so that a
// mistake shows when the entry is loaded and not in a served document.
func openAPISchema(node *yaml.Node) (json.RawMessage, error) {
	var b bytes.Buffer
	w := schemaWriter{out: &b, depth: 0}
	if err := w.schema(node); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

type schemaWriter struct {
	out   *bytes.Buffer
	depth int
	first bool
}

// maxSchemaDepth bounds the nesting of a schema in an entry file.
const maxSchemaDepth = 40

// refusedKeywords have no equivalent in OpenAPI 3.0.
var refusedKeywords = map[string]bool{
	"$ref": true, "$defs": true, "if": true, "then": true, "else": true, "prefixItems": true, "contains": true, "patternProperties": true,
	"dependentSchemas": true, "dependentRequired": true, "propertyNames": true, "unevaluatedProperties": true, "unevaluatedItems": true,
}

func (w *schemaWriter) schema(n *yaml.Node) error {
	n = followed(n)
	if w.depth++; w.depth > maxSchemaDepth {
		return &problem{n, fmt.Sprintf("the schema is nested deeper than %d levels", maxSchemaDepth)}
	}
	defer func() { w.depth-- }()
	if n.Kind != yaml.MappingNode {
		return w.writeOrdered(n) // true, false
	}
	w.out.WriteByte('{')
	w.first = true
	for _, p := range pairs(n) {
		if err := w.keyword(p, n); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	w.first = false
	return nil
}

// keywords lists the keywords that both dialects share, and those that are translated.
var keywords = []string{
	"type", "enum", "const", "format", "title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
	"items", "minItems", "maxItems", "uniqueItems", "properties", "required", "additionalProperties", "minProperties", "maxProperties",
	"anyOf", "oneOf", "allOf", "not",
}

func (w *schemaWriter) keyword(p pair, parent *yaml.Node) error {
	key := p.key.Value
	if !refusedKeywords[key] && !slices.Contains(keywords, key) && !strings.HasPrefix(key, "x-") {
		return &problem{p.key, fmt.Sprintf("%q is not a keyword of a schema; within braces, put a text with a comma in quotation marks", key)}
	}
	if refusedKeywords[key] {
		return &problem{p.key, fmt.Sprintf("the keyword %s has no equivalent in OpenAPI 3.0; use a YAML anchor, anyOf or a rule", key)}
	}
	switch key {
	case "type":
		return w.typed(p.value)
	case "const":
		w.name("enum")
		w.out.WriteByte('[')
		err := w.writeOrdered(p.value)
		w.out.WriteByte(']')
		return err
	case "exclusiveMinimum", "exclusiveMaximum":
		return w.exclusive(key, p.value, parent)
	case "examples":
		if len(p.value.Content) == 0 {
			return nil
		}
		w.name("example")
		return w.writeOrdered(p.value.Content[0])
	default:
		w.name(key)
		return w.value(key, p.value)
	}
}

// value writes the value of a keyword and translates the schemas in the value.
func (w *schemaWriter) value(key string, n *yaml.Node) error {
	n = followed(n)
	switch key {
	case "properties":
		return w.members(n)
	case "items", "not":
		return w.schema(n)
	case "additionalProperties":
		return w.schema(n)
	case "anyOf", "oneOf", "allOf":
		w.out.WriteByte('[')
		for i, each := range n.Content {
			if i > 0 {
				w.out.WriteByte(',')
			}
			if err := w.schema(each); err != nil {
				return err
			}
		}
		w.out.WriteByte(']')
		return nil
	default:
		return w.writeOrdered(n)
	}
}

func (w *schemaWriter) members(n *yaml.Node) error {
	w.out.WriteByte('{')
	w.first = true
	for _, p := range pairs(n) {
		w.name(p.key.Value)
		if err := w.schema(p.value); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	w.first = false
	return nil
}

// typed writes a type; [T, "null"] becomes a nullable T.
func (w *schemaWriter) typed(n *yaml.Node) error {
	n = followed(n)
	if n.Kind != yaml.SequenceNode {
		w.name("type")
		return w.writeOrdered(n)
	}
	var types []*yaml.Node
	nullable := false
	for _, t := range n.Content {
		if t.Value == "null" {
			nullable = true
			continue
		}
		types = append(types, t)
	}
	if len(types) != 1 {
		return &problem{n, "OpenAPI 3.0 allows one type (and null) for a value; use anyOf for several"}
	}
	w.name("type")
	if err := w.writeOrdered(types[0]); err != nil {
		return err
	}
	if nullable {
		w.name("nullable")
		w.out.WriteString("true")
	}
	return nil
}

func (w *schemaWriter) exclusive(key string, n, parent *yaml.Node) error {
	inclusive := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[key]
	if child(parent, inclusive) != nil {
		return &problem{n, fmt.Sprintf("a schema may have %s or %s, not both", inclusive, key)}
	}
	w.name(inclusive)
	if err := w.writeOrdered(n); err != nil {
		return err
	}
	w.name(key)
	w.out.WriteString("true")
	return nil
}

func (w *schemaWriter) name(s string) {
	if !w.first {
		w.out.WriteByte(',')
	}
	w.first = false
	encoded, err := json.Marshal(s)
	if err == nil { // encoding a string cannot fail
		w.out.Write(encoded)
	}
	w.out.WriteByte(':')
}

func (w *schemaWriter) writeOrdered(n *yaml.Node) error {
	raw, err := ordered(n)
	w.out.Write(raw)
	return err
}
