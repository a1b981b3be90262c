package node_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/fault"
)

func run(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }

func definitions(t *testing.T, files node.Files, names ...string) string {
	t.Helper()
	r, err := node.NewRegistry(
		&node.Class{
			Name: "Older", DisplayName: "An older one", Description: "Does things.", Category: "a/b", Module: "nodes", Run: run, OutputNode: true,
			SearchAliases: []string{"thing"}, Deprecated: true,
			Inputs: []node.Input{
				{Name: "zoom", Type: node.Float, Default: 1.0, Min: 0.0, Max: 8, Step: 0.25, Round: false, Display: "slider", Tooltip: "How near."},
				{Name: "count", Type: node.Int, Default: 1, Min: 0, Max: 10, Control: true},
				{Name: "pick", Type: node.Combo, Options: []string{"a", "b"}, Default: "b"},
				{Name: "file", Type: node.Combo, Folder: node.FolderInput, Extra: map[string]any{"image_upload": true}},
				{Name: "text", Type: node.String, Section: node.Optional, Default: "", Multiline: true, DynamicPrompts: true, Placeholder: "say"},
				{Name: "late", Type: node.Image, Section: node.Optional, Lazy: true, ForceInput: true, Advanced: true},
				{Name: "prompt", Type: "PROMPT", Section: node.Hidden},
			},
			Outputs: []node.Output{{Type: node.Image, Name: "picture", Tooltip: "The result."}, {Type: node.Mask, IsList: true}},
		},
		&node.Class{
			Name: "Newer", Category: "c", Module: "comfy_extras.nodes_new", Run: run, Experimental: true, InputIsList: true,
			Inputs: []node.Input{
				{Name: "pick", Type: node.Combo, Options: []string{"a"}, Tooltip: "Which."},
				{Name: "any", Type: "COMFY_MATCHTYPE_V3", MatchTemplate: "t"},
				{Name: "id", Type: "UNIQUE_ID", Section: node.Hidden},
			},
			Outputs: []node.Output{{Type: node.Int, Tooltip: "How many."}, {Type: "COMFY_MATCHTYPE_V3", Name: "same", MatchTemplate: "t"}},
		},
		&node.Class{
			Name: "Plain", Module: "comfy_extras.nodes_new", SearchAliases: []string{"simple"}, Run: run,
			Outputs: []node.Output{{Type: node.Int}},
		},
	)
	require.NoError(t, err)
	defs, err := r.Definitions(t.Context(), files, names...)
	require.NoError(t, err)
	raw, err := json.Marshal(defs)
	require.NoError(t, err)
	return string(raw)
}

// A combo with an upload button for a kind of file offers files of that kind.
func TestCombosOfferFilesOfTheirKind(t *testing.T) {
	t.Parallel()
	files := nodetest.NewFiles()
	files.Saved["SONG.MP3"], files.Saved["film.mp4"], files.Saved["notes"] = nil, nil, nil
	for extra, want := range map[string]string{
		"image_upload": `["picture.png","video.gif"]`,
		"audio_upload": `["SONG.MP3","film.mp4","sound.wav"]`,
		"video_upload": `["film.mp4"]`,
		"other":        `["SONG.MP3","film.mp4","notes","picture.png","sound.wav","video.gif"]`,
	} {
		r, err := node.NewRegistry(&node.Class{
			Name: "Loads", Run: func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil },
			Inputs:  []node.Input{{Name: "file", Type: node.Combo, Folder: node.FolderInput, Extra: map[string]any{extra: true}}},
			Outputs: []node.Output{{Type: node.Image}}, Module: "nodes",
		})
		require.NoError(t, err)
		defs, err := r.Definitions(t.Context(), files)
		require.NoError(t, err)
		raw, err := json.Marshal(defs)
		require.NoError(t, err)
		require.Contains(t, string(raw), `"file":[`+want+`,`, extra)
	}
}

