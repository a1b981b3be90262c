package catalog

import (
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
	translated, err := translate(node, maxSchemaDepth)
	if err != nil {
		return nil, err
	}
	return ordered(translated)
}

// maxSchemaDepth bounds the nesting of a schema in an entry file.
const maxSchemaDepth = 40

// refusedKeywords have no equivalent in OpenAPI 3.0.
var refusedKeywords = map[string]bool{
	"$ref": true, "$defs": true, "if": true, "then": true, "else": true, "prefixItems": true, "contains": true, "patternProperties": true,
	"dependentSchemas": true, "dependentRequired": true, "propertyNames": true, "unevaluatedProperties": true, "unevaluatedItems": true,
}

// keywords lists the keywords that both dialects share, and those that are translated.
var keywords = []string{
	"type", "enum", "const", "format", "title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
	"items", "minItems", "maxItems", "uniqueItems", "properties", "required", "additionalProperties", "minProperties", "maxProperties",
	"anyOf", "oneOf", "allOf", "not",
}

// translate returns a schema in the dialect of OpenAPI 3.0; levels is how deep it may be nested.
func translate(n *yaml.Node, levels int) (*yaml.Node, error) {
	n = followed(n)
	if levels == 0 {
		return nil, &problem{n, fmt.Sprintf("the schema is nested deeper than %d levels", maxSchemaDepth)}
	}
	if n.Kind != yaml.MappingNode {
		return n, nil // true, false
	}
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, p := range pairs(n) {
		members, err := translateKeyword(p, n, levels-1)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, members...)
	}
	return out, nil
}

// translateKeyword returns the keys and values that stand for a keyword.
func translateKeyword(p pair, parent *yaml.Node, levels int) ([]*yaml.Node, error) {
	key := p.key.Value
	if !refusedKeywords[key] && !slices.Contains(keywords, key) && !strings.HasPrefix(key, "x-") {
		return nil, &problem{p.key, fmt.Sprintf("%q is not a keyword of a schema; within braces, put a text with a comma in quotation marks",
			key)}
	}
	if refusedKeywords[key] {
		return nil, &problem{p.key, fmt.Sprintf("the keyword %s has no equivalent in OpenAPI 3.0; use a YAML anchor, anyOf or a rule", key)}
	}
	switch key {
	case "type":
		return translateType(p.value)
	case "const":
		return []*yaml.Node{text("enum"), {Kind: yaml.SequenceNode, Content: []*yaml.Node{p.value}}}, nil
	case "exclusiveMinimum", "exclusiveMaximum":
		inclusive := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[key]
		if child(parent, inclusive) != nil {
			return nil, &problem{p.value, fmt.Sprintf("a schema may have %s or %s, not both", inclusive, key)}
		}
		return []*yaml.Node{text(inclusive), p.value, text(key), yes()}, nil
	case "examples":
		if len(p.value.Content) == 0 {
			return nil, nil
		}
		return []*yaml.Node{text("example"), p.value.Content[0]}, nil
	}
	value, err := translateValue(key, p.value, levels)
	return []*yaml.Node{p.key, value}, err
}

// translateValue translates the schemas in the value of a keyword.
func translateValue(key string, n *yaml.Node, levels int) (*yaml.Node, error) {
	n = followed(n)
	out := &yaml.Node{Kind: n.Kind}
	switch key {
	case "items", "not", "additionalProperties":
		return translate(n, levels)
	case "properties":
		for _, p := range pairs(n) {
			schema, err := translate(p.value, levels)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, p.key, schema)
		}
		return out, nil
	case "anyOf", "oneOf", "allOf":
		for _, each := range n.Content {
			schema, err := translate(each, levels)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, schema)
		}
		return out, nil
	}
	return n, nil
}

// translateType translates a type; [T, "null"] becomes a nullable T.
func translateType(n *yaml.Node) ([]*yaml.Node, error) {
	n = followed(n)
	if n.Kind != yaml.SequenceNode {
		return []*yaml.Node{text("type"), n}, nil
	}
	isNull := func(t *yaml.Node) bool { return t.Value == "null" }
	types := slices.DeleteFunc(slices.Clone(n.Content), isNull)
	if len(types) != 1 {
		return nil, &problem{n, "OpenAPI 3.0 allows one type (and null) for a value; use anyOf for several"}
	}
	out := []*yaml.Node{text("type"), types[0]}
	if slices.ContainsFunc(n.Content, isNull) {
		out = append(out, text("nullable"), yes())
	}
	return out, nil
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

func yes() *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"} }
