package job

import (
	"encoding/json"
	"errors"
	"path"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
)

// withSources adds to the refusal of a model file that is nowhere where it could come from, if the drawing of the submission says so.
func withSources(err error, extra map[string]json.RawMessage) error {
	var refused *graph.PromptError
	var info struct {
		Workflow json.RawMessage `json:"workflow"`
	}
	if !errors.As(err, &refused) || json.Unmarshal(extra["extra_pnginfo"], &info) != nil {
		return err
	}
	models := uiworkflow.Models(info.Workflow)
	for _, n := range refused.NodeErrors {
		for i := range n.Errors {
			e := &n.Errors[i]
			choice, _ := e.ExtraInfo["received_value"].(string)
			for _, m := range models {
				if e.Type != "value_not_in_list" || m.Name != choice && m.Name != path.Base(choice) {
					continue
				}
				e.Details += "; the workflow says that the file is at " + m.URL
				if m.Folder != "" {
					e.Details += " and belongs in the folder " + m.Folder
				}
				e.ExtraInfo["source"] = m
				break
			}
		}
	}
	return err
}
