package driving_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/fault"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// pictures returns a graph that saves the given number of pictures, one after the other.
func pictures(n int) (g prompt, outputs []string) {
	g = prompt{"1": call("EmptyImage", map[string]any{"width": 64, "height": 64, "batch_size": 1, "color": 255})}
	for i := range n {
		id := string(rune('a' + i))
		g[id] = call("SaveImage", map[string]any{"images": from("1", 0), "filename_prefix": id})
		outputs = append(outputs, id)
	}
	return g, outputs
}

// A server runs its next prompt while the outputs of the last one are copied.
func TestServerIsFreeWhileItsFilesAreCopied(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{})
	free, done := make(chan struct{}), make(chan error, 1)
	r.ended = func() { close(free) } // a second call would panic
	r.files.hold = make(chan struct{})
	g, outputs := pictures(1)
	go func() { done <- r.run(g, outputs...) }()
	<-free
	r.got.mu.Lock()
	require.NotContains(t, r.got.ended, "a", "its file is not copied yet")
	r.got.mu.Unlock()
	close(r.files.hold)
	require.NoError(t, <-done)
	require.Contains(t, r.got.ended, "a")
}

// Nodes are recorded in the order in which the server ran them, no matter how long copying their files takes.
func TestNodesAreRecordedInOrderWhileFilesAreCopied(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{})
	free, done := make(chan struct{}), make(chan error, 1)
	r.ended = func() { close(free) }
	r.files.hold = make(chan struct{})
	g, outputs := pictures(3)
	go func() { done <- r.run(g, outputs...) }()
	<-free // all messages have arrived
	close(r.files.hold)
	require.NoError(t, <-done)
	require.Len(t, r.got.ended, 4)
	for i := 0; i+1 < len(r.got.noted); i += 2 {
		require.Equal(t, "start"+r.got.noted[i+1][len("end"):], r.got.noted[i], r.got.noted)
	}
}

// slow is a server that takes a while to answer a submission.
type slow struct {
	comfyui.Server
	sending, answer chan struct{}
}

// Submit implements comfyui.Server.
func (s *slow) Submit(ctx context.Context, p comfyui.Prompt) (comfyui.Submitted, error) {
	close(s.sending)
	<-s.answer
	return s.Server.Submit(ctx, p)
}

// If a driver is asked to end while it sends a prompt, the prompt arrives before the driver returns. If the request
// were aborted, the prompt could arrive after the next driver has polled for it, or after it was cancelled.
func TestPromptThatIsBeingSentArrives(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{driving.ErrHandedOver, errors.New("canceled")} {
		r := simulated(t, sim.Options{})
		s := &slow{r.server, make(chan struct{}), make(chan struct{})}
		r.server = s
		ctx, stop := context.WithCancelCause(r.ctx)
		r.ctx = ctx
		g, outputs := pictures(1)
		done := make(chan error, 1)
		go func() { done <- r.run(g, outputs...) }()
		<-s.sending
		stop(cause)
		close(s.answer)
		require.ErrorIs(t, <-done, cause)
		require.Eventually(t, func() bool {
			return slices.ContainsFunc(r.machine.Runs(), func(run sim.Run) bool { return run.Outcome == "success" })
		}, patience, time.Millisecond)
	}
}

// silent is a server that does not report the outcome of a prompt.
type silent struct {
	comfyui.Server
	t *testing.T
}

// Find implements comfyui.Server.
func (s *silent) Find(context.Context, comfyui.PromptID) (comfyui.State, error) {
	s.t.Error("the server is asked for the outcome")
	return comfyui.State{}, fault.New(fault.Unavailable, fault.CodeServerGarbage, "not now")
}

// The outcome of a prompt is not polled if the messages contain all of it, including the values that leave the
// server.
func TestOutcomeInTheMessagesIsNotPolled(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{})
	r.server = &silent{r.server, t}
	r.driver = driving.New(driving.Options{Poll: patience})
	g := sampled(2)
	g["8"] = call("HereTakeIMAGE", map[string]any{"value": from("6", 0), "key": "picture"})
	require.NoError(t, r.run(g, "7", "8"))
	require.Contains(t, r.got.ended, "7")
	require.NotNil(t, r.taken["picture"])
}

