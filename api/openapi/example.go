package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/millrace-dev/millrace/internal/engine/ordered"
)

// shape is the part of a schema from which an example is made.
type shape struct {
	Ref                 string          `json:"$ref"`
	Type                json.RawMessage // a name, or a list of them
	Format              string
	Example, Default    json.RawMessage
	Const               json.RawMessage
	Enum                []json.RawMessage
	Properties          map[string]json.RawMessage
	Required            []string
	Items               json.RawMessage
	AllOf, AnyOf, OneOf []json.RawMessage
}

// command returns a shell command that calls an operation. What the caller has to fill in is in variables.
func (d document) command(method, path string, op rawOperation, public bool) string {
	var at strings.Builder
	for i, part := range strings.Split(path, "/") {
		if i > 0 {
			at.WriteString("/")
		}
		if name, ok := strings.CutPrefix(part, "{"); ok {
			part = variable(strings.TrimSuffix(name, "}"))
		}
		at.WriteString(part)
	}
	joint := "?"
	for _, p := range op.Parameters {
		if p.In == "query" && p.Required {
			at.WriteString(joint + p.Name + "=" + variable(p.Name))
			joint = "&"
		}
	}
	flags := ""
	switch method {
	case "get":
	case "head":
		flags = " -I"
	case "post":
		if len(op.RequestBody.Content) == 0 {
			flags = " -X POST"
		}
	default:
		flags = " -X " + strings.ToUpper(method)
	}
	line := `curl -s` + flags + ` "$MILLRACE` + at.String() + `"`
	if !public {
		line += op.credential()
	}
	for _, p := range op.Parameters {
		if p.In == "header" && p.Required {
			line += ` -H "` + p.Name + `: ` + p.example() + `"`
		}
	}
	if _, upgrades := op.Responses["101"]; upgrades {
		line += ` -N -H "Connection: Upgrade" -H "Upgrade: websocket" -H "Sec-WebSocket-Version: 13" ` +
			`-H "Sec-WebSocket-Key: $(openssl rand -base64 16)"`
	}
	for _, kind := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
		return line + d.sent(kind, op.RequestBody.Content[kind].Schema)
	}
	return line
}

// credential returns the argument of a command that has the caller's key, or a token where no key is taken.
func (op rawOperation) credential() string {
	for _, choice := range op.Security {
		if _, token := choice["bearer"]; token {
			return ` -H "Authorization: Bearer $TOKEN"`
		}
	}
	return ` -H "X-API-Key: $KEY"`
}

// example returns the example of a parameter, its only value, or a variable.
func (p rawParameter) example() string {
	if p.Schema.Example != "" {
		return p.Schema.Example
	}
	if len(p.Schema.Enum) == 1 {
		return fmt.Sprint(p.Schema.Enum[0])
	}
	return variable(p.Name)
}

// variable returns a variable of a shell by the name of a parameter.
func variable(name string) string {
	return "$" + strings.ToUpper(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, name))
}

// sent returns the arguments of a command that send a body.
func (d document) sent(kind string, schema json.RawMessage) string {
	switch kind {
	case "application/json":
		body, err := ordered.JSON(d.value(schema, 0))
		if err != nil {
			return ""
		}
		return " \\\n  -H 'Content-Type: application/json' -d " + quoted(string(body))
	case "multipart/form-data":
		line := ""
		s := d.shape(schema)
		for _, name := range s.wanted() {
			value := "@picture.png"
			if d.shape(s.Properties[name]).Format != "binary" {
				value = d.text(s.Properties[name])
			}
			line += " -F " + quoted(name+"="+value)
		}
		return line
	}
	if strings.Contains(kind, "*") {
		return " --data-binary @FILE"
	}
	return ` -H 'Content-Type: ` + kind + `' --data-binary @FILE`
}

// text returns an example of a part of a form.
func (d document) text(schema json.RawMessage) string {
	raw, err := json.Marshal(d.value(schema, 0))
	var text string
	if err != nil || json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}

// quoted returns a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// shape reads a schema, or the one to which it refers.
func (d document) shape(schema json.RawMessage) (s shape) {
	if len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return shape{}
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return d.shape(d.Components.Schemas[name])
	}
	return s
}

// wanted are the names of the properties in an example: the required ones, those of the first choice, or else the first.
func (s shape) wanted() []string {
	var choice shape
	if len(s.AnyOf) > 0 && json.Unmarshal(s.AnyOf[0], &choice) == nil && len(s.Required) == 0 {
		s.Required = choice.Required
	}
	if len(s.Required) > 0 || len(s.Properties) == 0 {
		return s.Required
	}
	return slices.Sorted(maps.Keys(s.Properties))[:1]
}

// deepest bounds the depth of an example.
const deepest = 6

// value returns an example of a value that a schema allows.
func (d document) value(schema json.RawMessage, depth int) any {
	s := d.shape(schema)
	for _, given := range append([]json.RawMessage{s.Example, s.Const, s.Default}, s.Enum...) {
		if len(given) > 0 {
			return given
		}
	}
	for _, choices := range [][]json.RawMessage{s.AllOf, s.OneOf, s.AnyOf} {
		if len(choices) > 0 && len(s.Properties) == 0 {
			return d.value(choices[0], depth)
		}
	}
	switch kind := string(s.Type); {
	case strings.Contains(kind, "object") || len(s.Properties) > 0:
		object := map[string]any{}
		if depth < deepest {
			for _, name := range s.wanted() {
				object[name] = d.value(s.Properties[name], depth+1)
			}
		}
		return object
	case strings.Contains(kind, "array"):
		if depth >= deepest {
			return []any{}
		}
		return []any{d.value(s.Items, depth+1)}
	case strings.Contains(kind, "integer"), strings.Contains(kind, "number"):
		return 1
	case strings.Contains(kind, "boolean"):
		return true
	case s.Format == "uri":
		return "https://example.com/picture.png"
	case s.Format == "date-time":
		return "2026-01-02T15:04:05Z"
	case strings.Contains(kind, "string"):
		return "TEXT"
	}
	return map[string]any{}
}
