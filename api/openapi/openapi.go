// Package openapi contains the OpenAPI document of the service, one file for each surface, and merges the files. It
// promises one document in which every name is defined once. The tests of the API check through openapitest that
// answers match it.
package openapi

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/allactions"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// root is the file into which the others are merged.
const root = "root.yaml"

//go:embed *.yaml
var files embed.FS

// object is a JSON object.
type object = map[string]any

// operators begins the names of the files of the admin API, which are not part of the document for clients.
const operators = "admin"

// Document returns the document for clients, in JSON. mount is the path prefix of the service, such as "/millrace",
// or "".
func Document(mount string) ([]byte, error) {
	return merged(mount, func(name string) bool { return !strings.HasPrefix(name, operators) })
}

// Operators returns the document of the whole service, including the admin API, in JSON.
func Operators(mount string) ([]byte, error) {
	return merged(mount, func(string) bool { return true }, allactions.Specs()...)
}

// merged merges the wanted files and the routes of actions into the root.
func merged(mount string, wanted func(name string) bool, described ...*action.Spec) ([]byte, error) {
	doc, err := read(files, root)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.DeleteFunc(names, func(n string) bool { return n == root || !wanted(n) }) {
		surface, err := read(files, name)
		if err == nil {
			err = merge(doc, surface, mount)
		}
		if err != nil {
			return nil, fmt.Errorf("OpenAPI document %s: %w", name, err)
		}
	}
	if err := addActions(section(doc, "paths"), described); err != nil {
		return nil, err
	}
	doc["servers"] = servers(mount, "")
	return json.Marshal(doc)
}

// addActions adds the operations of the actions that have a route.
func addActions(paths object, described []*action.Spec) error {
	for _, s := range described {
		if s.Route == "" {
			continue
		}
		method, path, operation := s.Operation()
		if err := add(section(paths, "/admin"+path), object{method: operation}); err != nil {
			return fmt.Errorf("route %s: %w", s.Route, err)
		}
	}
	return nil
}

func read(from fs.FS, name string) (object, error) {
	raw, err := fs.ReadFile(from, name)
	if err != nil {
		return nil, err
	}
	var doc object
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	return doc, nil
}

// merge adds the tags, paths and components of a surface to doc. A surface with x-prefixes is served below each
// prefix: its paths have servers of their own.
func merge(doc, surface object, mount string) error {
	paths, _ := surface["paths"].(object)
	if surface["x-variants"] == true {
		if err := addVariants(paths); err != nil {
			return err
		}
	}
	addMalformed(paths)
	if prefixes, ok := surface["x-prefixes"].([]any); ok {
		for _, item := range paths {
			if item, ok := item.(object); ok {
				item["servers"] = servers(mount, prefixes...)
			}
		}
	}
	tags, _ := doc["tags"].([]any)
	added, _ := surface["tags"].([]any)
	doc["tags"] = append(tags, added...)
	if err := add(section(doc, "paths"), paths); err != nil {
		return err
	}
	components, _ := surface["components"].(object)
	for kind, entries := range components {
		entries, ok := entries.(object)
		if !ok {
			return fmt.Errorf("components.%s is not a map", kind)
		}
		if err := add(section(section(doc, "components"), kind), entries); err != nil {
			return err
		}
	}
	return nil
}

// addVariants adds the path of a model's variants for every path of a model.
func addVariants(paths object) error {
	const model = "/{provider}/{model}"
	for path, item := range maps.Clone(paths) {
		before, after, ok := strings.Cut(path, model)
		if !ok {
			continue
		}
		raw, err := json.Marshal(item)
		if err != nil {
			return err
		}
		var variant object
		if err := json.Unmarshal(raw, &variant); err != nil {
			return err
		}
		parameters, _ := variant["parameters"].([]any)
		variant["parameters"] = append(parameters, object{
			"name": "variant", "in": "path", "required": true,
			"schema": object{"type": "string", "maxLength": 64},
		})
		for _, operation := range variant {
			if operation, ok := operation.(object); ok {
				operation["operationId"] = fmt.Sprint(operation["operationId"], "OfVariant")
			}
		}
		paths[before+model+"/{variant}"+after] = variant
	}
	return nil
}