// counting is a server that counts the uploaded files.
type counting struct {
	comfyui.Server
	files atomic.Int32
}

// Put implements comfyui.Server.
func (c *counting) Put(ctx context.Context, u comfyui.Upload) (comfyui.File, error) {
	c.files.Add(1)
	return c.Server.Put(ctx, u)
}

// A value is moved to a server once, even if many prompts read it.
func TestInputIsUploadedToAServerOnce(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{})
	s := &counting{Server: r.server}
	r.server = s
	r.given["picture"] = picture8(t, 1, 48, 64, 3)
	g := prompt{
		"1": call("HereGiveIMAGE", map[string]any{"key": "picture"}),
		"2": call("ImageInvert", map[string]any{"image": from("1", 0)}),
		"3": call("HereTakeIMAGE", map[string]any{"value": from("2", 0), "key": "inverted"}),
	}
	for range 2 {
		require.NoError(t, r.run(g, "3"))
		require.NotNil(t, r.taken["inverted"])
	}
	require.Equal(t, int32(1), s.files.Load())
}

// haunted is a server to which a lost driver still has a socket, which ends after the next driver has opened its own.
type haunted struct {
	comfyui.Server
	t       *testing.T
	address string
	follows atomic.Int32
	first   atomic.Int64 // last progress that the first socket delivered
	next    atomic.Int64 // last progress that a later socket delivered
}

// Follow implements comfyui.Server.
func (h *haunted) Follow(ctx context.Context, client string, deliver func(comfyui.Event) error) error {
	if h.follows.Add(1) > 1 {
		return h.Server.Follow(ctx, client, func(e comfyui.Event) error {
			if p, runs := e.(comfyui.Progressed); runs {
				h.next.Store(int64(p.Value))
			}
			return deliver(e)
		})
	}
	old, res, err := websocket.DefaultDialer.DialContext(ctx, strings.Replace(h.address, "http", "ws", 1)+"/ws?clientId="+client, nil)
	require.NoError(h.t, err)
	require.NoError(h.t, res.Body.Close())
	return h.Server.Follow(ctx, client, func(e comfyui.Event) error {
		if p, runs := e.(comfyui.Progressed); runs {
			h.first.Store(int64(p.Value))
			old.Close() // a second close fails, which is fine
		}
		return deliver(e)
	})
}

// A driver whose socket the server has forgotten, because an older socket of the same name ended, opens another
// socket.
func TestForgottenSocketIsOpenedAnew(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{Step: 10 * time.Millisecond})
	h := &haunted{Server: r.server, t: t, address: r.machine.URL()}
	r.server = h
	r.driver = driving.New(driving.Options{Poll: 40 * time.Millisecond, SilenceLimit: 200 * time.Millisecond})
	require.NoError(t, r.run(sampled(600), "7")) // it runs for longer than opening another socket takes
	require.GreaterOrEqual(t, h.follows.Load(), int32(2))
	require.Greater(t, h.next.Load(), h.first.Load(), "the new socket delivers progress")
	require.Greater(t, r.got.value, int(h.first.Load()), "and it is recorded; the last step may end the prompt before it is")
}

// sampled returns a graph with a sampler of the given number of steps.
func sampled(steps int) prompt {
	return prompt{
		"1": call("CheckpointLoaderSimple", map[string]any{"ckpt_name": "random-sd15.safetensors"}),
		"2": call("CLIPTextEncode", map[string]any{"text": "a cat", "clip": from("1", 1)}),
		"4": call("EmptyLatentImage", map[string]any{"width": 64, "height": 64, "batch_size": 1}),
		"5": call("KSampler", map[string]any{
			"model": from("1", 0), "positive": from("2", 0), "negative": from("2", 0), "latent_image": from("4", 0),
			"seed": 1, "steps": steps, "cfg": 7.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0,
		}),
		"6": call("VAEDecode", map[string]any{"samples": from("5", 0), "vae": from("1", 2)}),
		"7": call("SaveImage", map[string]any{"images": from("6", 0), "filename_prefix": "a"}),
	}
}

