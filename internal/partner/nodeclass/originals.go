package nodeclass

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	calls "github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// original is a partner node of ComfyUI as described in the table.
type original struct {
	Class  string
	Model  string            // id of the model behind it
	Models map[string]string // in place of Model: choice of the input "model" -> id
	Choose catalog.Expr      // the choice, where it is not that of the input "model"
	Media  string            // the form in which pictures are written into the request: catalog.MediaData or catalog.MediaBase64
	Refuse struct {
		When catalog.Expr
		Says string
	}
	Body  map[string]catalog.Expr // member of the request -> its value
	Blank []string                // names of picture outputs that stay black, since the request does not ask for these pictures
	Texts map[string][]string     // by name of a text output that is not the model's text: the pointers to its value
}

//go:embed originals.yaml
var originalsTable []byte

//go:embed originals.json
var originalsDefinitions []byte

// originals reads the table and the definitions of its classes, which equal those of ComfyUI, key by key.
var originals = sync.OnceValues(func() ([]original, error) {
	var list []original
	d := yaml.NewDecoder(bytes.NewReader(originalsTable))
	d.KnownFields(true)
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("table of ComfyUI's partner nodes: %w", err)
	}
	return list, nil
})

// Originals returns ComfyUI's own partner nodes for which the snapshot has an enabled model. They have their original
// names and definitions, so that graphs which name them run unchanged.
func Originals(s *catalog.Snapshot, served func(*catalog.Model) bool) ([]*node.Class, error) {
	list, err := originals()
	if err != nil {
		return nil, err
	}
	definitions, err := definitionsOf(list)
	if err != nil {
		return nil, err
	}
	var classes []*node.Class
	for i, o := range list {
		models := map[string]*model{}
		for choice, id := range o.ids() {
			if m, ok := s.Find(id); ok && served(m) {
				models[choice] = &model{entry: m}
			}
		}
		if len(models) > 0 {
			classes = append(classes, o.class(definitions[i], models))
		}
	}
	return classes, nil
}

// ids returns the models by choice; "" is the choice of a node that offers no choice.
func (o original) ids() map[string]string {
	if o.Model != "" {
		return map[string]string{"": o.Model}
	}
	return o.Models
}

// definitionsOf returns the classes of the table as ComfyUI defines them.
func definitionsOf(list []original) ([]*node.Class, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(originalsDefinitions, &all); err != nil {
		return nil, fmt.Errorf("definitions of ComfyUI's partner nodes: %w", err)
	}
	names := make([]string, len(list))
	for i, o := range list {
		names[i] = o.Class
	}
	document := remote.ParseDocument("", names, all)
	if problem := document.Problem(); problem != "" {
		return nil, errors.New(problem)
	}
	classes, err := remote.Merge([]*remote.Document{document})
	if err != nil {
		return nil, err
	}
	for _, c := range classes {
		if err := remote.Resolve(c.Inputs); err != nil {
			return nil, fmt.Errorf("definition of ComfyUI's %s: %w", c.Name, err)
		}
	}
	return classes, nil
}

// class completes a definition with the functions that run it.
func (o original) class(c *node.Class, models map[string]*model) *node.Class {
	longest := time.Duration(0)
	for _, m := range models {
		longest = max(longest, m.entry.Limits.Total)
	}
	c.Remote, c.Partner, c.Uncached = false, true, false
	// the hidden inputs are credentials, which stay with the service
	c.Inputs = slices.DeleteFunc(c.Inputs, func(in node.Input) bool { return in.Section == node.Hidden })
	c.Cost = func(node.Args, int64) time.Duration { return longest }
	c.Pixels = func(_ node.Args, upstream int64) int64 { return max(upstream, answerPixels) }
	outputs := c.Outputs
	c.Run = func(ctx context.Context, call *node.Call) (node.Result, error) {
		return o.run(ctx, call, models, outputs)
	}
	return c
}

func (o original) run(ctx context.Context, call *node.Call, models map[string]*model, outputs []node.Output) (node.Result, error) {
	if call.Models == nil {
		return node.Result{}, fmt.Errorf("node %s cannot run: this process has no models", call.NodeID)
	}
	body, choice, err := o.body(ctx, call.Args)
	if err != nil {
		return node.Result{}, err
	}
	p, ok := models[choice]
	if !ok {
		return node.Result{}, fault.New(fault.NotFound, fault.Code(calls.ModelNotFound),
			"the model %q of %s is not available: the operator has not configured it", choice, o.Class)
	}
	answer, err := call.Models.Run(ctx, p.entry.ID, p.entry.State, body)
	if err != nil {
		return node.Result{}, err
	}
	defer answer.Content.Close()
	values, err := p.values(ctx, call, answer, outputs, o)
	if err != nil {
		return node.Result{}, err
	}
	return node.Result{Outputs: values}, nil
}

