package action

import (
	"cmp"
	"maps"
	"reflect"
	"strconv"
	"strings"
)

type object = map[string]any

// Operation returns the method and the path of the route, and its operation for the OpenAPI document.
func (s *Spec) Operation() (method, path string, operation map[string]any) {
	method, path, _ = strings.Cut(s.Route, " ")
	summary := s.Summary
	if summary == "" && len(s.Commands) > 0 {
		summary = s.Commands[0].Short + "."
	}
	operation = object{
		"tags": []any{"admin"}, "operationId": s.ID, "summary": summary,
		"security": []any{object{"adminToken": []any{}}}, "responses": s.responses(),
	}
	if s.Detail != "" {
		operation["description"] = s.Detail
	}
	parameters := []any{}
	for _, p := range s.Params {
		if p.In == InPath || p.In == InQuery {
			one := object{"name": p.Name, "in": string(p.In), "schema": p.schema()}
			if p.Required {
				one["required"] = true
			}
			if p.Help != "" {
				one["description"] = p.Help
			}
			parameters = append(parameters, one)
		}
	}
	if len(parameters) > 0 {
		operation["parameters"] = parameters
	}
	if s.Reason != None {
		operation["requestBody"] = object{"required": true, "content": content(s.body())}
	}
	return strings.ToLower(method), path, operation
}

func content(schema object) object { return object{"application/json": object{"schema": schema}} }

func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

// body returns the schema of the body of a change.
func (s *Spec) body() object {
	properties := object{
		"actor": object{"type": "string", "maxLength": MaxActor}, "reason": object{"type": "string", "maxLength": MaxReason},
	}
	required := []any{"actor", "reason"}
	for _, p := range s.Params {
		if p.In != InBody {
			continue
		}
		schema := p.schema()
		if p.Help != "" {
			schema["description"] = p.Help
		}
		properties[p.Name] = schema
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return object{"type": "object", "additionalProperties": false, "required": required, "properties": properties}
}

// MaxActor and MaxReason bound what a change names, in bytes.
const (
	MaxActor  = 200
	MaxReason = 1000
)

// schema returns the schema of the parameter's values.
func (p Param) schema() object {
	if own, ok := reflect.New(p.kind).Interface().(interface{ Schema() map[string]any }); ok {
		return own.Schema()
	}
	text := object{"type": "string"}
	if len(p.Choices) > 0 {
		text["enum"] = p.Choices
	}
	switch {
	case p.Bool():
		return object{"type": "boolean"}
	case p.kind == reflect.TypeFor[map[string]string]():
		return object{"type": "object", "additionalProperties": object{"type": "string"}}
	case p.kind.Kind() == reflect.Slice:
		return object{"type": "array", "items": text}
	case p.kind.Kind() == reflect.Int || p.kind.Kind() == reflect.Int64:
		number := object{"type": "integer", "minimum": p.Min}
		if p.Max > 0 {
			number["maximum"] = p.Max
		}
		return number
	}
	return text
}

// refusals are the answers that every operation may give, and the components that describe them.
var refusals = map[int]string{
	400: "AdminInvalid", 401: "AdminUnauthorized", 404: "AdminNotFound", 409: "AdminConflict", 422: "AdminRefused",
	429: "AdminTooMany", 500: "AdminFailed", 503: "AdminUnavailable",
}

func (s *Spec) responses() object {
	all := object{}
	for status, name := range refusals {
		all[strconv.Itoa(status)] = ref("responses", name)
	}
	for status, why := range s.Refusal {
		all[strconv.Itoa(status)] = object{"description": why, "content": content(ref("schemas", "V2Error"))}
	}
	done := object{"description": "Done."}
	status := cmp.Or(s.Status, 200)
	if status != 204 {
		done["content"] = content(s.answer())
	}
	all[strconv.Itoa(status)] = done
	return all
}

// answer returns the schema of the answer.
func (s *Spec) answer() object {
	schema := object{"type": "object"}
	if s.Schema != "" {
		schema = ref("schemas", s.Schema)
	}
	if s.Member == "" {
		return schema
	}
	if s.List {
		schema = object{"type": "array", "items": schema}
	}
	properties := object{s.Member: schema}
	if s.Next {
		maps.Copy(properties, object{"next_before": object{"type": "integer", "description": "Where the next page begins; absent on the last."}})
	}
	return object{"type": "object", "required": []any{s.Member}, "properties": properties}
}
