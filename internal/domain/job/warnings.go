package job

import (
	"encoding/json"
	"slices"
)

// Warning is something that the user of a job that succeeded should know.
type Warning struct {
	Code    string `json:"code"`
	Node    string `json:"node_id"`
	Message string `json:"message"`
}

// WarnNoOutput is the code of a warning about an output node without a file or a text.
const WarnNoOutput = "no_output"

// Warnings returns the warnings of a job that succeeded: its output nodes that left nothing which a client can fetch.
func (j Job) Warnings() []Warning {
	if j.State != Succeeded {
		return nil
	}
	var all []Warning
	for _, target := range j.Targets {
		if !slices.ContainsFunc(j.Outputs, func(o NodeOutput) bool { return o.ShowsFor(target) }) {
			all = append(all, Warning{WarnNoOutput, target, "the node left no file and no text that can be fetched"})
		}
	}
	return all
}

// ShowsFor reports whether an output has a file or an element and belongs to a node of the graph.
func (o NodeOutput) ShowsFor(target string) bool {
	if _, _, root := o.Within.Places(o.Node); root != target {
		return false
	}
	var members map[string]json.RawMessage
	if len(o.Files) > 0 || json.Unmarshal(o.UI, &members) != nil {
		return true
	}
	for _, raw := range members {
		if text := string(raw); text != "[]" && text != "null" {
			return true
		}
	}
	return false
}
