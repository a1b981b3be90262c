// Package comfyuitest is the conformance suite of comfyui.Server. It runs on the simulator in every test run, and on
// real servers on request. It checks only the behaviour on which callers depend and which the simulator and real
// servers share. It needs a checkpoint that can sample pictures of 64 pixels, and leaves files with distinct names in
// the server's folders.
package comfyuitest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
)

// Options configure the suite for the servers under test.
type Options struct {
	// Shared is set if all tests use one server, one after the other, such as a real one.
	Shared bool
	// Steps is the number of steps of a sampler that take about a second; default 200. Servers whose steps take
	// longer need fewer.
	Steps int
}

// patience bounds every test. A real server on a busy CPU needs a minute for work that a GPU does at once.
const patience = 4 * time.Minute

// Run tests the servers that newServer returns.
func Run(t *testing.T, newServer func(testing.TB) comfyui.Server, opts Options) {
	t.Helper()
	opts.Steps = cmp.Or(opts.Steps, 200)
	for _, group := range []map[string]func(*testing.T, *bench){inspection, prompts, following, cancelling, files} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				if !opts.Shared {
					t.Parallel()
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				t.Cleanup(cancel)
				test(t, &bench{Server: newServer(t), ctx: ctx, opts: opts, name: uuid.NewString()})
			})
		}
	}
}

// bench is a server under test.
type bench struct {
	comfyui.Server
	ctx  context.Context //nolint:containedctx // belongs to one test
	opts Options
	name string // a unique name for files and seeds
}

// graph is a graph in API format.
type graph map[string]node

type node struct {
	Class  string         `json:"class_type"`
	Inputs map[string]any `json:"inputs"`
}

func link(id string, slot int) []any { return []any{id, slot} }

// picture returns a graph that saves and shows a small picture of one colour, and a text.
func (b *bench) picture(color int) graph {
	return graph{
		"1": {"EmptyImage", map[string]any{"width": 64, "height": 48, "batch_size": 1, "color": color}},
		"2": {"SaveImage", map[string]any{"images": link("1", 0), "filename_prefix": "suite/" + b.name}},
		"3": {"PreviewImage", map[string]any{"images": link("1", 0)}},
		"4": {"PreviewAny", map[string]any{"source": b.name}},
	}
}

// checkpoint returns the name of a checkpoint of the server.
func (b *bench) checkpoint(t *testing.T) string {
	t.Helper()
	models, err := b.Models(b.ctx)
	require.NoError(t, err)
	require.NotEmpty(t, models.Files["checkpoints"], "the suite needs a checkpoint")
	for _, name := range models.Files["checkpoints"] {
		if strings.Contains(name, "random") {
			return name
		}
	}
	return models.Files["checkpoints"][0]
}

// sample returns a text-to-image graph with the given number of steps, which no earlier prompt has run.
func (b *bench) sample(t *testing.T, size, steps int) graph {
	t.Helper()
	seed := int(uuid.New().ID())
	return graph{
		"1": {"CheckpointLoaderSimple", map[string]any{"ckpt_name": b.checkpoint(t)}},
		"2": {"CLIPTextEncode", map[string]any{"text": "a cat", "clip": link("1", 1)}},
		"3": {"CLIPTextEncode", map[string]any{"text": "", "clip": link("1", 1)}},
		"4": {"EmptyLatentImage", map[string]any{"width": size, "height": size, "batch_size": 1}},
		"5": {"KSampler", map[string]any{
			"model": link("1", 0), "positive": link("2", 0), "negative": link("3", 0), "latent_image": link("4", 0),
			"seed": seed, "steps": steps, "cfg": 7.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0,
		}},
		"6": {"VAEDecode", map[string]any{"samples": link("5", 0), "vae": link("1", 2)}},
		"7": {"SaveImage", map[string]any{"images": link("6", 0), "filename_prefix": "suite/" + b.name}},
	}
}

// long returns a graph that runs for a second or longer.
func (b *bench) long(t *testing.T) graph {
	t.Helper()
	return b.sample(t, 128, b.opts.Steps)
}

