package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
	"github.com/millrace-dev/millrace/internal/stream"
)

// driven is a driver of a segment that runs in its activity.
type driven struct {
	res activities.RunResult
	err error
}

// drives starts a driver of the only segment of the job.
func (f *farm) drives(ctx context.Context, plan activities.BeginResult) <-chan driven {
	done := make(chan driven, 1)
	g, params := f.activities, activities.RunParams{RunRef: f.ref, PlanHash: plan.PlanHash, Units: []int{0}, Last: true}
	go func() {
		env := environment(ctx)
		env.RegisterActivity(g.RunSegment)
		value, err := env.ExecuteActivity(g.RunSegment, params)
		d := driven{err: err}
		if err == nil {
			d.err = value.Get(&d.res)
		}
		done <- d
	}()
	return done
}

// A canceled job takes its prompt from the server and gives the server back. The result names the node that ran.
func TestACanceledSegmentLeavesItsServer(t *testing.T) {
	t.Parallel()
	f := newFarm(t, text2img(5000), []string{"7"}, nil, sim.Options{})
	f.worker(f.rows)
	done := f.drives(t.Context(), f.planned())
	f.running(0)
	require.Eventually(t, func() bool { return len(f.bus.all()) > 0 }, time.Minute, time.Millisecond, "the sampler takes steps")
	f.stops.Observe([]eventlog.Recorded{{Type: job.TypeCancelRequested, Stream: f.ref.Job.Stream()}})
	d := <-done
	require.NoError(t, d.err)
	require.Equal(t, activities.RunResult{
		Stopped: true, At: &job.NodeRef{Node: "5", Class: "KSampler"}, Server: "one", Version: int64(2 + len(f.history())),
	}, d.res)
	require.Equal(t, []string{
		`segment_ended.v1 {"attempt":1,"node":"1","outcome":"canceled","run":1,"second_micros":1000,"segment":0,"server":"one",` +
			`"url":"http://server-1"}`,
	}, f.about("segment_ended"))
	noted, waiting, running, ran := f.rows.state()
	require.Equal(t, []int{0, 0, 0}, []int{waiting, running, ran})
	require.Equal(t, []string{"may still run a prompt: one"}, noted, "an interrupt takes effect between steps")
	require.Eventually(t, func() bool { return f.machines[0].Runs()[0].Outcome == "interrupted" }, time.Minute, time.Millisecond)
	require.NotEmpty(t, f.machines[0].Stops())
}

// A driver whose worker stops leaves the prompt to the next one, which finds it by its id and records the rest.
func TestADriverIsReplacedWhileItsPromptRuns(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]bool{"its worker stops": false, "another one takes its lease": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFarm(t, text2img(1000), []string{"7"}, nil, sim.Options{})
			f.worker(f.rows)
			plan := f.planned()
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			first := f.drives(ctx, plan)
			f.running(0)
			require.Eventually(t, func() bool { return len(f.bus.all()) > 0 }, time.Minute, time.Millisecond, "the sampler takes steps")
			if !taken {
				stop(errors.New("the worker stops"))
				require.Error(t, (<-first).err)
			}
			f.worker(f.rows)
			second := <-f.drives(t.Context(), plan)
			require.NoError(t, second.err)
			require.True(t, second.res.Ended)
			if taken {
				err := (<-first).err
				retried(t, err)
			}
			require.Equal(t, []int{1}, f.runs(), "the prompt ran once")
			ended := f.about("segment_ended", "succeeded")
			require.Len(t, ended, 2)
			require.Contains(t, ended[0], `"outcome":"done"`)
			require.Len(t, f.about("node.executed"), 7)
			for _, rec := range f.about("segment_placed") {
				require.Contains(t, rec, `"attempt":1,`)
			}
		})
	}
}

