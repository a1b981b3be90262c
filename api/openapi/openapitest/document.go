package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millrace-dev/millrace/api/openapi"
)

// Document is the parsed document.
type Document struct {
	root  any // in JSON Schema's dialect, see schemaDialect
	paths []template

	mu       sync.Mutex // guards the fields below; a compiler serves one caller at a time
	compiler *jsonschema.Compiler
	seen     map[string]bool
}

// Load returns the document of the whole service, the admin API included. It is parsed once.
var Load = sync.OnceValues(func() (*Document, error) {
	raw, err := openapi.Operators("")
	if err != nil {
		return nil, err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	d := &Document{root: schemaDialect(parsed), compiler: jsonschema.NewCompiler(), seen: map[string]bool{}}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(resource, d.root); err != nil {
		return nil, err
	}
	for path := range d.at(d.top(), "paths").object() {
		d.paths = append(d.paths, d.templates(path)...)
	}
	// The most literal template matches first, as in a router: /jobs/cancel before /jobs/{id}.
	slices.SortFunc(d.paths, func(a, b template) int {
		return strings.Compare(a.order(), b.order())
	})
	return d, nil
})

// resource is the name of the document for the compiler of schemas.
const resource = "openapi.json"

// schemaDialect translates what OpenAPI 3.0 writes in another way than JSON Schema: a schema with "nullable" also admits
// null, and one with properties admits nothing but objects.
func schemaDialect(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = schemaDialect(v[i])
		}
	case map[string]any:
		for name, inner := range v {
			v[name] = schemaDialect(inner)
		}
		if _, object := v["properties"].(map[string]any); object && v["type"] == nil {
			v["type"] = "object"
		}
		if v["nullable"] == true {
			delete(v, "nullable")
			return map[string]any{"anyOf": []any{map[string]any{"type": "null"}, v}}
		}
	}
	return value
}

// place is a part of the document and the JSON pointer to it.
type place struct {
	pointer string
	value   any
}

// object returns the members of the part, which are none if it is not an object.
func (p place) object() map[string]any {
	members, _ := p.value.(map[string]any)
	return members
}

func (d *Document) top() place { return place{value: d.root} }

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// at returns the part below p that the keys lead to, with references followed; its value is nil where p has none.
func (d *Document) at(p place, keys ...string) place {
	for _, key := range keys {
		p = d.followed(place{p.pointer + "/" + escape.Replace(key), p.object()[key]})
	}
	return p
}

// followed returns the part that p refers to, or p if it is no reference.
func (d *Document) followed(p place) place {
	reference, _ := p.object()["$ref"].(string)
	path, found := strings.CutPrefix(reference, "#/")
	if !found {
		return p
	}
	return d.at(d.top(), strings.Split(path, "/")...)
}

// checkJSON checks a body against a schema of the document.
func (d *Document) checkJSON(schema place, body []byte) error {
	if schema.object()["format"] == "binary" {
		return nil
	}
	if !json.Valid(body) {
		return errors.New("the body is not one JSON value")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	d.mu.Lock()
	compiled, err := d.compiler.Compile(resource + "#" + schema.pointer)
	d.mu.Unlock()
	if err != nil {
		return fmt.Errorf("compile the schema: %w", err)
	}
	return compiled.Validate(value)
}

// template is a path of the document below one of its prefixes.
type template struct {
	path     string // as in the document
	segments []string
}

func (d *Document) templates(path string) []template {
	prefixes := []string{""}
	if servers, _ := d.at(d.top(), "paths", path, "servers").value.([]any); len(servers) > 0 {
		prefixes = nil
		for _, s := range servers {
			url, _ := place{value: s}.object()["url"].(string)
			prefixes = append(prefixes, strings.TrimSuffix(url, "/"))
		}
	}
	var list []template
	for _, prefix := range prefixes {
		list = append(list, template{path, strings.Split(prefix+path, "/")})
	}
	return list
}

func (t template) order() string {
	return strings.ReplaceAll(strings.Join(t.segments, "/"), "{", "\xff")
}

func isParameter(segment string) bool { return strings.HasPrefix(segment, "{") }

// matches reports whether an escaped path matches the template.
func (t template) matches(path string) bool {
	segments := strings.Split(path, "/")
	if len(segments) != len(t.segments) {
		return false
	}
	for i, segment := range t.segments {
		if segment != segments[i] && (!isParameter(segment) || segments[i] == "") {
			return false
		}
	}
	return true
}

// Operation is one method of one path.
type Operation struct {
	Method, Path string   // as in the document
	Routes       []string // the paths that serve it, with parameters in braces
	Public       bool
	Query        []string // the names of the documented query parameters, in order
}

// methods are the members of a path that are operations.
var methods = []string{"delete", "get", "head", "options", "patch", "post", "put", "trace"}

// Operations lists all operations by path and method.
func (d *Document) Operations() []Operation {
	var all []Operation
	paths := d.at(d.top(), "paths")
	for _, path := range slices.Sorted(maps.Keys(paths.object())) {
		for _, method := range methods {
			op := d.at(paths, path, method)
			if op.value == nil {
				continue
			}
			security, declared := op.object()["security"].([]any)
			o := Operation{Method: strings.ToUpper(method), Path: path, Public: declared && len(security) == 0, Query: d.query(op)}
			for _, t := range d.templates(path) {
				o.Routes = append(o.Routes, strings.Join(t.segments, "/"))
			}
			all = append(all, o)
		}
	}
	return all
}

// query lists the names of the query parameters of an operation.
func (d *Document) query(op place) []string {
	names := []string{}
	parameters, _ := op.object()["parameters"].([]any)
	for _, parameter := range parameters {
		if p := d.followed(place{value: parameter}).object(); p["in"] == "query" {
			name, _ := p["name"].(string)
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// find returns the operation that serves a request. known says that the document has the path; the operation is nil if
// the path does not have the method.
func (d *Document) find(method, path string) (known bool, at string, op place) {
	for _, t := range d.paths {
		if t.matches(path) {
			return true, t.path, d.at(d.top(), "paths", t.path, strings.ToLower(method))
		}
	}
	return false, "", place{}
}
