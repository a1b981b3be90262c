package driving_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
	"github.com/millrace-dev/millrace/internal/engine/segment"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// patience bounds every test. A real server on a busy CPU is slow.
const patience = 2 * time.Minute

// rig runs graphs. Classes named "Here…" run in this process, all other classes on one server.
type rig struct {
	t       testing.TB
	ctx     context.Context //nolint:containedctx // belongs to one test
	server  comfyui.Server
	machine *sim.Machine // nil = a real server
	classes *node.Registry
	offers  func(string) bool
	driver  *driving.Driver
	files   *account
	given   map[string]node.Value // the values of HereGive, by key
	taken   map[string]node.Value
	got     *recorder
	ended   func() // called when the prompt has ended
	known   bool   // the server may have the prompts already
	prompt  comfyui.PromptID
	made    []comfyui.File // by the last prompt
}

// tool is the installed ffmpeg, without which the test is skipped.
func tool(t testing.TB) *ffmpeg.Tool {
	t.Helper()
	found, err := ffmpeg.Find("")
	require.NoError(t, err)
	if found == nil {
		t.Skip("ffmpeg is not installed")
	}
	return found
}

// simulated returns a rig over a simulated server.
func simulated(t testing.TB, opts sim.Options) *rig {
	t.Helper()
	m, err := sim.Start("127.0.0.1:0", opts)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	r := newRig(t, m.URL(), opts.Media)
	r.machine = m
	return r
}

// realServers returns the addresses in MILLRACE_TEST_COMFYUI, which are separated by commas.
func realServers() []string {
	return strings.FieldsFunc(os.Getenv("MILLRACE_TEST_COMFYUI"), func(r rune) bool { return r == ',' })
}