// A segment whose server was removed runs on another one. Its attempts are numbered on, whether its lease remains or is gone with the
// server, so that an id of a prompt is never used twice.
func TestASegmentOfARemovedServerRunsAgain(t *testing.T) {
	t.Parallel()
	for name, leased := range map[string]bool{"its lease remains": true, "its lease is gone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFarm(t, text2img(2), []string{"7"}, nil, sim.Options{}, sim.Options{})
			f.worker(f.rows)
			plan := f.planned()
			placed := func(run, segment, attempt int) {
				f.append(t, job.TypeSegmentPlaced, job.SegmentPlacedV1{Run: run, Segment: segment, Attempt: attempt, Server: "gone"})
			}
			placed(1, 0, 2)
			placed(1, 0, 1)
			placed(2, 0, 7)
			placed(1, 1, 8)
			unit := segmentKey(t, f)
			if leased {
				f.rows.do(func() {
					k := server.Key{Job: f.ref.Job, Run: 1, Unit: unit}
					f.rows.leases[k] = &server.Lease{Key: k, Server: "gone", Attempt: 2, Fence: 4, Account: "a"}
					f.rows.fence = 4
				})
			}
			res, err := f.segment(t.Context(), plan)
			require.NoError(t, err)
			require.True(t, res.Ended)
			history := f.about("segment_placed", "segment_ended")
			require.Len(t, history, 6)
			require.Contains(t, history[4], `"attempt":3,`)
			require.Contains(t, history[5], `"attempt":3,`)
			require.Contains(t, history[5], `"outcome":"done"`)
		})
	}
}

// A segment moves to another server when its own is lost. A second loss while the same node runs is a failure of the node.
func TestASegmentMovesFromALostServer(t *testing.T) {
	t.Parallel()
	for name, losses := range map[string]int{"one is lost": 1, "both are lost": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFarm(t, text2img(400), []string{"7"}, nil, sim.Options{}, sim.Options{})
			f.driver.LostAfter = 2 * time.Second
			f.worker(f.rows)
			done := f.drives(t.Context(), f.planned())
			for n := range losses {
				f.running(n)
				require.Eventually(t, func() bool {
					return slices.ContainsFunc(f.bus.all(), func(frame stream.Frame) bool { return frame.Attempt == n+1 })
				}, time.Minute, time.Millisecond, "the sampler takes steps")
				f.machines[n].Kill()
			}
			d := <-done
			require.NoError(t, d.err)
			require.Equal(t, losses == 1, d.res.Ended)
			if losses == 2 {
				f.finishFailed(d.res)
			}
			ended := f.about("segment_ended")
			require.Len(t, ended, 2)
			require.Contains(t, ended[0], `"attempt":1,"cause":"server_lost","node":"1","outcome":"given_up","problem":"the server `)
			require.Contains(t, ended[0], `"server":"one","url":"http://server-1"`)
			require.Contains(t, ended[1], `"server":"two","url":"http://server-2"`)
			require.Len(t, f.about("segment_placed"), 2)
			require.Contains(t, f.about("segment_placed")[1], "server http://server-1 was lost")
			require.Equal(t, []int{1, 1}, f.runs())
			noted, waiting, running, _ := f.rows.state()
			require.Equal(t, []int{0, 0}, []int{waiting, running})
			lost := []string{"away: one", "a job failed: one", "may still run a prompt: one"}
			if losses == 1 {
				require.Equal(t, append(lost, "time to load [random-sd15.safetensors]: two"), noted)
				return
			}
			require.Equal(t, append(lost, "away: two", "a job failed: two", "may still run a prompt: two"), noted)
			failure := f.last(t).(job.FailedV1).Failure
			require.Equal(t, []string{"5", "KSampler", "ServiceError"}, []string{failure.Node, failure.Class, failure.ExceptionType})
			require.Contains(t, failure.Message, "two servers were lost while this node ran; the last time: the server ")
			require.NotContains(t, failure.Message, "127.0.0.1", "clients do not read the addresses of servers")
		})
	}
}