// addMalformed adds the status of a malformed query to every operation without it. Every operation refuses a NUL
// character in a parameter, even in an unknown parameter. The answer has the format of the surface's other errors.
func addMalformed(paths object) {
	for path, item := range paths {
		methods, _ := item.(object)
		for method, operation := range methods {
			operation, _ := operation.(object)
			responses, ok := operation["responses"].(object)
			status := "400"
			if strings.HasPrefix(path, "/api/v2/assets") {
				status = "422"
			}
			if ok && responses[status] == nil {
				responses[status] = malformed(method, path, responses)
			}
		}
	}
}

func malformed(method, path string, responses object) any {
	for _, status := range []string{"500", "403"} {
		if refused := responses[status]; refused != nil {
			return refused
		}
	}
	name := "CloudError"
	switch {
	case method == "head":
		name = "Nothing"
	case strings.HasPrefix(path, "/api/v2/"):
		name = "V2Error"
	}
	return object{"$ref": "#/components/responses/" + name}
}

func servers(mount string, prefixes ...any) []any {
	list := make([]any, 0, len(prefixes))
	for _, prefix := range prefixes {
		url := mount + fmt.Sprint(prefix)
		url = cmp.Or(url, "/")
		list = append(list, object{"url": url})
	}
	return list
}

func section(of object, name string) object {
	s, ok := of[name].(object)
	if !ok {
		s = object{}
		of[name] = s
	}
	return s
}

func add(to, entries object) error {
	for name, entry := range entries {
		if _, taken := to[name]; taken {
			return fmt.Errorf("%s is defined twice", strings.TrimSpace(name))
		}
		to[name] = entry
	}
	return nil
}

// Base stands in the page for the base address of the service.
const Base = "https://base-address.invalid"

//go:embed page.html
var pageSource string

// page is the data of the template.
type page struct {
	Title, About        string
	Style               template.CSS
	Logo                template.HTML
	Base, First, Second string // address of the service, and the commands with which a reader begins
	Tags                []tag
	Schemas             []schema
}

type tag struct {
	Name, About string
	Operations  []operation
}

type operation struct {
	Method, Path, ID, Summary, About string
	Prefixes                         []string
	Public                           bool
	Example                          string // a command of a shell
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
	if err := t.Execute(&out, doc.page(mount)); err != nil {
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
	Below                             string                       `json:"x-below"` // path of what the operation belongs to
	Security                          []map[string]json.RawMessage // nil = that of the document
	Parameters                        []rawParameter
	RequestBody                       struct {
		Content map[string]struct{ Schema json.RawMessage }
	}
	Responses map[string]rawResponse
}

type rawParameter struct {
	Name, In, Description string
	Required              bool
	Schema                struct {
		Type, Example string
		Enum          []any
	}
}

type rawResponse struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]struct{ Schema json.RawMessage }
}

func (d document) page(mount string) page {
	p := page{Title: d.Info.Title, About: d.Info.Description, Style: console.Style, Logo: console.Logo, Base: Base}
	for _, t := range d.Tags {
		operations := d.operations(t.Name, mount)
		for _, o := range operations {
			switch o.ID {
			case "submitJob":
				p.First = o.Example
			case "getJob":
				p.Second = o.Example
			}
		}
		p.Tags = append(p.Tags, tag{Name: t.Name, About: t.Description, Operations: operations})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		p.Schemas = append(p.Schemas, schema{name, indent(d.Components.Schemas[name])})
	}
	return p
}

// operations lists the operations of a tag by path and method.
func (d document) operations(tagged, mount string) []operation {
	var list []operation
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range []string{"get", "head", "post", "put", "patch", "delete"} {
			var op rawOperation
			raw, there := d.Paths[path][method]
			if !there || json.Unmarshal(raw, &op) != nil || !slices.Contains(op.Tags, tagged) {
				continue
			}
			list = append(list, d.operation(path, method, op, mount))
		}
	}
	return list
}

func (d document) operation(path, method string, op rawOperation, mount string) operation {
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
	prefix := ""
	if len(places) > 0 {
		prefix = strings.TrimSuffix(strings.TrimPrefix(places[0].URL, mount), "/")
	}
	o.Example = d.command(method, op.Below+prefix+path, op, o.Public)
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
