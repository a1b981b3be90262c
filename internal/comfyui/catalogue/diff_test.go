package catalogue_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui/catalogue"
)

const scale = `{"input":{
	"required":{"image":["IMAGE"],"method":[["area","lanczos"],{"tooltip":"how"}],"width":["INT",{"default":512,"min":0,"max":16384}]},
	"optional":{"mask":["MASK"]}},
	"output":["IMAGE"],"output_is_list":[false],"output_node":false,"display_name":"Scale"}`

func TestTextsAndSpellingsAreNotCompared(t *testing.T) {
	t.Parallel()
	found, err := catalogue.Diff(json.RawMessage(scale), json.RawMessage(`{"input":{
		"required":{"image":["IMAGE",{"tooltip":"x"}],"method":["COMBO",{"options":["lanczos","area"]}],"width":["INT",{"default":512.0,`+
		`"min":0,"max":16384}]},
		"optional":{"mask":["MASK"]}},
		"output":["IMAGE"],"output_is_list":[false],"output_node":false,"display_name":"Scale it"}`))
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestDifferencesOfAClass(t *testing.T) {
	t.Parallel()
	found, err := catalogue.Diff(json.RawMessage(scale), json.RawMessage(`{"input":{
		"required":{"image":["IMAGE"],"method":[["area","bicubic"]],"width":["INT",{"default":512,"min":1}],"mask":["MASK"],"crop":["BOOLEAN"]}},
		"output":["IMAGE","MASK"],"output_is_list":[false,false],"output_node":true}`))
	require.NoError(t, err)
	require.Equal(t, []catalogue.Difference{
		{What: "outputs", Native: "[IMAGE]", Server: "[IMAGE MASK]"},
		{What: "outputs that are lists", Native: "[false]", Server: "[false false]"},
		{What: "is an output node", Native: "false", Server: "true"},
		{What: "input crop", Native: "", Server: "required BOOLEAN"},
		{What: "input mask: section", Native: "optional", Server: "required"},
		{What: "input method: choices", Native: "lanczos", Server: "bicubic"},
		{What: "input width: min", Native: "0", Server: "1"},
		{What: "input width: max", Native: "16384", Server: ""},
	}, found)
}

func TestFileNamesAreNotCompared(t *testing.T) {
	t.Parallel()
	found, err := catalogue.Diff(
		json.RawMessage(`{"input":{"required":{"image":[["a.png"],{"image_upload":true}]}}}`),
		json.RawMessage(`{"input":{"required":{"image":[["b.png"],{"image_upload":true}]}}}`))
	require.NoError(t, err)
	require.Empty(t, found)
}
