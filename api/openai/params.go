package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound/dataurl"
)

// params are the parameters of a request by name. Those of a form are texts.
type params map[string]json.RawMessage

// paramError is a parameter that the deployment does not take. It is fault.Invalid.
type paramError struct {
	name string
	err  error
}

// Error implements error.
func (e *paramError) Error() string { return e.err.Error() }

// Unwrap returns the classified error.
func (e *paramError) Unwrap() error { return e.err }

func refuse(name, format string, args ...any) error {
	return &paramError{name, fault.New(fault.Invalid, fault.CodeInvalidInput, format, args...)}
}

// paramOf returns the parameter that an error is about, or "".
func paramOf(err error) string {
	var p *paramError
	var refused *callable.Invalid
	switch {
	case errors.As(err, &p):
		return p.name
	case errors.As(err, &refused) && len(refused.Problems) > 0:
		return refused.Problems[0].Input
	}
	return ""
}

// readJSON reads the parameters of a JSON body.
func readJSON(c *gin.Context) (params, error) {
	var p params
	if err := request.Submission(c, &p, maxMembers); err != nil {
		return nil, err
	}
	return p, nil
}

// Bounds of a request.
const (
	maxMembers  = 10_000
	maxFields   = 256
	maxPictures = 10 // of a request
	maxN        = 10 // OpenAI's own limit
)

// readForm reads the parameters of a form: fields, and pictures as data: URLs. A name such as image[] is a list.
func readForm(c *gin.Context) (params, error) {
	parts, err := c.Request.MultipartReader()
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidBody, "the body must be multipart/form-data with a boundary")
	}
	p, lists := params{}, map[string][]string{}
	for range maxFields {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			for name, texts := range lists {
				p[name] = quoted(texts)
			}
			return p, request.Received(c) // the answer may take longer than the time for the body
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidBody, "the form cannot be read")
		}
		raw, err := io.ReadAll(part) // the body is bounded
		if err != nil {
			return nil, err
		}
		name, text := part.FormName(), string(raw)
		if part.FileName() != "" {
			text = dataurl.Format(part.Header.Get("Content-Type"), raw)
		}
		if list, ok := strings.CutSuffix(name, "[]"); ok {
			lists[list] = append(lists[list], text)
		} else {
			p[name] = quoted(text)
		}
	}
	return nil, fault.New(fault.Invalid, fault.CodeInvalidBody, "the form has more than %d fields", maxFields)
}

func quoted(value any) json.RawMessage {
	raw, _ := json.Marshal(value) // texts and numbers have always a JSON form
	return raw
}

// text returns a parameter that is a text, or "".
func (p params) text(name string) (text string) {
	_ = json.Unmarshal(p[name], &text) // a value of another kind counts as none
	return text
}

// images is a request that was understood.
type images struct {
	model  string
	n      int
	asURL  bool
	inputs map[string]json.RawMessage
	seed   *int64 // of the first picture; later ones count from it. nil = the request or the deployment has none
}

// ignored are parameters that do not change the picture.
var ignored = []string{"user", "stream"}

