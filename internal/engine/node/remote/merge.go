package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Document holds the classes of one server, by name.
type Document struct {
	Digest  string
	Names   []string // in the server's order
	Classes map[string]*Definition
	LeftOut []string // why classes of the server cannot be used; the others can
}

// ParseDocument reads the definitions of a server. It leaves out each class that cannot be used; the others remain usable.
func ParseDocument(digest string, names []string, definitions map[string]json.RawMessage) *Document {
	d := &Document{Digest: digest, Classes: make(map[string]*Definition, len(definitions))}
	for _, name := range names {
		if def, err := Parse(name, definitions[name]); err == nil {
			d.Classes[name] = def
		} else {
			d.LeftOut = append(d.LeftOut, err.Error())
		}
	}
	d.adoptInputs()
	d.adoptWeights()
	for _, name := range names {
		def, ok := d.Classes[name]
		if !ok {
			continue
		}
		if _, err := def.class(); err != nil {
			delete(d.Classes, name)
			d.LeftOut = append(d.LeftOut, err.Error())
			continue
		}
		d.Names = append(d.Names, name)
	}
	return d
}

// Problem returns a sentence about the classes that are left out, or "".
func (d *Document) Problem() string {
	if len(d.LeftOut) == 0 {
		return ""
	}
	more := ""
	if n := len(d.LeftOut); n > 1 {
		more = fmt.Sprintf("; and %d more", n-1)
	}
	return fmt.Sprintf("%d of %d classes cannot be used: %s%s", len(d.LeftOut), len(d.LeftOut)+len(d.Names), d.LeftOut[0], more)
}

// Missing returns the class or the choice that a server lacks to run a node of that class with these constants, or
// "".
func (d *Document) Missing(class string, constants node.Args) string {
	def, ok := d.Classes[class]
	if !ok {
		return "class " + class
	}
	for i := range def.inputs {
		in := &def.inputs[i]
		if in.open || in.Type != node.Combo || in.Folder != "" {
			continue
		}
		if choice, ok := constants[in.Name].(string); ok && !slices.Contains(in.Options, choice) {
			return in.Name + " " + choice
		}
	}
	return ""
}

// Fits reports whether the class can run a node that was planned with the given types of inputs and of all outputs.
// Without outputs, the node was not planned with types, and Fits returns true.
func (d *Definition) Fits(inputs map[string]string, outputs []string) bool {
	if outputs == nil {
		return true
	}
	now := make([]string, 0, len(d.outputs))
	for _, out := range d.outputs {
		now = append(now, string(out.Type))
	}
	if !slices.Equal(now, outputs) {
		return false
	}
	types := make(map[string]string, len(d.inputs))
	for i := range d.inputs {
		types[d.inputs[i].Name] = string(d.inputs[i].Type)
	}
	for name, was := range inputs {
		if types[name] != was {
			return false
		}
	}
	return true
}

// Models returns the choices of a node's inputs that name files of models.
func (d *Document) Models(class string, constants node.Args) []string {
	def, ok := d.Classes[class]
	if !ok {
		return nil
	}
	var out []string
	for i := range def.inputs {
		in := &def.inputs[i]
		choice, ok := constants[in.Name].(string)
		if ok && in.Type == node.Combo && in.Folder == "" && node.IsModelFile(choice) {
			out = append(out, choice)
		}
	}
	return out
}

// Merge makes the classes that at least one of the servers has. The choices are those of all servers; for all other
// differences, the first server's definition counts. Classes whose definitions cannot be merged are left out, and
// their errors joined.
func Merge(documents []*Document) ([]*node.Class, error) {
	var out []*node.Class
	var malformed []error
	seen := map[string]bool{}
	for i, d := range documents {
		for _, name := range d.Names {
			if seen[name] {
				continue
			}
			seen[name] = true
			merged := d.Classes[name].clone()
			for _, other := range documents[i+1:] {
				if def, ok := other.Classes[name]; ok {
					merged.addChoices(def)
				}
			}
			class, err := merged.class()
			if err != nil {
				malformed = append(malformed, err)
				continue
			}
			out = append(out, class)
		}
	}
	return out, errors.Join(malformed...)
}

