package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/stream"
)

// farm is a bench with simulated ComfyUI servers, on which segments of its job run.
type farm struct {
	*bench
	t        *testing.T
	rows     *rows
	machines []*sim.Machine
	native   []*node.Class // of the workers
	files    *nodetest.Files
	bus      *sockets
	driver   driving.Options
	wrap     func(comfyui.Server) comfyui.Server // of the clients of servers; nil = they are used as they are
	pool     *placement.Pool                     // of the last worker
	workers  int
}

// newFarm returns a farm of servers, which have the names "one", "two" and so on. native are the classes that the workers have.
func newFarm(t *testing.T, submitted job.Source, targets []string, native []*node.Class, servers ...sim.Options) *farm {
	t.Helper()
	return farmOf(t, submitted, job.SubmittedV1{Targets: targets}, native, servers...)
}

// farmOf is newFarm for a submission with these properties.
func farmOf(t *testing.T, submitted job.Source, submission job.SubmittedV1, native []*node.Class, servers ...sim.Options) *farm {
	t.Helper()
	f := &farm{
		bench: newBenchFrom(t, submitted, submission, native...), t: t, native: native, files: nodetest.NewFiles(), bus: &sockets{},
		driver: driving.Options{LostAfter: 20 * time.Second, Poll: 100 * time.Millisecond},
	}
	f.rows = newRows(f.log)
	deps := &f.activities.Deps
	deps.Jobs, deps.Tiers, deps.Bus = runEnds{f.rows}, noLimits{}, f.bus
	deps.Files = func(_ job.RunRef, id string) activities.NodeFiles { return &savedFiles{Files: f.files, node: id} }
	for n, opts := range servers {
		m, err := sim.Start("127.0.0.1:0", opts)
		require.NoError(t, err)
		t.Cleanup(m.Close)
		f.machines = append(f.machines, m)
		f.register([]server.ID{"one", "two", "three"}[n], m)
	}
	return f
}

// register adds a server, which answers, with the classes that it has now.
func (f *farm) register(id server.ID, m *sim.Machine) {
	f.t.Helper()
	digest := f.read(m)
	f.rows.do(func() {
		f.rows.servers = append(f.rows.servers, &server.Server{
			ID: id, URL: m.URL(), Slots: 1, Price: 1000, Health: server.Answers, Digest: digest,
			Devices: []server.Device{{Name: "cuda:0", Type: "cuda", Total: 24 << 30, Free: 24 << 30}},
		})
	})
}

// read keeps the definitions of the classes of a server and returns their digest.
func (f *farm) read(m *sim.Machine) string {
	f.t.Helper()
	client, err := comfyui.New(m.URL(), comfyui.Options{})
	require.NoError(f.t, err)
	defer client.Close()
	said, err := client.Classes(f.t.Context(), "")
	require.NoError(f.t, err)
	body, err := placement.EncodeClasses(said)
	require.NoError(f.t, err)
	f.rows.do(func() { f.rows.classes[said.Digest] = body })
	return said.Digest
}

// worker starts a worker of the farm in place of the last one. store is what it sees of the rows.
func (f *farm) worker(store placement.Store) *activities.Graph {
	f.t.Helper()
	f.workers++
	classes, err := node.NewRegistry(f.native...)
	require.NoError(f.t, err)
	dial := func(s *server.Server) (comfyui.Server, error) {
		client, err := comfyui.New(s.URL, comfyui.Options{})
		if err != nil || f.wrap == nil {
			return client, err
		}
		return f.wrap(client), nil
	}
	deps, quiet := f.activities.Deps, slog.New(slog.DiscardHandler)
	deps.Worker, deps.Classes = fmt.Sprint("w", f.workers), classes
	f.pool = placement.New(store, dial, classes, deps.Worker, placement.Options{Log: quiet})
	_, err = f.pool.Refresh(f.t.Context())
	require.NoError(f.t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(f.t.Context()))
	served := make(chan error, 1)
	pool := f.pool
	go func() { served <- pool.Serve(ctx) }()
	f.t.Cleanup(func() {
		stop()
		require.NoError(f.t, <-served)
	})
	segments := activities.NewSegments(pool, driving.New(f.driver))
	if last := f.activities.Segments; last != nil {
		segments.Credentials, segments.Slots, segments.Sources = last.Credentials, last.Slots, last.Sources
	}
	deps.Segments = segments
	f.activities = activities.NewGraph(deps)
	return f.activities
}

// text2img is the usual graph of a ComfyUI server, of one segment.
func text2img(steps int) job.Source {
	return job.Source{Prompt: json.RawMessage(fmt.Sprintf(`{
		"1":{"class_type":"CheckpointLoaderSimple","inputs":{"ckpt_name":"random-sd15.safetensors"}},
		"2":{"class_type":"CLIPTextEncode","inputs":{"text":"a cat","clip":["1",1]}},
		"3":{"class_type":"CLIPTextEncode","inputs":{"text":"","clip":["1",1]}},
		"4":{"class_type":"EmptyLatentImage","inputs":{"width":64,"height":64,"batch_size":1}},
		"5":{"class_type":"KSampler","inputs":{"model":["1",0],"positive":["2",0],"negative":["3",0],"latent_image":["4",0],
			"seed":1,"steps":%d,"cfg":7.0,"sampler_name":"euler","scheduler":"normal","denoise":1.0}},
		"6":{"class_type":"VAEDecode","inputs":{"samples":["5",0],"vae":["1",2]}},
		"7":{"class_type":"SaveImage","inputs":{"images":["6",0],"filename_prefix":"gpu"}}}`, steps))}
}

// volatile are the properties of events that differ from one execution to another. A server may fail before the driver learns what ran.
var volatile = []string{"millis", "fence", "prompt", "saved_at", "worker", "waited", "ran"}