// understand maps parameters to the inputs of a deployment.
func (p params) understand(s *callable.Schema) (images, error) {
	r := images{model: p.text("model"), n: 1, inputs: map[string]json.RawMessage{}}
	format := p.text("response_format")
	if format != "" && format != "url" && format != "b64_json" {
		return r, refuse("response_format", "response_format takes url or b64_json")
	}
	r.asURL = format == "url"
	if _, ok := s.Input("n"); !ok {
		if err := p.count(&r); err != nil {
			return r, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		value := p[name]
		if name == "model" || name == "response_format" || slices.Contains(ignored, name) || string(value) == "null" {
			continue
		}
		if _, own := s.Input("n"); name == "n" && !own {
			continue
		}
		if err := r.set(s, name, value); err != nil {
			return r, err
		}
	}
	return r, r.firstSeed(s)
}

// count reads n, the number of pictures, if the deployment has no input of that name.
func (p params) count(r *images) error {
	raw := p["n"]
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	n, err := strconv.Atoi(strings.Trim(string(raw), `"`))
	if err != nil || n < 1 || n > maxN {
		return refuse("n", "n takes an integer from 1 to %d", maxN)
	}
	r.n = n
	return nil
}

// set maps one parameter.
func (r *images) set(s *callable.Schema, name string, value json.RawMessage) error {
	if in, ok := s.Input(name); ok && !bytes.HasPrefix(value, []byte("[")) {
		r.inputs[name] = typed(in, value)
		return nil
	}
	switch name {
	case "size":
		return r.size(s, value)
	case "image", "mask":
		return r.pictures(s, name, value)
	case "prompt":
		if only, ok := sole(s, callable.Text); ok {
			r.inputs[only] = value
			return nil
		}
	}
	return refuse(name, "the model %s has no input %q", r.model, name)
}

// typed returns the value of a form as the input's kind.
func typed(in callable.Input, value json.RawMessage) json.RawMessage {
	var text string
	scalar := in.Kind == callable.Integer || in.Kind == callable.Number || in.Kind == callable.Boolean
	if scalar && json.Unmarshal(value, &text) == nil && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return value
}

// sole returns the name of the only input of a kind.
func sole(s *callable.Schema, kind callable.Kind) (name string, ok bool) {
	for _, in := range s.Inputs {
		if in.Kind == kind {
			if ok {
				return "", false
			}
			name, ok = in.Name, true
		}
	}
	return name, ok
}

// size maps a size such as 1024x768 to the inputs width and height.
func (r *images) size(s *callable.Schema, value json.RawMessage) error {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return refuse("size", "size takes a text such as 1024x1024")
	}
	if text == "auto" {
		return nil
	}
	width, height, ok := strings.Cut(text, "x")
	w, errW := strconv.Atoi(width)
	h, errH := strconv.Atoi(height)
	if !ok || errW != nil || errH != nil {
		return refuse("size", "size takes a text such as 1024x1024, or auto")
	}
	for name, pixels := range map[string]int{"width": w, "height": h} {
		if _, ok := s.Input(name); !ok {
			return refuse("size", "the model %s has no input %q, so that it takes no size", r.model, name)
		}
		r.inputs[name] = quoted(pixels)
	}
	return nil
}

// pictures maps pictures to inputs: the one of that name, or else the inputs of that kind in order.
func (r *images) pictures(s *callable.Schema, name string, value json.RawMessage) error {
	var texts []string
	if json.Unmarshal(value, &texts) != nil {
		texts = []string{""}
		if json.Unmarshal(value, &texts[0]) != nil {
			return refuse(name, "%s takes a picture", name)
		}
	}
	var names []string
	for _, in := range s.Inputs {
		if in.Kind == callable.Kind(name) {
			names = append(names, in.Name)
		}
	}
	if len(texts) > min(len(names), maxPictures) {
		return refuse(name, "the model %s takes %d pictures as %s, not %d", r.model, len(names), name, len(texts))
	}
	for i, text := range texts {
		r.inputs[names[i]] = quoted(text)
	}
	return nil
}

// firstSeed sets the seed of the first of several pictures, if the deployment has an input "seed".
func (r *images) firstSeed(s *callable.Schema) error {
	in, ok := s.Input("seed")
	if !ok || r.n == 1 {
		return nil
	}
	first := r.inputs["seed"]
	if first == nil {
		first = in.Default
	}
	var seed int64
	if json.Unmarshal(first, &seed) != nil {
		return refuse("seed", "seed takes an integer")
	}
	r.seed = &seed
	return nil
}

// call returns the inputs of the i-th picture.
func (r *images) call(i int) map[string]json.RawMessage {
	inputs := maps.Clone(r.inputs)
	if r.seed != nil {
		inputs["seed"] = json.RawMessage(fmt.Sprint(*r.seed + int64(i)))
	}
	return inputs
}
