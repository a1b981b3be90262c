package node

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Document is the definition of a class as its source wrote it, byte for byte, except for the choices of inputs that
// offer files: they are the caller's files.
type Document struct {
	parts []json.RawMessage // the text around the choices of files
	files []string          // the inputs whose choices go between the parts
}

// hole is the placeholder for the choices of an input while a document is made. No JSON text contains it.
func hole(input string) []byte { return []byte("\x00" + input + "\x00") }

// NewDocument returns the document that write returns. For each input that offers files, write calls choices with the
// input's name and puts the result where the list of its choices belongs.
func NewDocument(write func(choices func(input string) []byte) ([]byte, error)) (*Document, error) {
	var named []string
	raw, err := write(func(input string) []byte {
		named = append(named, input)
		return hole(input)
	})
	if err != nil {
		return nil, err
	}
	d := &Document{}
	for _, input := range named {
		before, after, found := bytes.Cut(raw, hole(input))
		if !found {
			continue // the definition has no such input
		}
		d.parts, d.files, raw = append(d.parts, before), append(d.files, input), after
	}
	d.parts = append(d.parts, raw)
	return d, nil
}

// render returns the document with the caller's files as choices.
func (d *Document) render(c *Class, offers *offered) ([]byte, error) {
	var b bytes.Buffer
	for i, input := range d.files {
		in, _ := c.Input(input)
		names, err := offers.options(in)
		if err != nil {
			return nil, err
		}
		if names == nil {
			names = []string{}
		}
		choices, err := json.Marshal(names)
		if err != nil {
			return nil, fmt.Errorf("define class %s: %w", c.Name, err)
		}
		b.Write(d.parts[i])
		b.Write(choices)
	}
	b.Write(d.parts[len(d.files)])
	return b.Bytes(), nil
}