// segmentKey returns the key of the segment of a farm, which a wait for a server tells.
func segmentKey(t *testing.T, f *farm) int {
	t.Helper()
	f.rows.row("one", func(s *server.Server) { s.Drained = true })
	f.rows.row("two", func(s *server.Server) { s.Drained = true })
	ctx, stop := context.WithCancel(t.Context())
	done := f.drives(ctx, f.planned())
	f.waitsForServer()
	unit := 0
	f.rows.do(func() {
		for k := range f.rows.waits {
			unit = k.Unit
		}
	})
	stop()
	require.Error(t, (<-done).err)
	f.rows.row("one", func(s *server.Server) { s.Drained = false })
	f.rows.row("two", func(s *server.Server) { s.Drained = false })
	f.rows.do(func() { clear(f.rows.waits) })
	return unit
}

// waitsForServer returns when the segment of the job waits for a server.
func (f *farm) waitsForServer() {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		_, waiting, _, _ := f.rows.state()
		return waiting == 1
	}, time.Minute, time.Millisecond)
}

// own is a class that only a server has, with outputs of these types.
func own(outputs ...node.Type) *node.Class {
	c := &node.Class{
		Name: "Own", DisplayName: "Own", Category: "own", Module: "custom_nodes.own", OutputNode: true,
		Inputs: []node.Input{{Name: "text", Type: node.String, Default: ""}},
		Run: func(context.Context, *node.Call) (node.Result, error) {
			return node.Result{Outputs: slices.Repeat([]node.Value{"x"}, len(outputs))}, nil
		},
	}
	for _, kind := range outputs {
		c.Outputs = append(c.Outputs, node.Output{Type: kind})
	}
	return c
}

// A segment that waits while the servers change a class of it is planned again, or fails if its graph is not valid any more. A class
// that is missing may return.
func TestASegmentWaitsForTheClassesWithWhichItWasPlanned(t *testing.T) {
	t.Parallel()
	reader := own(node.String)
	reader.Name = "Reader"
	narrow, more := own(node.String, node.String), own(node.String, node.String)
	narrow.Inputs = []node.Input{{Name: "text", Type: node.Combo, Options: []string{"words"}}}
	more.Inputs = append(more.Inputs, node.Input{Name: "seed", Type: node.Int, Default: 1, Min: 0, Max: 9, Section: node.Optional})
	for name, c := range map[string]struct {
		to      []*node.Class
		changed bool
		failure string
	}{
		"another type of an output":          {[]*node.Class{own(node.Int, node.String), reader}, true, ""},
		"another type of an input in use":    {[]*node.Class{narrow, reader}, true, ""},
		"a class is gone besides":            {[]*node.Class{own(node.Int, node.String)}, false, "class Reader is unknown"},
		"a further input, which is not used": {[]*node.Class{more, reader}, false, ""},
		"the class as it was":                {[]*node.Class{own(node.String, node.String), reader}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := job.Source{Prompt: []byte(
				`{"1":{"class_type":"Own","inputs":{"text":"words"}},"2":{"class_type":"Reader","inputs":{"text":["1",1]}}}`)}
			f := newFarm(t, source, []string{"2"}, nil, sim.Options{Classes: []*node.Class{own(node.String, node.String), reader}})
			f.worker(f.rows)
			plan := f.planned()
			f.rows.row("one", func(s *server.Server) { s.Drained = true })
			done := f.drives(t.Context(), plan)
			f.waitsForServer()
			require.NoError(t, f.machines[0].Change(func(o *sim.Options) { o.Classes = c.to }))
			digest := f.read(f.machines[0])
			f.rows.row("one", func(s *server.Server) { s.Digest = digest })
			_, err := f.pool.Refresh(t.Context())
			require.NoError(t, err)
			if !c.changed && c.failure == "" {
				f.rows.row("one", func(s *server.Server) { s.Drained = false })
				d := <-done
				require.NoError(t, d.err)
				require.True(t, d.res.Ended, "%v", f.history())
				return
			}
			d := <-done
			var left []server.Wait
			f.rows.do(func() { left = f.rows.left })
			require.Len(t, left, 1, "the segment has left the queue")
			if c.changed {
				var app *temporal.ApplicationError
				require.ErrorAs(t, d.err, &app)
				require.Equal(t, attempt.ErrPlanChanged, app.Type())
				return
			}
			require.NoError(t, d.err)
			require.Equal(t, "1", d.res.Failed)
			failure := f.lastFailure(t).Failure
			require.Equal(t, "ValidationError", failure.ExceptionType)
			require.Equal(t, "Own", failure.Class)
			require.Contains(t, failure.Message, "the classes of the servers have changed, and the graph is not valid with them: ")
			require.Contains(t, f.anonymous(failure.Message), c.failure)
		})
	}
}

