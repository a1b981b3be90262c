package callable

import (
	"encoding/json"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// dialect is the dialect of the published schemas.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// JSONSchema returns the schema of an object of the inputs, in draft 2020-12. Members that begin with "x-" are notes
// which validators ignore.
func (s *Schema) JSONSchema() json.RawMessage {
	return marshal(append(node.Object{{Name: "$schema", Spec: dialect}}, s.inputsObject()...))
}

func (s *Schema) inputsObject() node.Object {
	properties := make(node.Object, len(s.Inputs))
	required := []string{}
	for i, in := range s.Inputs {
		properties[i] = node.Defined{Name: in.Name, Spec: in.schema()}
		if in.Required() {
			required = append(required, in.Name)
		}
	}
	object := node.Object{{Name: "type", Spec: "object"}, {Name: "properties", Spec: properties}}
	if len(required) > 0 {
		object = append(object, node.Defined{Name: "required", Spec: required})
	}
	return append(object, node.Defined{Name: "additionalProperties", Spec: false})
}

// marshal returns the JSON of a value that has one.
func marshal(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil { // the values are texts, numbers and valid JSON
		panic("callable: " + err.Error())
	}
	return raw
}

// types are the types of JSON Schema of the kinds; Any has none.
var types = map[Kind]string{Integer: "integer", Number: "number", Boolean: "boolean"}

func (in Input) schema() node.Object {
	var o node.Object
	add := func(name string, value any, set bool) {
		if set {
			o = append(o, node.Defined{Name: name, Spec: value})
		}
	}
	typed, ok := types[in.Kind]
	if !ok {
		typed = "string"
	}
	add("title", in.Title, in.Title != "")
	add("description", in.describe(), in.describe() != "")
	add("type", typed, in.Kind != Any)
	add("enum", in.Choices, in.Kind == Choice)
	add("minLength", 1, in.Kind.IsFile())
	add("minimum", in.Minimum, in.Minimum != "")
	add("maximum", in.Maximum, in.Maximum != "")
	add("default", in.Default, in.Default != nil)
	add("x-step", in.Step, in.Step != "")
	add("x-multiline", true, in.Multiline)
	add("x-kind", in.Kind, in.Kind.IsFile())
	add("x-choices", in.Choices, in.Kind.IsFile() && len(in.Choices) > 0)
	return o
}

func (in Input) describe() string {
	if !in.Kind.IsFile() {
		return in.Description
	}
	text := "A file (" + string(in.Kind) + "): " + in.allowed() + "."
	if in.Description != "" {
		text = in.Description + "\n\n" + text
	}
	return text
}

func (s *Schema) outputsObject() node.Object {
	properties := make(node.Object, len(s.Outputs))
	for i, out := range s.Outputs {
		spec := node.Object{}
		if out.Title != "" {
			spec = append(spec, node.Defined{Name: "title", Spec: out.Title})
		}
		if out.Kind.IsFile() {
			spec = append(spec, node.Object{
				{Name: "type", Spec: "array"},
				{Name: "items", Spec: fileSchema},
			}...)
		}
		properties[i] = node.Defined{Name: out.Name, Spec: spec}
	}
	return node.Object{{Name: "type", Spec: "object"}, {Name: "properties", Spec: properties}}
}

var fileSchema = node.Object{
	{Name: "type", Spec: "object"},
	{Name: "properties", Spec: node.Object{
		{Name: "url", Spec: map[string]string{"type": "string"}},
		{Name: "asset_id", Spec: map[string]string{"type": "string"}},
		{Name: "content_type", Spec: map[string]string{"type": "string"}},
	}},
	{Name: "required", Spec: []string{"url", "asset_id", "content_type"}},
}

// Service names a version of a deployment and the address under which it is called.
type Service struct {
	Deployment string
	Version    int
	BaseURL    string // of the routes, without "/jobs"; for instance "https://host/deployment/portrait/api/v2"
}

// OpenAPI returns the OpenAPI document of a version: submitting a job with exactly the schema of the inputs, and reading
// the job.
func (s *Schema) OpenAPI(of Service) json.RawMessage {
	ref := func(name string) map[string]string { return map[string]string{"$ref": "#/components/schemas/" + name} }
	content := func(schema any) map[string]any {
		return map[string]any{"application/json": map[string]any{"schema": schema}}
	}
	answer := func(words string, schema any) map[string]any {
		return map[string]any{"description": words, "content": content(schema)}
	}
	refusals := func(with map[string]any) map[string]any {
		for status, words := range map[string]string{
			"401": "No valid key.", "404": "There is no such job or deployment.",
			"422": "An input is missing or not accepted, or the deployment is stopped.",
			"429": "Too many jobs, or the deployment is not ready; Retry-After says when to try again.",
		} {
			with[status] = answer(words, ref("Error"))
		}
		return with
	}
	id := map[string]any{"name": "id", "in": "path", "required": true, "schema": map[string]string{"type": "string"}}
	outputs := make([]string, len(s.Outputs))
	for i, out := range s.Outputs {
		outputs[i] = out.Name
	}
	return marshal(node.Object{
		{Name: "openapi", Spec: "3.1.0"},
		{Name: "info", Spec: map[string]any{"title": of.Deployment, "version": marshalText(of.Version)}},
		{Name: "servers", Spec: []any{map[string]string{"url": of.BaseURL}}},
		{Name: "security", Spec: []any{map[string]any{"key": []string{}}}},
		{Name: "paths", Spec: node.Object{
			{Name: "/jobs", Spec: map[string]any{"post": map[string]any{
				"operationId": "call", "summary": "Call " + of.Deployment + ".",
				"requestBody": map[string]any{"required": true, "content": content(ref("Call"))},
				"responses":   refusals(map[string]any{"201": answer("The job is accepted.", ref("Job"))}),
			}}},
			{Name: "/jobs/{id}", Spec: map[string]any{"get": map[string]any{
				"operationId": "getJob", "summary": "Read a job.", "parameters": []any{id, map[string]any{
					"name": "Prefer", "in": "header", "schema": map[string]string{"type": "string"},
					"description": "wait=N holds the answer back until the job has ended, for N seconds at most.",
				}},
				"responses": refusals(map[string]any{"200": answer("The job.", ref("Job"))}),
			}}},
		}},
		{Name: "components", Spec: map[string]any{
			"securitySchemes": map[string]any{"key": map[string]string{"type": "http", "scheme": "bearer"}},
			"schemas": node.Object{
				{Name: "Inputs", Spec: s.inputsObject()},
				{Name: "Call", Spec: s.callObject(ref("Inputs"))},
				{Name: "Job", Spec: jobSchema(outputs, ref)},
				{Name: "Output", Spec: outputSchema(outputs)},
				{Name: "Error", Spec: errorSchema},
			},
		}},
	})
}

// ModelOpenAPI returns the OpenAPI document of a deployment as a model: one operation that takes the inputs and answers with the outputs.
func (s *Schema) ModelOpenAPI(of Service, path string) json.RawMessage {
	content := func(schema any) map[string]any {
		return map[string]any{"application/json": map[string]any{"schema": schema}}
	}
	outputs := map[string]any{"type": "object", "required": []string{"outputs"}, "properties": map[string]any{"outputs": s.outputsObject()}}
	return marshal(node.Object{
		{Name: "openapi", Spec: "3.0.2"},
		{Name: "info", Spec: map[string]any{"title": of.Deployment, "version": marshalText(of.Version)}},
		{Name: "servers", Spec: []any{map[string]string{"url": of.BaseURL}}},
		{Name: "paths", Spec: map[string]any{path: map[string]any{"post": map[string]any{
			"operationId": "run", "summary": "Run " + of.Deployment,
			"security":    []any{map[string]any{"apiKey": []string{}}, map[string]any{"bearer": []string{}}},
			"requestBody": map[string]any{"required": true, "content": content(s.inputsObject())},
			"responses":   map[string]any{"200": map[string]any{"description": "The outputs by name.", "content": content(outputs)}},
		}}}},
		{Name: "components", Spec: map[string]any{"securitySchemes": map[string]any{
			"apiKey": map[string]string{"type": "apiKey", "in": "header", "name": "X-API-Key"},
			"bearer": map[string]string{"type": "http", "scheme": "bearer"},
		}}},
		{Name: "x-service-input-schema-authored", Spec: true},
		{Name: "x-comfy-input-schema-authored", Spec: true},
	})
}

func marshalText(number int) string { return string(marshal(number)) }

func (s *Schema) callObject(inputs any) node.Object {
	o := node.Object{{Name: "type", Spec: "object"}, {Name: "properties", Spec: node.Object{
		{Name: "inputs", Spec: inputs},
		{Name: "metadata", Spec: map[string]any{"type": "object", "additionalProperties": map[string]string{"type": "string"}}},
	}}}
	if slices.ContainsFunc(s.Inputs, Input.Required) {
		o = append(o, node.Defined{Name: "required", Spec: []string{"inputs"}})
	}
	return o
}

func jobSchema(outputs []string, ref func(string) map[string]string) any {
	text := map[string]string{"type": "string"}
	return map[string]any{
		"type": "object", "required": []string{"id", "status", "outputs"},
		"properties": map[string]any{
			"id": text,
			"status": map[string]any{
				"type": "string", "enum": []string{"queued", "running", "succeeded", "canceling", "canceled", "failed", "expired"},
			},
			"created_at": text,
			"outputs":    map[string]any{"type": "array", "items": ref("Output")},
			"error": map[string]any{"type": []string{"object", "null"}, "properties": map[string]any{
				"code": text, "message": text,
			}},
		},
	}
}

// outputSchema describes a file of an answer, whose node_id is the name of the output.
func outputSchema(outputs []string) any {
	text := map[string]any{"type": "string"}
	name := map[string]any{"type": "string", "description": "The name of the output."}
	if len(outputs) > 0 {
		name["enum"] = outputs
	}
	return map[string]any{
		"type": "object", "required": []string{"node_id", "url", "content_type"},
		"properties": map[string]any{"node_id": name, "id": text, "name": text, "type": text, "content_type": text, "url": text, "hash": text},
	}
}

var errorSchema = map[string]any{
	"type": "object", "required": []string{"error"},
	"properties": map[string]any{"error": map[string]any{
		"type": "object", "required": []string{"code", "message"},
		"properties": map[string]any{"code": map[string]string{"type": "string"}, "message": map[string]string{"type": "string"}},
	}},
}
