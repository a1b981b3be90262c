package remote_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
)

func TestModelFilesThatAServerLacks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class, input, choices, choice string
		want                          []remote.Weight // nil = it lacks nothing
		other                         bool            // it lacks something else
	}{
		"it has the file":            {"Pack", "ckpt_name", `["a.safetensors"]`, "a.safetensors", nil, false},
		"a checkpoint":               {"Pack", "ckpt_name", `[]`, "s/b.pt", []remote.Weight{{"checkpoints", "s/b.pt"}}, false},
		"by the class":               {"CLIPVisionLoader", "clip_name", `[]`, "b.pt", []remote.Weight{{"clip_vision", "b.pt"}}, false},
		"an input that lists models": {"Pack", "depth", `["none","a.onnx"]`, "b.onnx", []remote.Weight{{node.AnyFolder, "b.onnx"}}, false},
		"no model file":              {"Pack", "ckpt_name", `["a.safetensors"]`, "b", nil, true},
		"an input of words":          {"Pack", "sampler", `["euler"]`, "b.safetensors", nil, true},
		"another class":              {"Other", "ckpt_name", `[]`, "b.safetensors", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defined := c.class
			if defined == "Other" {
				defined = "Pack"
			}
			doc := remote.ParseDocument("", []string{defined}, map[string]json.RawMessage{
				defined: json.RawMessage(`{"input":{"required":{"` + c.input + `":[` + c.choices + `]}},"output":["MODEL"]}`),
			})
			missing, ok := doc.MissingWeights(c.class, node.Args{c.input: c.choice})
			require.Equal(t, !c.other, ok)
			require.Equal(t, c.want, missing)
			require.Equal(t, c.want == nil && !c.other, doc.Missing(c.class, node.Args{c.input: c.choice}) == "")
		})
	}
}
