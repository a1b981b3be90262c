package comfyuitest

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/fault"
)

// prompts tests Submit, Find and Free.
var prompts = map[string]func(*testing.T, *bench){
	"Outputs": func(t *testing.T, b *bench) {
		outcome := b.run(t, b.picture(0x336699))
		require.Len(t, outcome.Outputs["2"].Files, 1)
		saved := outcome.Outputs["2"].Files[0]
		require.Equal(t, comfyui.File{Name: b.name + "_00001_.png", Subfolder: "suite", Type: comfyui.FolderOutput, Kind: "images"}, saved)
		require.Equal(t, comfyui.FolderTemp, outcome.Outputs["3"].Files[0].Type)
		require.Equal(t, []string{b.name}, outcome.Outputs["4"].Texts)
		require.False(t, outcome.StartedAt.IsZero())
		require.False(t, outcome.EndedAt.Before(outcome.StartedAt))
		require.Nil(t, outcome.Err)
	},
	"SampledPicture": func(t *testing.T, b *bench) {
		outcome := b.run(t, b.sample(t, 64, 2))
		require.Len(t, outcome.Outputs["7"].Files, 1)
		picture := b.decode(t, outcome.Outputs["7"].Files[0])
		require.Equal(t, 64, picture.Bounds().Dx())
	},
	"OnlyTargetsRun": func(t *testing.T, b *bench) {
		p := prompt(t, b.picture(2))
		p.Targets = []string{"4"}
		state := b.runAny(t, p)
		require.Equal(t, comfyui.Completed, state.Status)
		require.Len(t, state.Outcome.Outputs, 1)
	},
	"UnknownPrompt": func(t *testing.T, b *bench) {
		state, err := b.Find(b.ctx, comfyui.NewPromptID(uuid.New()))
		require.NoError(t, err)
		require.Equal(t, comfyui.State{Status: comfyui.Unknown}, state)
	},
	"UnknownClassIsRefused": func(t *testing.T, b *bench) {
		refused := b.refused(t, graph{"1": {"NoSuchClass", map[string]any{}}})
		require.Equal(t, "missing_node_type", refused.Err.Type)
		require.Contains(t, string(refused.Err.Extra), "NoSuchClass")
		require.Empty(t, refused.Nodes)
	},
	"GraphWithoutOutputsIsRefused": func(t *testing.T, b *bench) {
		refused := b.refused(t, graph{"1": {"EmptyImage", map[string]any{"width": 64, "height": 64, "batch_size": 1, "color": 0}}})
		require.Equal(t, "prompt_no_outputs", refused.Err.Type)
	},
	"WrongValuesAreRefused": func(t *testing.T, b *bench) {
		g := b.picture(0)
		g["1"].Inputs["width"] = 0
		delete(g["2"].Inputs, "images")
		delete(g, "4") // this output needs neither
		refused := b.refused(t, g)
		require.Equal(t, "prompt_outputs_failed_validation", refused.Err.Type)
		require.Equal(t, "EmptyImage", refused.Nodes["1"].Class)
		require.Equal(t, "value_smaller_than_min", refused.Nodes["1"].Errors[0].Type)
		require.Contains(t, refused.Nodes["1"].Dependent, "3") // the other names depend on the order of validation
		require.Equal(t, "required_input_missing", refused.Nodes["2"].Errors[0].Type)
	},
	"UnknownChoiceIsRefused": func(t *testing.T, b *bench) {
		g := b.sample(t, 64, 1)
		g["1"].Inputs["ckpt_name"] = "absent.safetensors"
		refused := b.refused(t, g)
		found := refused.Nodes["1"].Errors[0]
		require.Equal(t, "value_not_in_list", found.Type)
		require.Contains(t, found.Details, "ckpt_name: 'absent.safetensors' not in ")
	},
	"PartlyValidGraphRuns": func(t *testing.T, b *bench) {
		g := b.picture(3)
		delete(g["2"].Inputs, "images")
		submitted, err := b.Submit(b.ctx, prompt(t, g))
		require.NoError(t, err)
		require.Equal(t, "required_input_missing", submitted.NodeErrors["2"].Errors[0].Type)
		require.Equal(t, "SaveImage", submitted.NodeErrors["2"].Class)
		require.Len(t, submitted.NodeErrors, 1)
	},
	"MalformedIDIsRefusedBeforeItIsSent": func(t *testing.T, b *bench) {
		p := prompt(t, b.picture(0))
		p.ID = "NOT-A-UUID"
		_, err := b.Submit(b.ctx, p)
		require.True(t, fault.Is(err, fault.Invalid))
	},
	"NullWorkflowIsNotSent": func(t *testing.T, b *bench) {
		p := prompt(t, b.picture(4))
		p.Extra = map[string]json.RawMessage{"extra_pnginfo": json.RawMessage(`{"workflow":null,"note":"kept"}`)}
		require.Equal(t, comfyui.Completed, b.runAny(t, p).Status)
	},
	"RepeatedGraphIsAnsweredFromTheCache": func(t *testing.T, b *bench) {
		g := b.sample(t, 64, 1)
		first, second := b.run(t, g), b.run(t, g)
		if len(second.Cached) == 0 { // the cache that another test freed may be dropped only now
			first, second = second, b.run(t, g)
		}
		require.NotContains(t, first.Cached, "5")
		cached := slices.Sorted(slices.Values(second.Cached))
		require.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7"}, cached)
		require.Equal(t, first.Outputs, second.Outputs)
	},
	"RepeatedIDRunsAgain": func(t *testing.T, b *bench) {
		p := prompt(t, b.picture(5))
		f := b.follow(t, p.Client)
		for range 2 {
			_, err := b.Submit(b.ctx, p)
			require.NoError(t, err)
		}
		for range 2 {
			finished, _ := waitFor[comfyui.Finished](t, b.ctx, f)
			require.Equal(t, p.ID, finished.Prompt)
		}
	},
	"NodeErrorIsReported": func(t *testing.T, b *bench) {
		file := b.put(t, "broken-"+b.name+".png", "this is no picture")
		g := graph{
			"1": {"LoadImage", map[string]any{"image": file.Reference()}},
			"2": {"PreviewImage", map[string]any{"images": link("1", 0)}},
		}
		p := prompt(t, g)
		f := b.follow(t, p.Client)
		state := b.runAny(t, p)
		require.Equal(t, comfyui.Failed, state.Status)
		require.Equal(t, "1", state.Outcome.Err.Node)
		require.Equal(t, "LoadImage", state.Outcome.Err.Class)
		require.NotEmpty(t, state.Outcome.Err.Type)
		require.NotEmpty(t, state.Outcome.Err.Message)
		require.NotEmpty(t, state.Outcome.Err.Traceback)
		require.False(t, state.Outcome.Err.OutOfMemory())
		got, _ := waitFor[comfyui.Errored](t, b.ctx, f)
		require.Equal(t, *state.Outcome.Err, got.Err)
	},
	"FreeAndRunAgain": func(t *testing.T, b *bench) {
		b.run(t, b.sample(t, 64, 1))
		require.NoError(t, b.Free(b.ctx))
		for cached := true; cached; { // a prompt that follows immediately may run before the cache is dropped
			cached = slices.Contains(b.run(t, b.sample(t, 64, 1)).Cached, "1")
		}
	},
}

// refused submits a graph that the server refuses.
func (b *bench) refused(t *testing.T, g graph) *comfyui.Refusal {
	t.Helper()
	p := prompt(t, g)
	_, err := b.Submit(b.ctx, p)
	var refusal *comfyui.Refusal
	require.True(t, errors.As(err, &refusal), "%v", err)
	require.Equal(t, fault.CodeServerRefused, fault.CodeOf(err))
	state, err := b.Find(b.ctx, p.ID)
	require.NoError(t, err)
	require.Equal(t, comfyui.Unknown, state.Status)
	return refusal
}
