package comfyuitest

import (
	"bytes"
	"context"
	"errors"
	"image/jpeg"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
)

// following tests Follow.
var following = map[string]func(*testing.T, *bench){
	"EventsOfASampledPicture": func(t *testing.T, b *bench) {
		p := prompt(t, b.sample(t, 64, 3))
		f := b.follow(t, p.Client)
		_, err := b.Submit(b.ctx, p)
		require.NoError(t, err)
		finished, events := waitFor[comfyui.Finished](t, b.ctx, f)
		require.Equal(t, p.ID, finished.Prompt)
		state, err := b.Find(b.ctx, p.ID)
		require.NoError(t, err)
		require.Equal(t, comfyui.Completed, state.Status, "an end that is reported is in the history")

		require.Equal(t, []comfyui.Started{{Prompt: p.ID}}, only[comfyui.Started](events))
		require.Len(t, only[comfyui.Cached](events), 1)
		require.Equal(t, []comfyui.Succeeded{{Prompt: p.ID}}, only[comfyui.Succeeded](events))
		checkNodes(t, p.ID, events)
		checkProgress(t, p.ID, events)
		checkPreviews(t, p.ID, events)

		executed := only[comfyui.Executed](events)
		require.Len(t, executed, 1)
		require.Equal(t, comfyui.Executed{Prompt: p.ID, Node: "7", Display: "7", Output: executed[0].Output}, executed[0])
		require.Equal(t, state.Outcome.Outputs["7"].Files, executed[0].Output.Files)
	},
	"QueueIsReported": func(t *testing.T, b *bench) {
		p := prompt(t, b.picture(6))
		f := b.follow(t, uuid.NewString())
		_, err := b.Submit(b.ctx, p)
		require.NoError(t, err)
		for changed := (comfyui.QueueChanged{}); changed.Remaining == 0; {
			changed, _ = waitFor[comfyui.QueueChanged](t, b.ctx, f)
		}
		for changed := (comfyui.QueueChanged{Remaining: 1}); changed.Remaining > 0; {
			changed, _ = waitFor[comfyui.QueueChanged](t, b.ctx, f)
		}
	},
	"OthersHearNothing": func(t *testing.T, b *bench) {
		p := prompt(t, b.picture(7))
		own, other := b.follow(t, p.Client), b.follow(t, uuid.NewString())
		_, err := b.Submit(b.ctx, p)
		require.NoError(t, err)
		waitFor[comfyui.Finished](t, b.ctx, own)
		select {
		case event := <-other.events:
			require.IsType(t, comfyui.QueueChanged{}, event)
		default:
		}
	},
	"FollowerReattaches": func(t *testing.T, b *bench) {
		p := prompt(t, b.sample(t, 128, 4*b.opts.Steps))
		first := b.follow(t, p.Client)
		_, err := b.Submit(b.ctx, p)
		require.NoError(t, err)
		waitFor[comfyui.Progressed](t, b.ctx, first)
		first.stop()
		require.ErrorIs(t, <-first.ended, context.Canceled)

		second := b.reattach(t, p.Client)
		waitFor[comfyui.Finished](t, b.ctx, second)
		require.Equal(t, comfyui.Completed, b.await(t, p.ID, comfyui.Status.Ended).Status)
	},
	"FollowerEndsWithItsFunction": func(t *testing.T, b *bench) {
		enough := errors.New("enough")
		err := b.Follow(b.ctx, uuid.NewString(), func(comfyui.Event) error { return enough })
		require.ErrorIs(t, err, enough)
	},
}

// checkNodes requires that every node begins once, after the nodes that it reads.
func checkNodes(t *testing.T, id comfyui.PromptID, events []comfyui.Event) {
	t.Helper()
	place := map[string]int{}
	for i, e := range only[comfyui.Executing](events) {
		require.Equal(t, comfyui.Executing{Prompt: id, Node: e.Node, Display: e.Node}, e)
		require.NotContains(t, place, e.Node, "it began twice")
		place[e.Node] = i
	}
	require.Contains(t, place, "5")
	for _, pair := range [][2]string{{"5", "6"}, {"6", "7"}} {
		require.Less(t, place[pair[0]], place[pair[1]])
	}
}

// checkProgress requires that each step is reported, both for the node and in the state of all nodes.
func checkProgress(t *testing.T, id comfyui.PromptID, events []comfyui.Event) {
	t.Helper()
	require.Equal(t, []comfyui.Progressed{
		{Prompt: id, Node: "5", Value: 1, Max: 3}, {Prompt: id, Node: "5", Value: 2, Max: 3}, {Prompt: id, Node: "5", Value: 3, Max: 3},
	}, only[comfyui.Progressed](events))
	states := only[comfyui.ProgressState](events)
	require.NotEmpty(t, states)
	last := states[len(states)-1]
	require.Equal(t, id, last.Prompt)
	require.Equal(t, comfyui.NodeProgress{Value: 3, Max: 3, State: "finished", Display: "5", Real: "5"}, last.Nodes["5"])
	require.Equal(t, "finished", last.Nodes["7"].State)
}

// checkPreviews requires that each step sends a picture that names its node.
func checkPreviews(t *testing.T, id comfyui.PromptID, events []comfyui.Event) {
	t.Helper()
	previews := only[comfyui.Preview](events)
	require.Len(t, previews, 3)
	for _, p := range previews {
		require.Equal(t, comfyui.Preview{Prompt: id, Node: "5", Display: "5", Real: "5", MediaType: "image/jpeg", Image: p.Image}, p)
		_, err := jpeg.Decode(bytes.NewReader(p.Image))
		require.NoError(t, err)
	}
}
