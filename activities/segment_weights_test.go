package activities_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
)

// named are the model files that a workflow names.
type named struct {
	activities.WeightSources
	models []uiworkflow.Model
}

func (n named) Models(map[string]json.RawMessage) []uiworkflow.Model { return n.models }

// weights are the files of an account that has these weights.
type weights struct {
	noFiles
	stored []string
}

func (w weights) List(context.Context, node.Folder, int) ([]string, error) { return w.stored, nil }

// A model file is fetched if a node chooses it, its workflow says where it is, and neither a server nor the account has it.
func TestModelFilesThatAreFetched(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Load", Module: "nodes", Run: func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil },
		Inputs: []node.Input{{Name: "file", Type: node.Combo, Options: []string{"offered.safetensors"}, Weights: "loras"}},
	}
	b := newBench(t, `{}`, nil, class)
	b.activities.Files = func(job.RunRef, string) activities.NodeFiles {
		return weights{stored: []string{"loras/stored.safetensors"}}
	}
	var sources named
	for _, m := range []uiworkflow.Model{{Name: "absent"}, {Name: "stored"}, {Name: "offered"}, {Name: "elsewhere", Folder: "vae"}} {
		if m.Name += ".safetensors"; m.Folder == "" {
			m.Folder = "loras"
		}
		sources.models = append(sources.models, m)
	}
	for choice, fetched := range map[string]bool{"absent": true, "stored": false, "offered": false, "elsewhere": false, "unknown": false} {
		choice += ".safetensors"
		names := b.activities.AbsentWeights(t.Context(), sources, "Load", node.Args{"file": choice})
		require.Equal(t, fetched, len(names) == 1, "%s: %v", choice, names)
	}
}
