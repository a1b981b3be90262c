package remote_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
)

// strange is a class whose declarations go beyond plain inputs.
const strange = `{
	"input": {
		"required": {
			"model": ["MODEL", {"tooltip": "What samples.", "rawLink": true}],
			"ckpt_name": [["a.safetensors", "b.safetensors"], {"tooltip": "A file."}],
			"mode": ["COMBO", {"options": ["fast", "fine"], "multiselect": false, "tooltip": "How."}],
			"strength": ["FLOAT", {"default": 1.0, "min": -10.0, "max": 10.0, "step": 0.01, "round": 0.001, "display": "slider"}],` +
	`
			"voice": ["COMBO", {"remote": {"route": "/proxy/voices", "refresh_button": true}, "multiselect": true}],
			"format": ["COMFY_DYNAMICCOMBO_V3", {"options": [
				{"key": "auto", "inputs": {"required": {}}},
				{"key": "model", "inputs": {"required": {"name": ["COMBO", {"options": ["x"]}]}, "optional": {"crf": ["FLOAT", {"default": ` +
	`23.0}]}}}
			]}],
			"values": ["COMFY_AUTOGROW_V3", {"template": {"input": {"required": {"value": ["COMFY_MATCHTYPE_V3", {"template": {"template_id": ` +
	`"T", "allowed_types": "IMAGE,MASK"}}]}}, "prefix": "value", "min": 1, "max": 10}}]
		},
		"optional": {"image": ["COMBO", {"image_upload": true, "options": ["of-the-server.png", "none"], "tooltip": "A picture."}]},` +
	`
		"hidden": {"prompt": "PROMPT", "unique_id": ["UNIQUE_ID"], "token": "AUTH_TOKEN_COMFY_ORG"}
	},
	"input_order": {"required": ["model", "ckpt_name"], "optional": ["image"], "hidden": ["prompt"]},
	"is_input_list": false, "output": ["COMFY_MATCHTYPE_V3", ["one", "two"]], "output_is_list": [false, false],
	"output_name": ["out", "choice"], "output_tooltips": ["What comes out.", null], "output_matchtypes": ["T", null],
	"name": "Strange", "display_name": "Strange Node", "description": "Does \u00e9verything <b>strange</b> & more.",
	"python_module": "custom_nodes.strange", "category": "strange/things", "output_node": true, "has_intermediate_output": ` +
	`false,
	"search_aliases": ["odd"], "deprecated": true, "experimental": true, "dev_only": false, "api_node": true,
	"price_badge": {"engine": "jsonata", "expr": "{\"usd\": 1.0}"}, "essentials_category": "Basics", "of_a_newer_version": ` +
	`{"kept": [1, 2.50]}
}`

// define returns the definition that clients read of the only class of the servers with these definitions.
func define(t *testing.T, files node.Files, written ...string) string {
	t.Helper()
	var documents []*remote.Document
	for _, raw := range written {
		d := remote.ParseDocument(raw, []string{"Strange"}, map[string]json.RawMessage{"Strange": json.RawMessage(raw)})
		require.Empty(t, d.LeftOut)
		documents = append(documents, d)
	}
	classes, err := remote.Merge(documents)
	require.NoError(t, err)
	registry, err := node.NewRegistry(classes...)
	require.NoError(t, err)
	definitions, err := registry.Definitions(t.Context(), files)
	require.NoError(t, err)
	raw, err := json.Marshal(definitions)
	require.NoError(t, err)
	var byName map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &byName))
	return string(byName["Strange"])
}

// with returns a definition with changes.
func with(t *testing.T, change func(definition map[string]any)) string {
	t.Helper()
	var definition map[string]any
	require.NoError(t, json.Unmarshal([]byte(strange), &definition))
	change(definition)
	raw, err := json.Marshal(definition)
	require.NoError(t, err)
	return string(raw)
}

func inputs(definition map[string]any, section string) map[string]any {
	return definition["input"].(map[string]any)[section].(map[string]any)
}

// mine are the account's files.
type mine struct{ *nodetest.Files }

func (mine) List(context.Context, node.Folder, int) ([]string, error) {
	return []string{"mine.png", "mine.txt"}, nil
}

func TestClientsReadTheDefinitionOfTheServer(t *testing.T) {
	t.Parallel()
	want := with(t, func(d map[string]any) {
		inputs(d, "optional")["image"].([]any)[1].(map[string]any)["options"] = []any{"none", "mine.png"}
	})
	require.JSONEq(t, want, define(t, mine{nodetest.NewFiles()}, strange), "all but the choice of files, which are the account's")
	require.JSONEq(t, want, define(t, mine{nodetest.NewFiles()}, strange, strange), "of two servers that say the same, too")
}

func TestChoicesAreThoseOfAllServers(t *testing.T) {
	t.Parallel()
	other := with(t, func(d map[string]any) {
		required := inputs(d, "required")
		required["ckpt_name"].([]any)[0] = []any{"c.safetensors", "a.safetensors"}
		required["mode"].([]any)[1].(map[string]any)["options"] = []any{"best"}
		required["format"].([]any)[1].(map[string]any)["options"] = []any{
			map[string]any{"key": "model", "inputs": map[string]any{"required": map[string]any{"name": []any{
				"COMBO",
				map[string]any{"options": []any{"y"}},
			}}}},
			map[string]any{"key": "raw", "inputs": map[string]any{"required": map[string]any{}}},
		}
		inputs(d, "optional")["image"].([]any)[1].(map[string]any)["options"] = []any{"of-the-other.png"}
		d["description"] = "of another version"
	})
	want := with(t, func(d map[string]any) {
		required := inputs(d, "required")
		required["ckpt_name"].([]any)[0] = []any{"a.safetensors", "b.safetensors", "c.safetensors"}
		required["mode"].([]any)[1].(map[string]any)["options"] = []any{"fast", "fine", "best"}
		format := required["format"].([]any)[1].(map[string]any)
		alternatives := format["options"].([]any)
		second := alternatives[1].(map[string]any)["inputs"].(map[string]any)["required"].(map[string]any)
		second["name"].([]any)[1] = map[string]any{"options": []any{"x", "y"}}
		format["options"] = append(alternatives, map[string]any{"key": "raw", "inputs": map[string]any{"required": map[string]any{}}})
		inputs(d, "optional")["image"].([]any)[1].(map[string]any)["options"] = []any{"none", "mine.png"}
	})
	require.JSONEq(t, want, define(t, mine{nodetest.NewFiles()}, strange, other))
}

// An error about a value contains the input as the server declares it.
func TestInputsKeepTheirDeclaration(t *testing.T) {
	t.Parallel()
	d := remote.ParseDocument("", []string{"Strange"}, map[string]json.RawMessage{"Strange": json.RawMessage(strange)})
	require.Empty(t, d.LeftOut)
	classes, err := remote.Merge([]*remote.Document{d})
	require.NoError(t, err)
	for name, want := range map[string]string{
		"strength":  `["FLOAT", {"default": 1.0, "min": -10.0, "max": 10.0, "step": 0.01, "round": 0.001, "display": "slider"}]`,
		"mode":      `["COMBO", {"options": ["fast", "fine"], "multiselect": false, "tooltip": "How."}]`,
		"ckpt_name": `[["a.safetensors", "b.safetensors"], {"tooltip": "A file."}]`,
	} {
		in, ok := classes[0].Input(name)
		require.True(t, ok)
		raw, err := json.Marshal(in.Spec(in.Options, false))
		require.NoError(t, err)
		require.JSONEq(t, want, string(raw))
	}
}
