package callable

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
)

// ClassPrefix begins the names of the classes by which graphs call deployments: Deployment.portrait.
const ClassPrefix = "Deployment."

// nodeTypes are the types of values of each kind between nodes. Nodes give pictures, masks, sounds and videos to each other; other files
// have names.
var nodeTypes = map[Kind]node.Type{
	Text: node.String, Integer: node.Int, Number: node.Float, Boolean: node.Boolean, Any: node.Any, Image: node.Image, Mask: node.Mask,
	Audio: node.Audio, Video: node.Video, Model: node.String, File: node.String,
}

// Class returns the class by which graphs call a deployment. Its inputs and outputs are those of the schema.
func Class(deployment string, s *Schema) (*node.Class, error) {
	type widget struct {
		Default   json.RawMessage `json:"default,omitempty"`
		Min       json.Number     `json:"min,omitempty"`
		Max       json.Number     `json:"max,omitempty"`
		Step      json.Number     `json:"step,omitempty"`
		Multiline bool            `json:"multiline,omitempty"`
		Tooltip   string          `json:"tooltip,omitempty"`
	}
	name := ClassPrefix + deployment
	d := node.Definition{
		Name: name, DisplayName: &deployment, Description: fmt.Sprintf("Runs the version of the deployment %s that answers calls.", deployment),
		Category: "deployments", PythonModule: "deployments", InputOrder: node.Order{Required: []string{}},
		OutputIsList: make([]bool, len(s.Outputs)),
	}
	for _, in := range s.Inputs {
		spec := []any{nodeTypes[in.Kind], widget{in.Default, in.Minimum, in.Maximum, in.Step, in.Multiline, in.Description}}
		if in.Kind == Choice {
			spec[0] = in.Choices
		}
		inputs, names := &d.Input.Optional, &d.InputOrder.Optional
		if in.Required() {
			inputs, names = &d.Input.Required, &d.InputOrder.Required
		}
		*inputs, *names = append(*inputs, node.Defined{Name: in.Name, Spec: spec}), append(*names, in.Name)
	}
	for _, out := range s.Outputs {
		made := nodeTypes[out.Kind]
		if made == "" || made == node.String { // a node that shows a text shows any value
			made = node.Any
		}
		d.Output, d.OutputName = append(d.Output, made), append(d.OutputName, out.Name)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	document := remote.ParseDocument("", []string{name}, map[string]json.RawMessage{name: raw})
	all, err := remote.Merge([]*remote.Document{document})
	if len(all) == 0 {
		return nil, errors.Join(err, errors.New(document.Problem()))
	}
	return all[0], nil
}