// A job whose segment waits says so after a moment, and why.
func TestAJobSaysWhyItsSegmentWaits(t *testing.T) {
	t.Parallel()
	f := newFarm(t, text2img(2), []string{"7"}, nil, sim.Options{})
	f.worker(f.rows)
	plan := f.planned()
	f.rows.row("one", func(s *server.Server) { s.Drained = true })
	done := f.drives(t.Context(), plan)
	require.Eventually(t, func() bool { return len(f.about("segment_waiting")) > 0 }, time.Minute, 10*time.Millisecond)
	var reason string
	f.rows.do(func() {
		for _, why := range f.rows.why {
			reason = why
		}
	})
	waiting, ok := f.last(t).(job.SegmentWaitingV1)
	require.True(t, ok)
	require.Equal(t, job.SegmentWaitingV1{Run: 1, Node: "1", Attempt: 1, Reason: reason}, waiting)
	require.NotEmpty(t, reason)
	f.rows.row("one", func(s *server.Server) { s.Drained = false })
	require.True(t, (<-done).res.Ended)
}

// removing notes which files are removed from a server.
type removing struct {
	comfyui.Server
	mu      *sync.Mutex
	removed *[]string
}

func (r removing) Remove(ctx context.Context, id comfyui.PromptID, files []comfyui.File) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, file := range files {
		*r.removed = append(*r.removed, file.Name)
	}
	return r.Server.Remove(ctx, id, files)
}

func (r removing) Withholding(secrets ...string) comfyui.Server {
	return removing{r.Server.Withholding(secrets...), r.mu, r.removed}
}

// The files of a prompt are removed from a server that has the node pack after the end of the segment is recorded, however the run goes
// on, and stay on others.
func TestFilesOfAPromptAreRemovedFromItsServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pack, last bool
	}{
		"the last segment": {true, true}, "another segment": {true, false}, "no node pack": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFarm(t, text2img(2), []string{"7"}, nil, sim.Options{Pack: c.pack})
			var removed []string
			var mu sync.Mutex
			f.wrap = func(s comfyui.Server) comfyui.Server { return removing{s, &mu, &removed} }
			f.worker(f.rows)
			plan := f.planned()
			res, err := execute(t.Context(), f, f.activities.RunSegment,
				activities.RunParams{RunRef: f.ref, PlanHash: plan.PlanHash, Units: []int{0}, Last: c.last})
			require.NoError(t, err)
			require.Equal(t, c.last, res.Ended)
			require.Len(t, f.about("segment_ended"), 1)
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, c.pack, len(removed) > 0, "%v", removed)
			_, _, running, ran := f.rows.state()
			require.Equal(t, []int{0, 1}, []int{running, ran})
		})
	}
}

// secretive notes the secrets that are withheld from the answers of a server.
type secretive struct {
	comfyui.Server
	withheld *[]string
}

func (s secretive) Withholding(secrets ...string) comfyui.Server {
	*s.withheld = append(*s.withheld, secrets...)
	return s.Server.Withholding(secrets...)
}

// refusing gives no credentials.
type refusing struct{}

func (refusing) ForServer(context.Context, job.RunRef, string) (map[string]string, error) {
	return nil, errAway
}

