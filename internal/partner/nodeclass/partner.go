// Package nodeclass makes a node class of each model in the catalog. The inputs of the class come from the model's
// input schema, its outputs from the entry. A class writes the request and reads the answer. node.Models makes the
// call and ensures that it is paid for once.
package nodeclass

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// prefix is the prefix of the names of all classes of models, so that no name collides with that of a native class.
const prefix = "Partner_"

// Name returns the name of a model's class: for "bfl/flux-2-pro", Partner_bfl_flux-2-pro. It depends on the id alone.
func Name(model string) string {
	provider, name, _ := strings.Cut(model, "/")
	return prefix + provider + "_" + strings.ReplaceAll(name, "/", "_") // the name may contain a variant
}

// Classes returns the classes of all models of a snapshot, in the order of their ids. missing returns the variables that the
// operator has not set for a model.
func Classes(s *catalog.Snapshot, missing func(*catalog.Model) []string) ([]*node.Class, error) {
	classes := make([]*node.Class, 0, len(s.Models()))
	for _, m := range s.Models() {
		c, err := Class(m)
		if err != nil {
			return nil, err
		}
		c.Lacks = missing(m)
		classes = append(classes, c)
	}
	return classes, nil
}

// Class returns the class of one model. The class keeps this state of the model: after a reload of the catalog, it
// still writes the request against which its graph was checked.
func Class(m *catalog.Model) (*node.Class, error) {
	list, err := fields(m)
	if err != nil {
		return nil, fmt.Errorf("inputs of the node of %s: %w", m.ID, err)
	}
	p := &model{entry: m, fields: list}
	c := &node.Class{
		Name: Name(m.ID), DisplayName: m.Title, Category: "api node/" + m.Provider,
		Module:      "comfy_api_nodes.nodes_" + strings.ReplaceAll(m.Provider, "-", "_"),
		Description: describe(m), Partner: true, Uncached: m.Node.Uncached,
		Inputs: p.inputs(), SearchAliases: []string{m.ID},
		Cost:   func(node.Args, int64) time.Duration { return m.Limits.Total },
		Pixels: func(_ node.Args, upstream int64) int64 { return max(upstream, answerPixels) },
		Run:    p.run,
	}
	for _, o := range m.NodeOutputs() {
		out := node.Output{Name: o.Name, Type: node.String, IsList: o.Several()}
		if o.Type == catalog.NodeImage {
			out.Type, out.IsList = node.Image, false // several pictures form one batch
		} else {
			c.OutputNode = true // a file or a text is a result even if no node reads it
		}
		c.Outputs = append(c.Outputs, out)
	}
	return c, nil
}

// answerPixels is the assumed size of a model's result while a job is planned: four pictures of four megapixels.
const answerPixels = 16 << 20

func describe(m *catalog.Model) string {
	text := "Runs the model " + m.ID + " at its provider. Each run is charged once."
	if m.Docs != "" {
		text += " The inputs are documented at " + m.Docs
	}
	return text
}

// model runs the calls of one class.
type model struct {
	entry  *catalog.Model
	fields []field
}

// bodyInput is the only input of a model without a schema.
const bodyInput = "body"

func (p *model) inputs() []node.Input {
	if len(p.fields) == 0 {
		return []node.Input{{
			Name: bodyInput, Type: node.String, Default: "{}", Multiline: true, Tooltip: "The request, a JSON object, as the provider documents it.",
		}}
	}
	inputs := make([]node.Input, len(p.fields))
	for i, f := range p.fields {
		inputs[i] = f.input
	}
	return inputs
}

func (p *model) run(ctx context.Context, call *node.Call) (node.Result, error) {
	if call.Models == nil {
		return node.Result{}, fmt.Errorf("node %s cannot run: this process has no models", call.NodeID)
	}
	body, err := p.body(ctx, call.Args)
	if err != nil {
		return node.Result{}, err
	}
	answer, err := call.Models.Run(ctx, p.entry.ID, p.entry.State, body)
	if err != nil {
		return node.Result{}, err
	}
	defer answer.Content.Close()
	return p.result(ctx, call, answer)
}