func newRig(t testing.TB, address string, media *ffmpeg.Tool) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	client, err := comfyui.New(address, comfyui.Options{Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	r := &rig{
		t: t, ctx: ctx, server: client, given: map[string]node.Value{}, taken: map[string]node.Value{},
		driver: driving.New(driving.Options{Sounds: media, LostAfter: time.Minute}), files: &account{Files: nodetest.NewFiles()},
		got: &recorder{},
	}
	said, err := client.Classes(ctx, "")
	require.NoError(t, err)
	doc := remote.ParseDocument(said.Digest, said.Names, said.Definitions)
	require.Empty(t, doc.LeftOut)
	r.offers = func(class string) bool { return doc.Classes[class] != nil }
	native, err := standard.Registry(media)
	require.NoError(t, err)
	r.classes, err = node.NewRegistry(append(native.Classes(), r.here()...)...)
	require.NoError(t, err)
	merged, err := remote.Merge([]*remote.Document{doc})
	require.NoError(t, err)
	require.NoError(t, r.classes.ExtendFrom(node.Servers, merged...))
	return r
}

// here returns the classes that only this process has: HereGive<TYPE> returns a value of given, HereTake<TYPE> keeps
// one.
func (r *rig) here() []*node.Class {
	var all []*node.Class
	for _, kind := range []node.Type{
		node.Image, node.Mask, node.Audio, node.Video, segment.Latent, node.String, node.Int, node.Float, node.Boolean,
	} {
		for _, list := range []bool{false, true} {
			name := map[bool]string{false: "HereGive", true: "HereList"}[list] + string(kind)
			all = append(all, &node.Class{
				Name: name, Inputs: []node.Input{{Name: "key", Type: node.String}}, Outputs: []node.Output{{Type: kind, IsList: list}},
				Run: func(_ context.Context, call *node.Call) (node.Result, error) {
					return node.Result{Outputs: []node.Value{r.given[call.Args["key"].(string)]}}, nil
				},
			})
		}
		all = append(all, &node.Class{
			Name: "HereTake" + string(kind), OutputNode: true, InputIsList: true,
			Inputs: []node.Input{{Name: "value", Type: kind}, {Name: "key", Type: node.String}},
			Run: func(_ context.Context, call *node.Call) (node.Result, error) {
				var value node.Value = call.Lists["value"]
				if len(call.Lists["value"]) == 1 {
					value = call.Lists["value"][0]
				}
				r.taken[call.Lists["key"][0].(string)] = value
				return node.Result{}, nil
			},
		})
	}
	return all
}

// prompt returns a graph in API format.
type prompt map[string]any

func call(class string, inputs map[string]any) map[string]any {
	return map[string]any{"class_type": class, "inputs": inputs}
}

func from(id string, slot int) []any { return []any{id, slot} }

// run runs a graph to its outputs, and returns the first error.
func (r *rig) run(g prompt, outputs ...string) error {
	r.t.Helper()
	raw, err := json.Marshal(g)
	require.NoError(r.t, err)
	return r.runRaw(raw, outputs...)
}

// runRaw runs a graph as it is written.
func (r *rig) runRaw(raw json.RawMessage, outputs ...string) error {
	r.t.Helper()
	parsed, err := graph.Parse(raw, graph.Limits{})
	require.NoError(r.t, err)
	plan, err := graph.BuildPlan(parsed, r.classes, outputs, nil)
	require.NoError(r.t, err)
	cut, err := segment.Cut(plan, r.classes, func(class string) segment.Side {
		if strings.HasPrefix(class, "Here") {
			return segment.Here
		}
		return segment.Server
	}, nil)
	require.NoError(r.t, err)
	results := make([][]node.Value, len(cut.Nodes))
	for u := range cut.Nodes {
		n := &cut.Nodes[u]
		inputs := map[string]node.Value{}
		for name, link := range n.Links {
			inputs[name] = results[link.Unit][link.Slot]
		}
		if results[u], err = r.runUnit(n, inputs, raw); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) runUnit(n *graph.PlanNode, inputs map[string]node.Value, submitted json.RawMessage) ([]node.Value, error) {
	if n.Segment != nil {
		r.prompt = comfyui.NewPromptID(uuid.New())
		done, err := r.driver.Drive(r.ctx, driving.Run{
			Server: r.server, Name: "server", Prompt: r.prompt, NewPrompt: !r.known, Segment: n.Segment, Graph: submitted,
			Inputs:  inputs,
			Extra:   map[string]json.RawMessage{"extra_pnginfo": json.RawMessage(`{"workflow":{"id":"w","nodes":[]}}`)},
			Classes: r.classes, Offers: r.offers, Files: func(string) driving.NodeFiles { return r.files }, Recorder: r.got, Ended: r.ended,
		})
		r.made = done.Made
		return done.Outputs, err
	}
	for name, value := range n.Constants {
		inputs[name] = value
	}
	class, _ := r.classes.Lookup(n.Class)
	res, err := node.Invocation{Class: class, Inputs: inputs}.Run(r.ctx, node.Call{NodeID: n.ID, Files: r.files})
	return res.Outputs, err
}

// account holds an account's files.
type account struct {
	*nodetest.Files
	hold chan struct{} // Save waits until it is closed; nil = Save does not wait
}

// Save gives each file of the tests a name of its own.
func (a *account) Save(ctx context.Context, s node.Save, write func(io.Writer) error) (node.File, error) {
	if a.hold != nil {
		<-a.hold
	}
	s.Prefix += "-" + uuid.NewString()
	return a.Files.Save(ctx, s, write)
}

// Saved implements driving.NodeFiles.
func (a *account) Saved() []job.OutputFile { return nil }

// recorder keeps the nodes that ended.
type recorder struct {
	mu    sync.Mutex
	ended []string
	noted []string // beginnings and ends of nodes, in order
	value int      // the highest progress of a node
	steps []string // progress, in order

	pictures [][]byte
	shown    map[string]map[string][]any // UI outputs, by node
}

var _ driving.Recorder = (*recorder)(nil)

func (r *recorder) Started(_ context.Context, id string, _ *job.Expansion) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noted = append(r.noted, "start "+id)
	return nil
}

func (r *recorder) Cached(context.Context, []string) error { return nil }
func (r *recorder) Flush(context.Context) error            { return nil }
func (r *recorder) Recorded(string) bool                   { return false }
func (r *recorder) Preview(string, string, []byte)         {}
func (r *recorder) Text(string, string)                    {}

func (r *recorder) Message(id, kind string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noted = append(r.noted, "message "+id+" "+kind+" "+string(data))
}

func (r *recorder) Picture(id, kind string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pictures = append(r.pictures, data)
	r.noted = append(r.noted, "picture "+id+" "+kind)
}

func (r *recorder) Progress(id string, value, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.value = max(r.value, value)
	r.steps = append(r.steps, fmt.Sprintf("%s %d/%d", id, value, most))
}

func (r *recorder) Executed(_ context.Context, e driving.Executed) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended, r.noted = append(r.ended, e.Node), append(r.noted, "end "+e.Node)
	if r.shown == nil {
		r.shown = map[string]map[string][]any{}
	}
	r.shown[e.Node] = e.UI
	return nil
}