// A prompt has the credentials that its server may get, and what the server says of them is withheld. Without them nothing runs.
func TestAPromptHasTheCredentialsOfItsJob(t *testing.T) {
	t.Parallel()
	source := job.Source{Prompt: []byte(`{"1":{"class_type":"SimPartner","inputs":{"prompt":"x"}}}`)}
	f := newFarm(t, source, []string{"1"}, nil, sim.Options{})
	var withheld []string
	f.wrap = func(s comfyui.Server) comfyui.Server { return secretive{s, &withheld} }
	f.worker(f.rows)
	f.activities.Segments.Credentials = refusing{}
	plan := f.planned()
	_, err := f.segment(t.Context(), plan)
	require.ErrorContains(t, err, errAway.Error())
	require.Equal(t, []int{0}, f.runs())
	f.activities.Segments.Credentials = given{"api_key_comfy_org": "a-very-secret-key"}
	res, err := f.segment(t.Context(), plan)
	require.NoError(t, err)
	require.True(t, res.Ended)
	require.Equal(t, []string{"a-very-secret-key"}, withheld)
	history := strings.Join(f.history(), "\n")
	require.Contains(t, history, "signed in with ")
	require.NotContains(t, history, "a-very-secret-key")
}

// keep is a class of the workers that shows the size of a picture.
func keep() *node.Class {
	return &node.Class{
		Name: "Keep", Module: "nodes", OutputNode: true, Inputs: []node.Input{{Name: "image", Type: node.Image, Section: node.Required}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			im := call.Args["image"].(*raster.Image)
			return node.Result{UI: map[string][]any{"text": {fmt.Sprint(im.Width(), " x ", im.Height(), ", ", im.Frames(), " frames")}}}, nil
		},
	}
}

// keptText2img is text2img, of which a node of the workers reads the picture in place of SaveImage.
func keptText2img() job.Source {
	source := text2img(2)
	source.Prompt = []byte(strings.Replace(string(source.Prompt), `"7":{`, `"7":{"class_type":"Keep","inputs":{"image":["6",0]}},"8":{`, 1))
	return source
}

// runsBatches runs the batches of a run that has begun, and returns what the nodes showed and how many batches there were.
func (f *farm) runsBatches(plan activities.BeginResult) (shown map[string]string, batches int) {
	f.t.Helper()
	shown, _ = f.finishedFrom(f.t, plan, func(p activities.RunParams) activities.RunResult {
		batches++
		res, err := execute(f.t.Context(), f, f.activities.RunSegment, p)
		require.NoError(f.t, err)
		return res
	})
	return shown, batches
}

// begins begins the run and drives no segment in its first moment.
func (f *farm) begins() activities.BeginResult {
	f.t.Helper()
	plan, err := execute(f.t.Context(), f, f.activities.Begin, activities.BeginParams{RunRef: f.ref, Execution: "x"})
	require.NoError(f.t, err)
	if plan.First != nil {
		plan = f.planned()
	}
	return plan
}

// A node of a worker reads what a segment made. What a segment came to is kept for retries of its job, which run no segment and show the
// same, and so is a retry of the retry.
func TestARetryTakesSegmentsFromItsJob(t *testing.T) {
	t.Parallel()
	cached := &shelf{entries: map[nodecache.Key]nodecache.Entry{}}
	var blobs blob.Store
	run := func(origin *job.Origin) (*farm, map[string]string) {
		f := farmOf(t, keptText2img(), job.SubmittedV1{Targets: []string{"7", "8"}, Origin: origin}, []*node.Class{keep()}, sim.Options{})
		if blobs == nil {
			blobs = f.activities.Sources.Blobs
		}
		f.activities.Deps.Cache, f.activities.Sources.Blobs = &nodecache.Cache{Store: cached}, blobs
		f.activities.Deps.Values = nodevalue.New(blobs, 1<<20, 1<<20, time.Minute)
		f.worker(f.rows)
		shown, _ := f.runsBatches(f.begins())
		return f, shown
	}
	first, shown := run(nil)
	require.Equal(t, map[string]string{
		"7": `{"text":["64 x 64, 1 frames"]}`, "8": `{"images":[{"filename":"gpu-of-8_00001_.png","subfolder":"","type":"output"}]}`,
	}, shown)
	require.Equal(t, []int{1}, first.runs())
	ofSegments := func() (found []nodecache.Entry) {
		all := slices.Collect(maps.Values(cached.entries))
		return slices.DeleteFunc(all, func(e nodecache.Entry) bool { return len(e.Nodes) == 0 })
	}
	require.Len(t, ofSegments(), 1)
	e := ofSegments()[0]
	require.Equal(t, []string{"8", "SaveImage"}, []string{e.Nodes[0].Node, e.Nodes[0].Class})
	require.Equal(t, e.Nodes[0].Files, e.Files)
	require.Len(t, e.Files, 1)
	require.Len(t, e.Values, 1)
	require.Equal(t, string(first.ref.Job), e.Job)
	require.Equal(t, first.activities.Values.Size(t.Context(), e.Values[0]), e.Bytes)
	require.Greater(t, e.Bytes, int64(64*64*3))
	origin := first
	for range 2 {
		again, same := run(&job.Origin{Job: origin.ref.Job, FromNode: "7"})
		require.Equal(t, []int{0}, again.runs())
		require.Equal(t, shown, same)
		require.Contains(t, again.history()[1], `"nodes":["1","2","3","4","5","6","8"]`)
		origin = again
	}
	require.Len(t, ofSegments(), 3)
	for _, other := range ofSegments() {
		require.Equal(t, e.Bytes, other.Bytes)
	}
	other, _ := run(nil)
	require.Equal(t, []int{1}, other.runs(), "another job runs it")
}

