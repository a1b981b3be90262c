package comfyuitest

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
)

// cancelling tests Cancel.
var cancelling = map[string]func(*testing.T, *bench){
	"RunningPrompt": func(t *testing.T, b *bench) {
		p := prompt(t, b.long(t))
		f := b.follow(t, p.Client)
		_, err := b.Submit(b.ctx, p)
		require.NoError(t, err)
		waitFor[comfyui.Progressed](t, b.ctx, f)
		cancelled, err := b.Cancel(b.ctx, p.ID)
		require.NoError(t, err)
		require.True(t, cancelled)
		got, _ := waitFor[comfyui.Interrupted](t, b.ctx, f)
		require.Equal(t, comfyui.Interrupted{Prompt: p.ID, Node: "5"}, got)
		state := b.await(t, p.ID, comfyui.Status.Ended)
		require.Equal(t, comfyui.Cancelled, state.Status)
		require.Nil(t, state.Outcome.Err)
	},
	"WaitingPrompt": func(t *testing.T, b *bench) {
		running, waiting := prompt(t, b.long(t)), prompt(t, b.picture(8))
		for _, p := range []comfyui.Prompt{running, waiting} {
			_, err := b.Submit(b.ctx, p)
			require.NoError(t, err)
		}
		b.await(t, running.ID, is(comfyui.Running))
		state, err := b.Find(b.ctx, waiting.ID)
		require.NoError(t, err)
		require.Equal(t, comfyui.State{Status: comfyui.Pending}, state)
		cancelled, err := b.Cancel(b.ctx, waiting.ID)
		require.NoError(t, err)
		require.True(t, cancelled)
		state, err = b.Find(b.ctx, waiting.ID)
		require.NoError(t, err)
		require.Equal(t, comfyui.Unknown, state.Status)
		require.Equal(t, comfyui.Completed, b.await(t, running.ID, comfyui.Status.Ended).Status, "another prompt was cancelled")
	},
	"PromptOfSomebodyElse": func(t *testing.T, b *bench) {
		p := prompt(t, b.long(t))
		_, err := b.Submit(b.ctx, p)
		require.NoError(t, err)
		b.await(t, p.ID, is(comfyui.Running))
		cancelled, err := b.Cancel(b.ctx, comfyui.NewPromptID(uuid.New()))
		require.NoError(t, err)
		require.False(t, cancelled)
		require.Equal(t, comfyui.Completed, b.await(t, p.ID, comfyui.Status.Ended).Status)
	},
	"EndedPrompt": func(t *testing.T, b *bench) {
		p := prompt(t, b.picture(9))
		require.Equal(t, comfyui.Completed, b.runAny(t, p).Status)
		cancelled, err := b.Cancel(b.ctx, p.ID)
		require.NoError(t, err)
		require.False(t, cancelled)
	},
	"PromptThatIsThereTwice": func(t *testing.T, b *bench) {
		before, p := prompt(t, b.long(t)), prompt(t, b.picture(10))
		_, err := b.Submit(b.ctx, before)
		require.NoError(t, err)
		b.await(t, before.ID, is(comfyui.Running))
		for range 2 {
			_, err := b.Submit(b.ctx, p)
			require.NoError(t, err)
		}
		cancelled, err := b.Cancel(b.ctx, p.ID)
		require.NoError(t, err)
		require.True(t, cancelled)
		queue, err := b.Queue(b.ctx)
		require.NoError(t, err)
		for _, entry := range slices.Concat(queue.Running, queue.Pending) {
			require.NotEqual(t, p.ID, entry.ID)
		}
		_, err = b.Cancel(b.ctx, before.ID)
		require.NoError(t, err)
		b.await(t, before.ID, comfyui.Status.Ended)
	},
}