func (d *Definition) clone() *Definition {
	c := *d
	c.inputs = slices.Clone(d.inputs)
	for i := range c.inputs {
		c.inputs[i].Options = slices.Clone(c.inputs[i].Options)
	}
	return &c
}

// addChoices adds the choices that another server has.
func (d *Definition) addChoices(other *Definition) {
	if !bytes.Equal(d.raw, other.raw) && !slices.ContainsFunc(d.others, func(o json.RawMessage) bool { return bytes.Equal(o, other.raw) }) {
		d.others = append(d.others, other.raw)
	}
	for i := range d.inputs {
		in := &d.inputs[i]
		at := slices.IndexFunc(other.inputs, func(o input) bool { return o.Name == in.Name })
		if at < 0 || in.Type != node.Combo {
			continue
		}
		in.open = in.open || other.inputs[at].open
		for _, choice := range other.inputs[at].Options {
			if in.Folder == "" && !slices.Contains(in.Options, choice) {
				in.Options = append(in.Options, choice)
			}
		}
	}
}

// unknownPixels is the assumed size of a picture from a server, for the cost of nodes that read it. The actual size
// is known only when the picture arrives.
const unknownPixels = 4 << 20

// class returns the definition as a node class.
func (d *Definition) class() (*node.Class, error) {
	document, err := d.document()
	if err != nil {
		return nil, fmt.Errorf("class %s: %w", d.Name, err)
	}
	c := &node.Class{
		Document: document,
		Name:     d.Name, DisplayName: d.head.DisplayName, Description: d.head.Description, Category: d.head.Category, Module: d.head.Module,
		Outputs: d.outputs, OutputNode: d.head.OutputNode, Intermediate: d.head.Intermediate, InputIsList: d.head.InputIsList,
		Deprecated: d.head.Deprecated, Experimental: d.head.Experimental, SearchAliases: d.head.Aliases,
		Remote: true, Uncached: true,
		Pixels: func(_ node.Args, upstream int64) int64 { return max(upstream, unknownPixels) },
		Run: func(context.Context, *node.Call) (node.Result, error) {
			return node.Result{}, fault.New(fault.Invalid, fault.CodeRunsOnServers, "class %s runs on ComfyUI servers only", d.Name)
		},
	}
	c.MoreOutputs = c.OfPack() // some classes of packs return more values than they declare; their server knows
	for _, in := range d.inputs {
		c.Inputs = append(c.Inputs, in.Input)
		if in.open || in.Folder != "" {
			c.Checked = append(c.Checked, in.Name)
		}
	}
	if slices.ContainsFunc(d.inputs, func(in input) bool { return in.Folder != "" }) {
		c.Check, c.Fingerprint = d.checkFiles, d.fingerprint
	}
	return c, c.Validate()
}

// checkFiles refuses names of files that the account does not have, with ComfyUI's message.
func (d *Definition) checkFiles(ctx context.Context, files node.Files, constants node.Args) error {
	for _, in := range d.inputs {
		name, ok := constants[in.Name].(string)
		if in.Folder == "" || !ok || slices.Contains(in.Options, name) {
			continue
		}
		if in.Directory {
			if _, err := node.InDirectory(ctx, files, name); err != nil {
				return err
			}
			continue
		}
		_, err := files.Stat(ctx, name)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
			return fault.Wrap(err, fault.Invalid, "", "Invalid file: %s", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fingerprint identifies the content of the account's files that a node loads.
func (d *Definition) fingerprint(ctx context.Context, files node.Files, constants node.Args) (string, error) {
	var hashes []string
	for _, in := range d.inputs {
		name, ok := constants[in.Name].(string)
		if in.Folder == "" || !ok || slices.Contains(in.Options, name) {
			continue
		}
		within := []string{name}
		if in.Directory {
			var err error
			if within, err = node.InDirectory(ctx, files, name); err != nil {
				return "", err
			}
		}
		for _, file := range within {
			info, err := files.Stat(ctx, file)
			if err != nil {
				return "", err
			}
			hashes = append(hashes, in.Name+"="+info.Hash)
			if in.Directory {
				hashes = append(hashes, info.Name)
			}
		}
	}
	return strings.Join(hashes, " "), nil
}
