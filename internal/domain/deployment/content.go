package deployment

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hashicorp/golang-lru/v2"

	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Content is what a version consists of. It is stored as one blob, whose digest identifies it.
type Content struct {
	Graph   json.RawMessage   `json:"graph"`             // in API format
	Drawing json.RawMessage   `json:"drawing,omitempty"` // from which the graph was made
	Schema  callable.Schema   `json:"schema"`
	Classes map[string]string `json:"classes,omitempty"` // digest of the definition of each class that the graph uses, "" = it had none
	Pin     Pin               `json:"pin,omitempty"`
}

// Changed returns the classes of the graph whose definition differs from that at the time when the version was added, in
// alphabetical order. A class that is not known, now or then, is left out: a graph that cannot run is refused anyway.
func (c *Content) Changed(classes callable.Classes) ([]string, error) {
	now, err := callable.Digests(c.Graph, classes)
	if err != nil {
		return nil, err
	}
	var changed []string
	for name, before := range c.Classes {
		if before != "" && now[name] != "" && now[name] != before {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// Pin is what happens if the definition of a class has changed since a version was added.
type Pin string

// The pins.
const (
	PinWarn   Pin = ""       // calls are answered; the deployment says so
	PinStrict Pin = "strict" // calls are refused
)

// maxContent bounds the content of a version, in bytes.
const maxContent = 32 << 20

// encode returns the bytes whose digest identifies the content. Equal contents have equal bytes.
func (c Content) encode() ([]byte, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode a version: %w", err)
	}
	if len(raw) > maxContent {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidDeployment, "a version may have at most %d bytes, not %d", maxContent, len(raw))
	}
	return raw, nil
}

// names returns the names of the outputs by their nodes.
func (c Content) names() map[string]string {
	names := make(map[string]string, len(c.Schema.Outputs))
	for _, out := range c.Schema.Outputs {
		names[out.Node] = out.Name
	}
	return names
}

// targets returns the nodes that make the outputs.
func (c Content) targets() []string {
	nodes := make([]string, len(c.Schema.Outputs))
	for i, out := range c.Schema.Outputs {
		nodes[i] = out.Node
	}
	return nodes
}

// callee is a version that can be called: its content without the drawing, ready to be filled with values.
type callee struct {
	Content
	template *callable.Template
}

// contentsKept bounds the contents that a process remembers, and maxKept the graph of each, in bytes. Most have some kilobytes.
const (
	contentsKept = 256
	maxKept      = 1 << 20
)

// contents reads the contents of versions and remembers them without their drawings, which no call needs.
type contents struct {
	blobs blob.Store
	kept  *lru.Cache[blob.Ref, *callee]
	diffs *lru.Cache[[2]blob.Ref, []string]

	classes *lru.Cache[classKey, *node.Class]
}

func newContents(blobs blob.Store) contents {
	kept, _ := lru.New[blob.Ref, *callee](contentsKept) // it fails for a size below one only
	diffs, _ := lru.New[[2]blob.Ref, []string](contentsKept)
	classes, _ := lru.New[classKey, *node.Class](8 * contentsKept)
	return contents{blobs: blobs, kept: kept, diffs: diffs, classes: classes}
}

// callee returns a version that can be called.
func (c contents) callee(ctx context.Context, digest blob.Ref) (*callee, error) {
	if known, ok := c.kept.Get(digest); ok {
		return known, nil
	}
	content, err := c.whole(ctx, digest)
	if err != nil {
		return nil, err
	}
	content.Drawing = nil
	made := &callee{Content: content}
	if made.template, err = callable.Prepare(content.Graph, &made.Schema); err != nil {
		return nil, fmt.Errorf("prepare a version: %w", err)
	}
	if len(content.Graph) <= maxKept {
		c.kept.Add(digest, made)
	}
	return made, nil
}

// whole returns the content of a version.
func (c contents) whole(ctx context.Context, digest blob.Ref) (content Content, err error) {
	raw, err := blob.GetBytes(ctx, c.blobs, digest.String(), maxContent)
	if err == nil {
		err = json.Unmarshal(raw, &content)
	}
	if err != nil {
		return Content{}, fmt.Errorf("read a version: %w", err)
	}
	return content, nil
}

// Content returns the content of a version of a deployment.
func (s *Service) Content(ctx context.Context, d Deployment, number int) (Content, error) {
	v, ok := d.Version(number)
	if !ok {
		return Content{}, errNoVersion(d, number)
	}
	return s.contents.whole(ctx, v.Digest)
}

// Schema returns the inputs and outputs of a version of a deployment. The caller must not change it.
func (s *Service) Schema(ctx context.Context, d Deployment, number int) (*callable.Schema, error) {
	version, err := s.callee(ctx, d, number)
	if err != nil {
		return nil, err
	}
	return &version.Schema, nil
}

// Diff says in sentences what a call can see of the changes between two versions of a deployment. The caller must not change it.
func (s *Service) Diff(ctx context.Context, d Deployment, older, newer int) ([]string, error) {
	var key [2]blob.Ref
	for i, number := range []int{older, newer} {
		v, ok := d.Version(number)
		if !ok {
			return nil, errNoVersion(d, number)
		}
		key[i] = v.Digest
	}
	if known, ok := s.contents.diffs.Get(key); ok {
		return known, nil
	}
	var sides [2]callable.Revision
	for i, digest := range key {
		version, err := s.contents.callee(ctx, digest)
		if err != nil {
			return nil, err
		}
		sides[i] = callable.Revision{Graph: version.Graph, Schema: &version.Schema}
	}
	changes, err := callable.Diff(sides[0], sides[1])
	if err == nil {
		s.contents.diffs.Add(key, changes)
	}
	return changes, err
}

// Source is what a version is made of.
type Source struct {
	Document []byte         // a drawing of the editor, a graph in API format, or a body of a submission
	Named    callable.Named // the inputs and outputs that the command names
	Pin      Pin
}

// Derived is the content of a new version with what its author should know.
type Derived struct {
	Content  Content
	Source   callable.Source // where inputs and outputs come from
	Warnings []string
	Lacks    []string // classes of the graph that no server has now
}

// Derive makes the content of a version of a deployment of an account.
func (s *Service) Derive(ctx context.Context, account string, src Source) (Derived, error) {
	if !slices.Contains([]Pin{PinWarn, PinStrict}, src.Pin) {
		return Derived{}, fault.New(fault.Invalid, fault.CodeInvalidDeployment, "pin takes strict or nothing, not %.40q", src.Pin)
	}
	if len(src.Document) > maxContent {
		return Derived{}, fault.New(fault.Invalid, fault.CodeInvalidDeployment, "a graph may have at most %d bytes, not %d", maxContent,
			len(src.Document))
	}
	known, err := s.Known(ctx, account)
	if err != nil {
		return Derived{}, err
	}
	made, err := callable.Derive(src.Document, s.Limits, known, src.Named)
	if err != nil {
		return Derived{}, err
	}
	classes, err := callable.Digests(made.Graph, s.Validator.Classes)
	if err != nil {
		return Derived{}, err
	}
	content := Content{Graph: made.Graph, Schema: *made.Schema, Classes: classes, Pin: src.Pin}
	if isDrawing(src.Document) {
		content.Drawing = src.Document
	}
	return Derived{Content: content, Source: made.Source, Warnings: made.Warnings, Lacks: made.Lacks}, nil
}

// isDrawing reports whether a document is a workflow as the editor saves it, and not a graph.
func isDrawing(document []byte) bool {
	var top struct {
		Nodes json.RawMessage `json:"nodes"`
	}
	return json.Unmarshal(document, &top) == nil && bytes.HasPrefix(top.Nodes, []byte("["))
}
