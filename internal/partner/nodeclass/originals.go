package nodeclass

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	calls "github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	"github.com/millrace-dev/millrace/internal/engine/ordered"
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
	Body   map[string]catalog.Expr // member of the request -> its value
	Each   string                  // name of the picture input for each frame of which the model runs once
	Invert []string                // names of masks that are sent with black and white exchanged
	Blank  []string                // names of picture outputs that stay black, since the request does not ask for these pictures
	Names  map[string]string       // the provider's names of choices, which expressions read as input.names
	From   map[string][]string     // by name of an output that is not the model's output of its type: the pointers to its value
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
//
// A class with a sound is left out if there is no tool.
func Originals(s *catalog.Snapshot, served func(*catalog.Model) bool, tool *ffmpeg.Tool) ([]*node.Class, error) {
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
		if len(models) > 0 && (tool != nil || !sounds(definitions[i])) {
			classes = append(classes, o.class(definitions[i], models, tool))
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
func (o original) class(c *node.Class, models map[string]*model, tool *ffmpeg.Tool) *node.Class {
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
		return o.runs(ctx, &exchange{original: o, call: call, models: models, outputs: outputs, tool: tool})
	}
	return c
}

// exchange is one run of a class.
type exchange struct {
	original

	call    *node.Call
	models  map[string]*model
	outputs []node.Output
	tool    *ffmpeg.Tool
}

// runs runs the model, or once for each frame of the input Each; the pictures of the answers then form one batch.
func (o original) runs(ctx context.Context, x *exchange) (node.Result, error) {
	if x.call.Models == nil {
		return node.Result{}, fmt.Errorf("node %s cannot run: this process has no models", x.call.NodeID)
	}
	im, ok := x.call.Args[o.Each].(*raster.Image)
	if !ok || im.Frames() == 1 {
		values, err := x.run(ctx, x.call.Args)
		return node.Result{Outputs: values}, err
	}
	var all []node.Value
	for i := range im.Frames() {
		args := maps.Clone(x.call.Args)
		args[o.Each] = im.Frame(i)
		if mask, ok := args["mask"].(*raster.Mask); ok && mask.Frames() == im.Frames() {
			args["mask"] = mask.Slice(i, 1)
		}
		values, err := x.run(ctx, args)
		if err != nil {
			return node.Result{}, err
		}
		if all, err = x.batched(ctx, all, values); err != nil {
			return node.Result{}, err
		}
	}
	return node.Result{Outputs: all}, nil
}

func (x *exchange) run(ctx context.Context, args node.Args) ([]node.Value, error) {
	body, choice, err := x.body(ctx, args)
	if err != nil {
		return nil, err
	}
	p, ok := x.models[choice]
	if !ok {
		return nil, fault.New(fault.NotFound, fault.Code(calls.ModelNotFound),
			"the model %q of %s is not available: the operator has not configured it", choice, x.Class)
	}
	answer, err := x.call.Models.Run(ctx, p.entry.ID, p.entry.State, body)
	if err != nil {
		return nil, err
	}
	defer answer.Content.Close()
	return x.values(ctx, p, answer)
}

// body writes the model's request, and returns the id of the chosen model. Equal arguments give equal bytes, which
// identify a repeated run.
func (x *exchange) body(ctx context.Context, args node.Args) (body []byte, choice string, err error) {
	input := map[string]any{}
	for name, value := range args {
		if input[name], err = x.written(ctx, name, value, args); err != nil {
			return nil, "", err
		}
		if im, ok := value.(*raster.Image); ok {
			input[name+".width"], input[name+".height"] = im.Width(), im.Height()
		}
	}
	if x.Names != nil {
		input["names"] = x.Names
	}
	scope := catalog.Scope{Input: input}
	if x.Refuse.When.Set() && x.Refuse.When.Holds(scope) {
		return nil, "", fault.New(fault.Invalid, fault.CodeInputType, "%s %s", x.Class, x.Refuse.Says)
	}
	request := map[string]any{}
	for name, e := range x.Body {
		if value := present(e.Eval(scope)); value != nil {
			request[name] = value
		}
	}
	raw, err := ordered.JSON(request)
	if err != nil {
		return nil, "", fault.Wrap(err, fault.Invalid, fault.CodeInputType, "the inputs of %s cannot be written as JSON", x.Class)
	}
	return raw, x.choice(scope), nil
}

// present returns a value without the members that are nil, in nested objects too.
func present(value any) any {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, member any) bool { return member == nil })
		for name, member := range v {
			v[name] = present(member)
		}
	case []any:
		for i, element := range v {
			v[i] = present(element)
		}
	}
	return value
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