// Servers report a step of a node in two messages, and list nodes that have no steps as well.
func TestAStepIsReportedOnce(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{})
	require.NoError(t, r.run(sampled(3), "7"))
	require.Equal(t, []string{"5 1/3", "5 2/3", "5 3/3"}, r.got.steps)
}

// garbled is a server that returns unreadable states of a prompt, or none in time, for a while.
type garbled struct {
	comfyui.Server
	left atomic.Int32
	late bool
}

// Find implements comfyui.Server.
func (g *garbled) Find(ctx context.Context, id comfyui.PromptID) (comfyui.State, error) {
	if g.left.Add(-1) < 0 {
		return g.Server.Find(ctx, id)
	}
	if g.late {
		<-ctx.Done()
		return comfyui.State{}, ctx.Err()
	}
	return comfyui.State{}, fault.New(fault.Unavailable, fault.CodeServerGarbage, "not now")
}

// A prompt that waits behind another program's is given up after the time limit, as one that was not begun.
func TestPromptThatIsNotBegunIsGivenUp(t *testing.T) {
	t.Parallel()
	first := simulated(t, sim.Options{Step: 10 * time.Millisecond})
	running, stop := context.WithCancel(first.ctx)
	first.ctx = running
	var others sync.WaitGroup
	defer others.Wait()
	defer stop()
	others.Go(func() { _ = first.run(sampled(10_000), "7") }) // it does not end before the other one is given up
	require.Eventually(t, func() bool { return len(first.machine.Runs()) == 1 }, patience, time.Millisecond)
	second := newRig(t, first.machine.URL(), nil)
	second.driver = driving.New(driving.Options{Poll: 20 * time.Millisecond, NodeTimeout: 100 * time.Millisecond})
	require.ErrorIs(t, second.run(sampled(2), "7"), driving.ErrNotBegun)
}

// A driver that takes over a prompt keeps polling it, even if the first answers cannot be read, or are late, and no message follows.
func TestTakenOverPromptIsPolledAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		polls int32
		late  bool
	}{
		"answers that cannot be read":        {2, false},
		"no answer while the socket is open": {10, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := simulated(t, sim.Options{})
			s := &garbled{Server: r.server, late: c.late}
			s.left.Store(c.polls)
			r.server, r.known = s, true
			r.driver = driving.New(driving.Options{Poll: 40 * time.Millisecond, LostAfter: 200 * time.Millisecond})
			g, outputs := pictures(1)
			require.NoError(t, r.run(g, outputs...))
			require.Negative(t, s.left.Load())
		})
	}
}

// talkative is a server that sends messages of a node pack to all of its clients when a node begins.
type talkative struct {
	comfyui.Server
	data []string // in which PROMPT stands for the id of the prompt
}

// Follow implements comfyui.Server.
func (s *talkative) Follow(ctx context.Context, prompt string, handle func(comfyui.Event) error) error {
	return s.Server.Follow(ctx, prompt, func(e comfyui.Event) error {
		if err := handle(e); err != nil {
			return err
		}
		if e, ok := e.(comfyui.Executing); !ok || e.Node != "a" {
			return nil
		}
		for _, data := range s.data {
			data = strings.ReplaceAll(data, "PROMPT", prompt)
			if err := handle(comfyui.Unrecognized{Type: "pack", Data: json.RawMessage(data)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// The messages of a node pack that name another prompt, perhaps of another account, are not passed on.
func TestMessagesAboutOtherPromptsAreDropped(t *testing.T) {
	t.Parallel()
	r := simulated(t, sim.Options{})
	r.server = &talkative{r.server, []string{
		`{"n":1}`, `{"n":2,"prompt_id":"PROMPT"}`, `{"n":3,"prompt_id":""}`, `{"n":4,"prompt_id":null}`,
		`{"n":5,"prompt_id":"another"}`, `{"n":6,"of":[{"prompt_id":"another"}]}`, `{"n":7`,
	}}
	g, outputs := pictures(1)
	require.NoError(t, r.run(g, outputs...))
	var passed string
	for _, note := range r.got.noted {
		if _, data, ok := strings.Cut(note, `{"n":`); ok {
			passed += data[:1]
		}
	}
	require.Equal(t, "1234", passed)
}
