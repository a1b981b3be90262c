package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

//go:embed page.html
var pageSource string

// page is the data of the template.
type page struct {
	Title, About string
	Tags         []tag
	Schemas      []schema
}

type tag struct {
	Name, About string
	Operations  []operation
}

type operation struct {
	Method, Path, ID, Summary, About string
	Prefixes                         []string
	Public                           bool
	Parameters                       []parameter
	Body                             string
	Responses                        []response
}

type parameter struct {
	Name, In, Type, About string
	Required              bool
}

type response struct{ Status, About, Body string }

type schema struct{ Name, JSON string }

// Page returns the document as an HTML page that loads no other resource.
func Page(mount string) ([]byte, error) {
	raw, err := Document(mount)
	if err != nil {
		return nil, err
	}
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	t, err := template.New("page").Parse(pageSource)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, doc.page()); err != nil {
		return nil, fmt.Errorf("render the OpenAPI document: %w", err)
	}
	return out.Bytes(), nil
}

// document is the part of a document that the page shows.
type document struct {
	Info struct{ Title, Description string }
	Tags []struct{ Name, Description string }

	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas   map[string]json.RawMessage
		Responses map[string]rawResponse
	}
}

type rawOperation struct {
	Tags                              []string
	OperationID, Summary, Description string
	Security                          []json.RawMessage
	Parameters                        []rawParameter
	RequestBody                       struct {
		Content map[string]struct{ Schema json.RawMessage }
	}
	Responses map[string]rawResponse
}

type rawParameter struct {
	Name, In, Description string
	Required              bool
	Schema                struct{ Type string }
}

type rawResponse struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]struct{ Schema json.RawMessage }
}

func (d document) page() page {
	p := page{Title: d.Info.Title, About: d.Info.Description}
	for _, t := range d.Tags {
		p.Tags = append(p.Tags, tag{Name: t.Name, About: t.Description, Operations: d.operations(t.Name)})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		p.Schemas = append(p.Schemas, schema{name, indent(d.Components.Schemas[name])})
	}
	return p
}

// operations lists the operations of a tag by path and method.
func (d document) operations(tagged string) []operation {
	var list []operation
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range []string{"get", "head", "post", "put", "delete"} {
			var op rawOperation
			raw, there := d.Paths[path][method]
			if !there || json.Unmarshal(raw, &op) != nil || !slices.Contains(op.Tags, tagged) {
				continue
			}
			list = append(list, d.operation(path, method, op))
		}
	}
	return list
}

func (d document) operation(path, method string, op rawOperation) operation {
	o := operation{
		Method: strings.ToUpper(method), Path: path, ID: op.OperationID, Summary: op.Summary, About: op.Description,
		Public: op.Security != nil && len(op.Security) == 0,
	}
	var places []struct{ URL string }
	if json.Unmarshal(d.Paths[path]["servers"], &places) == nil {
		for _, at := range places {
			o.Prefixes = append(o.Prefixes, strings.TrimSuffix(at.URL, "/")+path)
		}
	}
	var shared []rawParameter
	if raw, ok := d.Paths[path]["parameters"]; ok && json.Unmarshal(raw, &shared) == nil {
		op.Parameters = append(shared, op.Parameters...)
	}
	for _, p := range op.Parameters {
		if p.Name != "" { // a parameter by reference is the job in the path, which the path shows
			o.Parameters = append(o.Parameters, parameter{p.Name, p.In, p.Schema.Type, p.Description, p.Required})
		}
	}
	for kind, body := range op.RequestBody.Content {
		o.Body = kind + "\n" + indent(body.Schema)
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		o.Responses = append(o.Responses, d.response(status, op.Responses[status]))
	}
	return o
}

func (d document) response(status string, r rawResponse) response {
	if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
		r = d.Components.Responses[name]
	}
	out := response{Status: status, About: r.Description}
	for _, kind := range slices.Sorted(maps.Keys(r.Content)) {
		out.Body += kind + "\n" + indent(r.Content[kind].Schema) + "\n"
	}
	return out
}

func indent(raw json.RawMessage) string {
	var out bytes.Buffer
	if len(raw) == 0 || json.Indent(&out, raw, "", "  ") != nil {
		return ""
	}
	return out.String()
}