// history returns the events of the job since its admission, as text. Addresses of servers and the id of the job are replaced.
func (f *farm) history() (out []string) {
	f.t.Helper()
	recorded, err := f.log.ReadStream(f.t.Context(), f.ref.Job.Stream(), 2, 10_000)
	require.NoError(f.t, err)
	for _, rec := range recorded {
		var data any
		require.NoError(f.t, json.Unmarshal(rec.Data, &data))
		steady(data)
		raw, err := json.Marshal(data)
		require.NoError(f.t, err)
		out = append(out, strings.TrimPrefix(rec.Type, "job.")+" "+f.anonymous(string(raw)))
	}
	return out
}

// anonymous replaces what a text says of the addresses of this execution.
func (f *farm) anonymous(text string) string {
	for n, m := range f.machines {
		text = strings.ReplaceAll(text, m.URL(), fmt.Sprint("http://server-", n+1))
		text = strings.ReplaceAll(text, strings.TrimPrefix(m.URL(), "http://"), fmt.Sprint("server-", n+1))
	}
	return strings.ReplaceAll(text, string(f.ref.Job), "JOB")
}

// steady removes the properties of a value that differ from one execution to another.
func steady(data any) {
	switch data := data.(type) {
	case map[string]any:
		for _, name := range volatile {
			delete(data, name)
		}
		for _, value := range data {
			steady(value)
		}
	case []any:
		for _, value := range data {
			steady(value)
		}
	}
}

// savedFiles are the files of one node.
type savedFiles struct {
	*nodetest.Files
	node  string
	mu    sync.Mutex // guards saved
	saved []job.OutputFile
}

// Save gives the file a name that tells its node.
func (s *savedFiles) Save(ctx context.Context, save node.Save, write func(io.Writer) error) (node.File, error) {
	var content strings.Builder
	if err := write(&content); err != nil {
		return node.File{}, err
	}
	save.Prefix += "-of-" + s.node
	file, err := s.Files.Save(ctx, save, func(w io.Writer) error { _, err := io.WriteString(w, content.String()); return err })
	if err != nil {
		return file, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = append(s.saved, job.OutputFile{
		Asset: "asset of " + file.Filename, Hash: blob.Sum([]byte(content.String())).String(), Size: int64(content.Len()),
		ContentType: save.ContentType, Filename: file.Filename, Subfolder: file.Subfolder, Folder: string(file.Folder),
	})
	return file, nil
}

func (s *savedFiles) Saved() []job.OutputFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.saved)
}

// sockets keep the frames that watchers get.
type sockets struct {
	mu     sync.Mutex // guards frames
	frames []stream.Frame
}

func (s *sockets) Publish(_ context.Context, f stream.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, f)
	return f.Validate()
}

func (s *sockets) all() []stream.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.frames)
}

// execute executes an activity in the worker of the farm.
func execute[P, R any](ctx context.Context, f *farm, activity func(context.Context, P) (R, error), params P) (res R, err error) {
	env := environment(ctx)
	env.RegisterActivity(activity)
	value, err := env.ExecuteActivity(activity, params)
	if err != nil {
		return res, err
	}
	err = value.Get(&res)
	return res, err
}

// segment runs the only segment of the job in its activity. The run has begun.
func (f *farm) segment(ctx context.Context, plan activities.BeginResult) (activities.RunResult, error) {
	return execute(ctx, f, f.activities.RunSegment, activities.RunParams{RunRef: f.ref, PlanHash: plan.PlanHash, Units: []int{0}, Last: true})
}

// planned plans the run and does not begin it.
func (f *farm) planned() activities.BeginResult {
	f.t.Helper()
	plan, err := execute(f.t.Context(), f, f.activities.Begin, activities.BeginParams{RunRef: f.ref, Execution: "x", Replan: true})
	require.NoError(f.t, err)
	return plan
}

// begun begins the run, of which the activity may drive the first segment for a moment.
func (f *farm) begun() activities.BeginResult {
	f.t.Helper()
	plan, err := execute(f.t.Context(), f, f.activities.Begin, activities.BeginParams{RunRef: f.ref, Execution: "x"})
	require.NoError(f.t, err)
	return plan
}

// whole runs the job, which has one segment, to its end as the workflow does.
func (f *farm) whole() (res activities.RunResult) {
	f.t.Helper()
	plan := f.begun()
	if plan.Ended {
		return *plan.First
	}
	res, err := f.segment(f.t.Context(), plan)
	require.NoError(f.t, err)
	if !res.Ended {
		f.finishFailed(res)
	}
	return res
}

// finishFailed ends the run after its batch failed.
func (f *farm) finishFailed(res activities.RunResult) activities.FinishResult {
	f.t.Helper()
	end, err := f.finish(f.t, activities.FinishParams{Outcome: activities.Failed, Node: res.Failed})
	require.NoError(f.t, err)
	return end
}

// about returns the events of the job of some kinds, as history does.
func (f *farm) about(kinds ...string) (out []string) {
	f.t.Helper()
	for _, line := range f.history() {
		if kind, _, _ := strings.Cut(line, " "); slices.Contains(kinds, strings.TrimSuffix(kind, ".v1")) {
			out = append(out, line)
		}
	}
	return out
}

// runs returns how many prompts each server began.
func (f *farm) runs() (out []int) {
	for _, m := range f.machines {
		out = append(out, len(m.Runs()))
	}
	return out
}

// running returns when a server runs a prompt.
func (f *farm) running(machine int) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		runs := f.machines[machine].Runs()
		return len(runs) > 0 && runs[len(runs)-1].Outcome == "running"
	}, time.Minute, time.Millisecond)
}