// A segment that ran in an attempt which recorded nothing ends with its run, as if that attempt had gone on: its time is paid.
func TestASegmentOfTheSameRunIsNotFromTheCache(t *testing.T) {
	t.Parallel()
	f := newFarm(t, text2img(2), []string{"7"}, nil, sim.Options{})
	entries := map[nodecache.Key]nodecache.Entry{}
	f.activities.Deps.Cache = &nodecache.Cache{Store: &shelf{entries: entries}}
	f.worker(f.rows)
	plan := f.planned()
	_, err := execute(t.Context(), f, f.activities.RunSegment, activities.RunParams{RunRef: f.ref, PlanHash: plan.PlanHash, Units: []int{0}})
	require.NoError(t, err)
	require.Len(t, entries, 1)
	f.worker(f.rows)
	f.whole()
	require.Equal(t, []int{1}, f.runs())
	require.Equal(t, []string{`nodes_cached.v1 {"nodes":null,"run":1}`}, f.about("nodes_cached"))
	require.Len(t, f.about("segment_ended"), 1)
	require.Len(t, f.about("succeeded"), 1)
}

// A segment whose values were lost runs again, in an attempt with a prompt of its own, when a node that reads them says that they are gone.
func TestASegmentRunsAgainForLostValues(t *testing.T) {
	t.Parallel()
	f := newFarm(t, keptText2img(), []string{"7", "8"}, []*node.Class{keep()}, sim.Options{})
	f.worker(f.rows)
	plan := f.planned()
	sched := plan.Scheduler()
	values := map[int][]string{}
	drive := func(b graph.Batch) activities.RunResult {
		res, err := execute(t.Context(), f, f.activities.RunSegment, f.params(sched, b, plan.PlanHash, values))
		require.NoError(t, err)
		return res
	}
	segment := sched.Next()[0]
	made := drive(segment)
	require.Len(t, made.Units, 1)
	require.Len(t, made.Units[0].Values, 1)
	require.Equal(t, "one", made.Server)
	require.EqualValues(t, 2+len(f.history()), made.Version)
	again := drive(segment)
	require.Equal(t, made.Units, again.Units, "it has run")
	require.Equal(t, []int{1}, f.runs())
	f.settle(sched, segment, made, values)
	reader := sched.Next()[0]
	f.activities.Deps.Values = nodevalue.New(mem.New(), 1<<20, 1<<20, time.Minute)
	f.worker(f.rows)
	gone := drive(reader)
	require.Equal(t, []int{made.Units[0].Unit}, gone.Lost)
	require.Empty(t, gone.Units)
	fresh := drive(segment)
	require.Len(t, fresh.Units, 1)
	require.Equal(t, []int{2}, f.runs())
	placed := f.about("segment_placed")
	require.Len(t, placed, 2)
	require.Contains(t, placed[1], `"attempt":2,`)
	require.Contains(t, placed[1], "its values were lost")
	f.settle(sched, segment, fresh, values)
	require.Equal(t, graph.Done, drive(reader).Units[0].Status)
}

