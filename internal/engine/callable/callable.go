// Package callable makes a graph callable: it derives named and typed inputs and outputs from a drawing, checks values
// against them and puts the values into the graph. It promises that a value is accepted exactly where the published JSON
// Schema accepts it, that a value can never become a link, and that a caller sees names of inputs and outputs but no id of
// a node. Everything is a pure function of the drawing, the class definitions and the names that a command gives; finding
// or fetching the files that values name is left to the caller.
package callable

import (
	"encoding/json"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// Classes looks up node classes; node.Registry is one.
type Classes interface {
	Lookup(name string) (*node.Class, bool)
}

// Schema describes what a graph takes and returns. Its JSON holds everything that calls need: the definitions of the
// classes are needed only to derive it.
type Schema struct {
	Inputs  []Input  `json:"inputs"`
	Outputs []Output `json:"outputs"`
}

// Kind is the kind of a value.
type Kind string

// The kinds of inputs and outputs. The values of file kinds name a file.
const (
	Text    Kind = "text"
	Integer Kind = "integer"
	Number  Kind = "number"
	Boolean Kind = "boolean"
	Choice  Kind = "choice" // one of Input.Choices
	Any     Kind = "any"    // any JSON value

	Image Kind = "image"
	Mask  Kind = "mask"
	Audio Kind = "audio"
	Video Kind = "video"
	Model Kind = "model" // a three-dimensional model
	File  Kind = "file"  // another file
)

// IsFile reports whether values of the kind name a file.
func (k Kind) IsFile() bool {
	return slices.Contains([]Kind{Image, Mask, Audio, Video, Model, File}, k)
}

// Input is an input of a graph.
type Input struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"` // for people
	Description string          `json:"description,omitempty"`
	Kind        Kind            `json:"kind"`
	Default     json.RawMessage `json:"default,omitempty"` // nil = the input is required
	Minimum     json.Number     `json:"minimum,omitempty"`
	Maximum     json.Number     `json:"maximum,omitempty"`
	Step        json.Number     `json:"step,omitempty"`    // by which a form changes the value; other values are accepted too
	Choices     []string        `json:"choices,omitempty"` // of a choice; for a file, texts that are accepted in place of one
	Multiline   bool            `json:"multiline,omitempty"`
	Targets     []Target        `json:"targets"` // never empty
}

// Required reports whether every call must give a value.
func (in Input) Required() bool { return in.Default == nil }

// Target is the input of a node that an Input sets.
type Target struct {
	Node  string `json:"node"`
	Input string `json:"input"`
}

// Output is an output of a graph: the files or values of one node.
type Output struct {
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	Kind  Kind   `json:"kind"`
	Node  string `json:"node"`
}

// Input returns the input of that name.
func (s *Schema) Input(name string) (Input, bool) {
	i := slices.IndexFunc(s.Inputs, func(in Input) bool { return in.Name == name })
	if i < 0 {
		return Input{}, false
	}
	return s.Inputs[i], true
}

// OutputOf returns the name of the output that a node of the graph makes.
func (s *Schema) OutputOf(id string) (string, bool) {
	i := slices.IndexFunc(s.Outputs, func(out Output) bool { return out.Node == id })
	if i < 0 {
		return "", false
	}
	return s.Outputs[i].Name, true
}

// NodeOf returns the node of the graph that makes an output.
func (s *Schema) NodeOf(name string) (string, bool) {
	i := slices.IndexFunc(s.Outputs, func(out Output) bool { return out.Name == name })
	if i < 0 {
		return "", false
	}
	return s.Outputs[i].Node, true
}

// InputOf returns the name of the input that sets an input of a node.
func (s *Schema) InputOf(id, input string) (string, bool) {
	for _, in := range s.Inputs {
		if slices.Contains(in.Targets, Target{id, input}) {
			return in.Name, true
		}
	}
	return "", false
}

// InputsOf returns the names of the inputs that set inputs of a node. A failure of the node may be caused by their values.
func (s *Schema) InputsOf(id string) (names []string) {
	for _, in := range s.Inputs {
		if slices.ContainsFunc(in.Targets, func(t Target) bool { return t.Node == id }) {
			names = append(names, in.Name)
		}
	}
	return names
}

// Step returns what progress shows in place of a node's id: the name of its output, or of an input that it reads, or "".
func (s *Schema) Step(id string) string {
	if name, ok := s.OutputOf(id); ok {
		return name
	}
	if names := s.InputsOf(id); len(names) > 0 {
		return names[0]
	}
	return ""
}