// prompt returns a prompt for a graph, with its own id and client name.
func prompt(t *testing.T, g graph) comfyui.Prompt {
	t.Helper()
	raw, err := json.Marshal(g)
	require.NoError(t, err)
	return comfyui.Prompt{
		ID: comfyui.NewPromptID(uuid.New()), Client: uuid.NewString(), Graph: raw,
		Extra: map[string]json.RawMessage{"preview_method": json.RawMessage(`"latent2rgb"`)},
	}
}

// run submits a graph and waits for its end.
func (b *bench) run(t *testing.T, g graph) *comfyui.Outcome {
	t.Helper()
	state := b.runAny(t, prompt(t, g))
	require.Equal(t, comfyui.Completed, state.Status, "%+v", state.Outcome)
	return state.Outcome
}

// runAny submits a prompt and waits for its end, whatever its outcome.
func (b *bench) runAny(t *testing.T, p comfyui.Prompt) comfyui.State {
	t.Helper()
	_, err := b.Submit(b.ctx, p)
	require.NoError(t, err)
	return b.await(t, p.ID, comfyui.Status.Ended)
}

// await polls a prompt until its status is the wanted one.
func (b *bench) await(t *testing.T, id comfyui.PromptID, wanted func(comfyui.Status) bool) comfyui.State {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		state, err := b.Find(b.ctx, id)
		require.NoError(t, err)
		if wanted(state.Status) {
			return state
		}
		select {
		case <-b.ctx.Done():
			require.FailNow(t, "the prompt does not get there", "it is %s", state.Status)
		case <-ticker.C:
		}
	}
}

func is(wanted comfyui.Status) func(comfyui.Status) bool {
	return func(s comfyui.Status) bool { return s == wanted }
}

// feed is a Follow that runs in the background.
type feed struct {
	events chan comfyui.Event
	ended  chan error
	stop   context.CancelFunc
}

// follow follows a client, and returns when messages arrive.
func (b *bench) follow(t *testing.T, client string) *feed {
	t.Helper()
	ctx, stop := context.WithCancel(b.ctx)
	f := &feed{events: make(chan comfyui.Event, 10_000), ended: make(chan error, 1), stop: stop}
	go func() {
		f.ended <- b.Follow(ctx, client, func(e comfyui.Event) error { f.events <- e; return nil })
		close(f.ended)
	}()
	t.Cleanup(func() {
		stop()
		for range f.ended { // the suite does not check the error of a stopped feed
		}
	})
	waitFor[comfyui.Connected](t, b.ctx, f)
	return f
}

// reattach follows a client whose first connection has just ended, until a node's progress arrives. A server forgets
// a client when it sees the end of a connection. If it sees the end of the first connection late, it also forgets the
// second one, which then receives nothing and has to be opened again.
func (b *bench) reattach(t *testing.T, client string) *feed {
	t.Helper()
	const silence = time.Second
	for {
		f := b.follow(t, client)
		repeated, _ := waitFor[comfyui.Executing](t, b.ctx, f)
		require.Equal(t, comfyui.Executing{Node: "5"}, repeated)
		for quiet := time.NewTimer(silence); ; quiet.Reset(silence) {
			var heard bool
			select {
			case event := <-f.events:
				if _, ok := event.(comfyui.Progressed); ok {
					return f
				}
				heard = true
			case <-quiet.C:
			}
			if !heard {
				break
			}
		}
		f.stop()
		require.ErrorIs(t, <-f.ended, context.Canceled)
	}
}

// waitFor returns the next event of a type, and all events before it.
func waitFor[E comfyui.Event](t *testing.T, ctx context.Context, f *feed) (E, []comfyui.Event) {
	t.Helper()
	var before []comfyui.Event
	for {
		select {
		case event := <-f.events:
			if wanted, ok := event.(E); ok {
				return wanted, before
			}
			before = append(before, event)
		case err := <-f.ended:
			require.NoError(t, err, "before the event came")
		case <-ctx.Done():
			var none E
			require.FailNow(t, fmt.Sprintf("no %T came", none), "these did: %T", before)
		}
	}
}

// only returns the events of one type.
func only[E comfyui.Event](events []comfyui.Event) []E {
	var out []E
	for _, event := range events {
		if wanted, ok := event.(E); ok {
			out = append(out, wanted)
		}
	}
	return out
}
