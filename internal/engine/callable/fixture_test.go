package callable_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	"github.com/millrace-dev/millrace/internal/engine/ordered"
)

// definitions are the classes of the tests, as a server defines them.
const definitions = `{
	"Load": {"input": {"required": {"image": [["example.png", "none"], {"image_upload": true}]}}, "output": ["IMAGE", "MASK"],
		"display_name": "Load Image"},
	"LoadMask": {"input": {"required": {"image": [["m.png"], {"image_upload": true}]}}, "output": ["MASK"]},
	"LoadSound": {"input": {"required": {"audio": ["COMBO", {"audio_upload": true, "options": []}]}}, "output": ["AUDIO"]},
	"Text": {"input": {"required": {"text": ["STRING", {"multiline": true, "tooltip": "What to draw."}], "clip": ["CLIP"]}},
		"output": ["CONDITIONING"], "display_name": "Encode Text"},
	"Volume": {"input": {"required": {"audio": ["AUDIO"], "volume": ["INT", {"default": 1, "min": -100, "max": 100}]}}, "output": ["AUDIO"],
		"display_name": "Adjust Volume"},
	"Sample": {"input": {"required": {
		"seed": ["INT", {"default": 0, "min": 0, "max": 18446744073709551615, "control_after_generate": true}],
		"steps": ["INT", {"default": 20, "min": 1, "max": 100, "step": 1}],
		"cfg": ["FLOAT", {"default": 8.0, "min": 0.0, "max": 30.0, "step": 0.1}],
		"sampler_name": [["euler", "heun"]], "weights": [["a.safetensors"]],
		"tiled": ["BOOLEAN", {"default": false}], "curve": ["CURVE", {"default": {"points": []}}],
		"free": ["FLOAT", {}], "count": ["INT", {"default": 3}],
		"mode": ["COMFY_DYNAMICCOMBO_V3", {"options": [
			{"key": "plain", "inputs": {"required": {}}},
			{"key": "fine", "inputs": {"required": {"strength": ["FLOAT", {"default": 1.0, "min": 0.0, "max": 2.0}]}}},
			{"key": "other", "inputs": {"required": {"size": ["INT", {"default": 1}]}}}]}],
		"positive": ["CONDITIONING"]}, "optional": {"image": ["IMAGE"], "mask": ["MASK"]}}, "output": ["IMAGE"], "display_name": "Sample"},
	"Save": {"input": {"required": {"images": ["IMAGE"], "filename_prefix": ["STRING", {"default": "ComfyUI"}]}}, "output": [],
		"output_node": true, "display_name": "Save Image"},
	"SaveSound": {"input": {"required": {"audio": ["AUDIO"], "filename_prefix": ["STRING", {"default": "audio"}]}}, "output": [],
		"output_node": true},
	"Show": {"input": {"required": {"source": ["*"]}}, "output": [], "output_node": true, "display_name": "Preview"}
}`

func registry(t testing.TB, definitions string) *node.Registry {
	t.Helper()
	members, err := ordered.Members(json.RawMessage(definitions))
	require.NoError(t, err)
	var names []string
	byName := map[string]json.RawMessage{}
	for _, m := range members {
		names, byName[m.Name] = append(names, m.Name), m.Raw
	}
	document := remote.ParseDocument("test", names, byName)
	require.Empty(t, document.LeftOut)
	classes, err := remote.Merge([]*remote.Document{document})
	require.NoError(t, err)
	r, err := node.NewRegistry(classes...)
	require.NoError(t, err)
	return r
}

// plain is a graph in API format.
const plain = `{
	"1": {"class_type": "Load", "inputs": {"image": "example.png"}},
	"2": {"class_type": "Text", "inputs": {"text": "a mill", "clip": ["1", 0]}, "_meta": {"title": "Positive"}},
	"3": {"class_type": "Sample", "inputs": {"seed": 7, "steps": 20, "cfg": 8, "sampler_name": "euler", "weights": "gone.safetensors",
		"tiled": false, "curve": {"__value__": [1, 2]}, "free": 0.5, "count": 3, "mode": "fine", "mode.strength": 1, "positive": ["2", 0]}},
	"4": {"class_type": "Save", "inputs": {"images": ["3", 0], "filename_prefix": "mill"}},
	"5": {"class_type": "Text", "inputs": {"text": "nobody reads this", "clip": ["1", 0]}}}`

// every names an input of each kind of the plain graph.
var every = callable.Named{Inputs: []string{
	"picture=1.image", "prompt=2.text", "seed=3.seed", "steps=3.steps", "cfg=3.cfg", "sampler=3.sampler_name", "weights=3.weights",
	"tiled=3.tiled", "curve=3.curve", "free=3.free", "count=3.count", "mode=3.mode",
}, Outputs: []string{"result=4"}}

func derive(t testing.TB, document string, named callable.Named) *callable.Derived {
	t.Helper()
	d, err := callable.Derive([]byte(document), graph.Limits{}, registry(t, definitions), named)
	require.NoError(t, err)
	return d
}

// inputs returns the names of the inputs with their kinds and targets.
func inputs(s *callable.Schema) map[string]string {
	all := map[string]string{}
	for _, in := range s.Inputs {
		text := string(in.Kind)
		for _, target := range in.Targets {
			text += " " + target.Node + "." + target.Input
		}
		all[in.Name] = text
	}
	return all
}

// outputs returns the names of the outputs with their kinds and nodes.
func outputs(s *callable.Schema) map[string]string {
	all := map[string]string{}
	for _, out := range s.Outputs {
		all[out.Name] = string(out.Kind) + " " + out.Node
	}
	return all
}