// body writes the model's request, and returns the id of the chosen model. Equal arguments give equal bytes, which
// identify a repeated run.
func (o original) body(ctx context.Context, args node.Args) (body []byte, choice string, err error) {
	input := map[string]any{}
	for name, value := range args {
		im, ok := value.(*raster.Image)
		if mask, is := value.(*raster.Mask); is {
			if im, err = maskPicture(ctx, mask, args["image"]); err != nil {
				return nil, "", err
			}
			ok = true
		}
		if !ok {
			input[name] = value
			continue
		}
		frames, err := o.frames(ctx, name, im)
		if err != nil {
			return nil, "", err
		}
		input[name] = frames
	}
	scope := catalog.Scope{Input: input}
	if o.Refuse.When.Set() && o.Refuse.When.Holds(scope) {
		return nil, "", fault.New(fault.Invalid, fault.CodeInputType, "%s %s", o.Class, o.Refuse.Says)
	}
	request := map[string]any{}
	for name, e := range o.Body {
		if value := e.Eval(scope); value != nil {
			request[name] = value
		}
	}
	var out bytes.Buffer
	w := json.NewEncoder(&out) // encodes members in the order of their names
	w.SetEscapeHTML(false)
	if err := w.Encode(request); err != nil {
		return nil, "", fault.Wrap(err, fault.Invalid, fault.CodeInputType, "the inputs of %s cannot be written as JSON", o.Class)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), o.choice(scope), nil
}

// maskPicture returns a mask as a picture of the size of the picture to which it belongs.
func maskPicture(ctx context.Context, m *raster.Mask, of node.Value) (*raster.Image, error) {
	if m.Empty() {
		return nil, fault.New(fault.Invalid, fault.CodeEmptyImage, "the mask has no pixels")
	}
	grey := m.Grey().WithChannels(3)
	im, ok := of.(*raster.Image)
	if !ok || im.Width() == m.Width() && im.Height() == m.Height() {
		return grey, nil
	}
	return raster.Engine{}.Resize(ctx, grey, im.Width(), im.Height(), raster.NearestExact)
}

// choice returns the chosen model, or "" if the node offers no choice.
func (o original) choice(scope catalog.Scope) string {
	switch {
	case o.Model != "":
		return ""
	case o.Choose.Set():
		choice, _ := o.Choose.Eval(scope).(string)
		return choice
	}
	input, _ := scope.Input.(map[string]any)
	choice, _ := input["model"].(string)
	return choice
}

// frames writes each frame of a picture.
func (o original) frames(ctx context.Context, name string, im *raster.Image) ([]any, error) {
	f := field{input: node.Input{Name: name}, media: o.Media}
	frames := make([]any, im.Frames())
	for i := range frames {
		raw, err := f.picture(ctx, im.Frame(i))
		if err != nil {
			return nil, err
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		frames[i] = text
	}
	return frames, nil
}

// values makes the values of ComfyUI's outputs from the model's outputs of the same types: its pictures, its video,
// which is a file until another node saves it, and its text.
func (p *model) values(
	ctx context.Context, call *node.Call, answer node.ModelAnswer, outputs []node.Output, o original,
) ([]node.Value, error) {
	r := &reading{model: p, call: call, answer: answer, folder: node.FolderTemp, ui: map[string][]any{}}
	if p.entry.Protocol != catalog.Bytes {
		if err := r.read(); err != nil {
			return nil, err
		}
	}
	values := make([]node.Value, len(outputs))
	for i, out := range outputs {
		var err error
		switch from := o.Texts[out.Name]; {
		case from != nil:
			values[i] = r.joined(r.outputValues(catalog.NodeOutput{From: from}))
		case slices.Contains(o.Blank, out.Name):
			values[i], err = raster.Engine{}.Solid(ctx, 1, blankSide, blankSide, []uint8{0, 0, 0})
		default:
			values[i], err = r.original(ctx, out.Type)
		}
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

// blankSide is the width and height of a picture that was not requested, as in ComfyUI.
const blankSide = 1024

// original makes the value of one of ComfyUI's outputs.
func (r *reading) original(ctx context.Context, output node.Type) (node.Value, error) {
	want := catalog.NodeOutputType(output)
	if output == node.Video {
		want = catalog.NodeFile
	}
	o, ok := r.model.outputOf(want)
	if !ok {
		return nil, r.unusable("%s has no output %s", r.model.entry.ID, want)
	}
	found := r.outputValues(o)
	if output == node.Image {
		return r.images(ctx, o, found)
	}
	if output == node.String {
		return r.joined(found), nil
	}
	if len(found) == 0 {
		return nil, r.unusable("it has no %s", o.Name)
	}
	name, err := r.save(ctx, found[0])
	if err != nil {
		return nil, err
	}
	return &media.Video{File: name}, nil
}

// outputOf returns the first output of the model that has the type.
func (p *model) outputOf(want catalog.NodeOutputType) (catalog.NodeOutput, bool) {
	outputs := p.entry.NodeOutputs()
	i := slices.IndexFunc(outputs, func(o catalog.NodeOutput) bool { return o.Type == want })
	if i < 0 {
		return catalog.NodeOutput{}, false
	}
	return outputs[i], true
}

// joined joins the texts of an answer, one below the other.
func (r *reading) joined(found []any) string {
	var texts []string
	for _, v := range found {
		if text, ok := v.(string); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}
