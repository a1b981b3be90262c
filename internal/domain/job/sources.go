package job

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
)

// offering lists model files that will be fetched when a job needs them, as weights of the account.
type offering struct {
	node.Files
	models []uiworkflow.Model
}

// List implements node.Files.
func (o offering) List(ctx context.Context, folder node.Folder, limit int) ([]string, error) {
	names, err := o.Files.List(ctx, folder, limit)
	if err != nil || folder != node.FolderModels {
		return names, err
	}
	names = slices.Clone(names)
	for _, m := range o.models {
		names = append(names, m.Folder+"/"+m.Name)
	}
	return names, nil
}

// withSources adds to the refusal of a model file that is nowhere where it could come from, if the drawing of the submission says so.
func withSources(err error, extra map[string]json.RawMessage) error {
	var refused *graph.PromptError
	if !errors.As(err, &refused) {
		return err
	}
	models := uiworkflow.ModelsOf(extra)
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
				e.Details += "; an operator can put it there, or allow its address in MILLRACE_WEIGHT_SOURCES"
				e.ExtraInfo["source"] = m
				break
			}
		}
	}
	return err
}
