package catalog

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
)

// Version is a version of the router API.
type Version string

// The versions. A document of v1 contains only the input schema.
const (
	V1 Version = "v1"
	V2 Version = "v2"
)

// Document is the schema document of a model as it is served, with its strong entity tag.
type Document struct {
	Content []byte
	ETag    string // with its quotation marks
}

// documents caches the documents of one model, by version and base address.
type documents struct {
	mu    sync.Mutex
	known map[documentKey]Document
}

type documentKey struct {
	version Version
	base    string
}

// maxCachedBases bounds the cache, since base addresses may come from requests.
const maxCachedBases = 64

// Document returns the OpenAPI 3.0.2 document of the model for a version of the router API at baseURL.
// Callers must not change the content, which is shared.
func (m *Model) Document(version Version, baseURL string) (Document, error) {
	key := documentKey{version, baseURL}
	m.docs.mu.Lock()
	defer m.docs.mu.Unlock()
	if d, ok := m.docs.known[key]; ok {
		return d, nil
	}
	content, err := json.Marshal(m.openAPI(version, baseURL))
	if err != nil {
		return Document{}, fmt.Errorf("render the document of %s: %w", m.ID, err)
	}
	sum := sha256.Sum256(content)
	d := Document{Content: content, ETag: `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`}
	if m.docs.known == nil || len(m.docs.known) >= maxCachedBases {
		m.docs.known = map[documentKey]Document{}
	}
	m.docs.known[key] = d
	return d, nil
}

type object = map[string]any // json.Marshal sorts the members, so equal models give equal bytes

func (m *Model) openAPI(version Version, baseURL string) object {
	path := "/" + string(version) + "/models/" + m.ID
	flags := object{"x-service-input-schema-authored": m.InputAuthored(), "x-comfy-input-schema-authored": m.InputAuthored()}
	document := object{
		"openapi": "3.0.2",
		"info": object{
			"title": m.Title, "version": string(version),
			"description": "Input and output of " + m.ID + ", as its provider defines them.",
		},
		"servers": []object{{"url": baseURL}},
		"paths":   object{path: object{"post": m.operation(version)}},
		"components": object{"securitySchemes": object{
			"apiKey": object{"type": "apiKey", "in": "header", "name": "X-API-Key"},
			"bearer": object{"type": "http", "scheme": "bearer"},
		}},
	}
	if m.Docs != "" {
		document["externalDocs"] = object{"url": m.Docs}
	}
	for name, value := range flags {
		document[name] = value
	}
	return document
}

func (m *Model) operation(version Version) object {
	input := any(object{"type": "object", "additionalProperties": true})
	if m.input != nil {
		input = m.input.openapi
	}
	body := object{"schema": input}
	if m.Example != nil {
		body["example"] = m.Example
	}
	security := []object{{"apiKey": []string{}}, {"bearer": []string{}}}
	if version == V1 {
		security = security[1:]
	}
	return object{
		"operationId": "run",
		"summary":     "Run " + m.Title,
		"security":    security,
		"requestBody": object{"required": true, "content": m.bodies(body, input)},
		"responses":   object{"200": m.response(version)},
	}
}

// bodies returns the media types of the input: JSON, and a form if the provider takes forms.
func (m *Model) bodies(body object, input any) object {
	content := object{"application/json": body}
	if m.TakesForms() {
		content[multipartForm] = object{"schema": input}
	}
	return content
}

// response describes the 200 response: in v2 by the output schema and its media type, in v1 as any content.
func (m *Model) response(version Version) object {
	described := object{"description": "The model's own output, unchanged."}
	switch {
	case version == V1:
	case m.output != nil:
		described["content"] = object{or(m.ContentType, "application/json"): object{"schema": m.output.openapi}}
	default:
		described["content"] = object{or(m.ContentType, "*/*"): object{"schema": object{}}}
	}
	return described
}