// fetching has the model files of a workflow fetched.
type fetching struct {
	models []uiworkflow.Model
	fetch  func(uiworkflow.Model, func(task.Progress)) error
}

func (s fetching) Models(map[string]json.RawMessage) []uiworkflow.Model { return s.models }

func (s fetching) Fetch(_ context.Context, m uiworkflow.Model, report func(task.Progress)) error {
	return s.fetch(m, report)
}

// A segment waits until its model file is fetched and a server has it. A file that cannot be had fails the node that needs it.
func TestASegmentWaitsForItsModelFile(t *testing.T) {
	t.Parallel()
	model := uiworkflow.Model{Name: "new.safetensors", Folder: "checkpoints", URL: "https://models.example/new.safetensors"}
	for name, c := range map[string]struct {
		errs    []error // of the fetches; then there is the file
		message string  // of the failure
	}{
		"it is fetched":           {nil, ""},
		"its source is away once": {[]error{fault.New(fault.Unavailable, "", "away")}, ""},
		"it is not there": {
			[]error{fault.New(fault.Invalid, "", "no such file")},
			"the model file new.safetensors could not be fetched from models.example: no such file",
		},
		"it is another file": {
			[]error{fault.New(fault.Conflict, "", "another digest")},
			"the model file new.safetensors could not be fetched from models.example: another digest",
		},
		"it is private": {
			[]error{fault.New(fault.Denied, "", "not yours")},
			"the model file new.safetensors could not be fetched from models.example: not yours",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := text2img(2)
			source.Prompt = []byte(strings.Replace(string(source.Prompt), "random-sd15", "new", 1))
			f := newFarm(t, source, []string{"7"}, nil, sim.Options{})
			f.worker(f.rows)
			plan := f.planned()
			asked := 0
			f.activities.Segments.Sources = fetching{[]uiworkflow.Model{model}, func(m uiworkflow.Model, report func(task.Progress)) error {
				require.Equal(t, model, m)
				for _, p := range []struct {
					task.Progress
					want string
				}{
					{task.Progress{Done: 50, Bytes: 200}, ": 25% of 200 B"},
					{task.Progress{Done: 50, Bytes: 200, Problem: "The disk is full."}, "; another attempt follows: The disk is full."},
				} {
					report(p.Progress)
					require.Eventually(t, func() bool {
						why := f.rows.reasons()
						return len(why) == 1 && why[0] == "the model file new.safetensors is being fetched from models.example"+p.want
					}, time.Minute, 10*time.Millisecond)
				}
				if asked++; asked <= len(c.errs) {
					return c.errs[asked-1]
				}
				if err := f.machines[0].Change(func(o *sim.Options) { o.Checkpoints = []string{"random-sd15.safetensors", m.Name} }); err != nil {
					return err
				}
				digest := f.read(f.machines[0])
				f.rows.row("one", func(s *server.Server) { s.Digest = digest })
				_, err := f.pool.Refresh(t.Context())
				return err
			}}
			d := <-f.drives(t.Context(), plan)
			require.NoError(t, d.err)
			if c.message == "" {
				require.True(t, d.res.Ended)
				require.Equal(t, len(c.errs)+1, asked)
				return
			}
			require.Equal(t, "1", d.res.Failed)
			require.Equal(t, 1, asked)
			failure := f.lastFailure(t).Failure
			require.Equal(t, job.Failure{
				Code: fault.CodeNodeExecutionError, Message: c.message, Node: "1", Class: "CheckpointLoaderSimple",
				ExceptionType: "ModelDownloadError",
				Traceback:     []string{"node 1 (CheckpointLoaderSimple)\n", "ModelDownloadError: " + c.message + "\n"},
			}, failure)
			var left []server.Wait
			f.rows.do(func() { left = f.rows.left })
			require.Len(t, left, 1)
			require.Equal(t, "the model file new.safetensors is being fetched from models.example", left[0].Fetching)
		})
	}
}
