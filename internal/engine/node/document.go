package node

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Document is the definition of a class as its source wrote it, byte for byte, apart from the choices of the inputs that
// offer files: those are the caller's.
type Document struct {
	parts []json.RawMessage // between the choices of files
	files []string          // the inputs whose choices stand between the parts
}

// hole stands for the choices of an input while a document is made. No JSON text holds it.
func hole(input string) []byte { return []byte("\x00" + input + "\x00") }

// NewDocument returns the document that write writes. For each input that offers files, write calls choices with its name
// and puts what it returns where the list of its choices belongs.
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
			continue // the definition does not have it after all
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