func TestDefinitionsAreInTheFormOfTheirSchema(t *testing.T) {
	t.Parallel()
	const older = `"Older":{"input":{"required":{` +
		`"zoom":["FLOAT",{"default":1.0,"display":"slider","max":8,"min":0.0,"round":false,"step":0.25,"tooltip":"How near."}],` +
		`"count":["INT",{"control_after_generate":true,"default":1,"max":10,"min":0}],` +
		`"pick":[["a","b"],{"default":"b"}],"file":[["picture.png","video.gif"],{"image_upload":true}]},` +
		`"optional":{"text":["STRING",{"default":"","dynamicPrompts":true,"multiline":true,"placeholder":"say"}],` +
		`"late":["IMAGE",{"advanced":true,"forceInput":true,"lazy":true}]},"hidden":{"prompt":"PROMPT"}},` +
		`"input_order":{"required":["zoom","count","pick","file"],"optional":["text","late"],"hidden":["prompt"]},` +
		`"is_input_list":false,"output":["IMAGE","MASK"],"output_is_list":[false,true],"output_name":["picture","MASK"],` +
		`"output_tooltips":["The result.",""],"name":"Older","display_name":"An older one","description":"Does things.",` +
		`"python_module":"nodes","category":"a/b","output_node":true,"has_intermediate_output":false,"search_aliases":["thing"],` +
		`"deprecated":true}`
	const newer = `"Newer":{"input":{"required":{` +
		`"pick":["COMBO",{"multiselect":false,"options":["a"],"tooltip":"Which."}],` +
		`"any":["COMFY_MATCHTYPE_V3",{"template":{"allowed_types":"*","template_id":"t"}}]},"hidden":{"id":["UNIQUE_ID"]}},` +
		`"input_order":{"required":["pick","any"],"hidden":["id"]},"is_input_list":true,` +
		`"output":["INT","COMFY_MATCHTYPE_V3"],"output_is_list":[false,false],"output_name":["INT","same"],` +
		`"name":"Newer","display_name":null,"description":"","python_module":"comfy_extras.nodes_new","category":"c","output_node":false,` +
		`"has_intermediate_output":false,"output_tooltips":["How many.",null],"output_matchtypes":[null,"t"],"search_aliases":null,` +
		`"deprecated":false,"experimental":true,"dev_only":false,"api_node":false,"price_badge":null,"essentials_category":null}`
	const plain = `"Plain":{"input":{"required":{}},"input_order":{"required":[]},"is_input_list":false,` +
		`"output":["INT"],"output_is_list":[false],"output_name":["INT"],` +
		`"name":"Plain","display_name":null,"description":"","python_module":"comfy_extras.nodes_new","category":"","output_node":false,` +
		`"has_intermediate_output":false,"output_tooltips":[null],"output_matchtypes":null,"search_aliases":["simple"],` +
		`"deprecated":false,"experimental":false,"dev_only":false,"api_node":false,"price_badge":null,"essentials_category":null}`
	require.Equal(t, "{"+older+","+newer+","+plain+"}", definitions(t, nodetest.NewFiles()))
	require.Equal(t, "{"+newer+"}", definitions(t, nodetest.NewFiles(), "Unknown", "Newer"))
	require.Contains(t, definitions(t, nil), `"file":[[],{"image_upload":true}]`)
}

// away is a node.Files whose List fails.
type away struct{ node.Files }

func (away) List(context.Context, node.Folder, int) ([]string, error) {
	return nil, fault.New(fault.Unavailable, "", "away")
}

func TestDefinitionsFailWhenFilesCannotBeListed(t *testing.T) {
	t.Parallel()
	r, err := node.NewRegistry(&node.Class{Name: "L", Run: run, Inputs: []node.Input{{Name: "f", Type: node.Combo, Folder: node.FolderInput}}})
	require.NoError(t, err)
	_, err = r.Definitions(t.Context(), away{})
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
}

func TestRegistryRefusesMalformedClasses(t *testing.T) {
	t.Parallel()
	good := node.Class{Name: "A", Run: run}
	for name, classes := range map[string][]*node.Class{
		"nil run":        {{Name: "A"}},
		"no name":        {{Run: run}},
		"twice":          {&good, &good},
		"untyped input":  {{Name: "A", Run: run, Inputs: []node.Input{{Name: "x"}}}},
		"repeated input": {{Name: "A", Run: run, Inputs: []node.Input{{Name: "x", Type: "T"}, {Name: "x", Type: "T"}}}},
		"untyped output": {{Name: "A", Run: run, Outputs: []node.Output{{}}}},
	} {
		_, err := node.NewRegistry(classes...)
		require.Error(t, err, name)
	}
}
