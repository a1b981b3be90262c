package servers_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	enginegraph "github.com/millrace-dev/millrace/internal/engine/graph"
	enginenode "github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/test/served"
)

// deployment is a database with servers and one admitted job, for workers that drive the job's segments.
type deployment struct {
	t       *testing.T
	pool    *pgxpool.Pool
	types   *eventlog.Registry
	log     *eventstore.Store
	jobs    *jobstore.Store
	credits *accountstore.Credits
	store   *serverstore.Store
	blobs   *mem.Store
	ref     job.RunRef

	leases func(placement.Store) placement.Store // what workers see of the store; nil = all of it
}

// aSecond is the price of a second on the servers of a deployment, in USD millionths.
const aSecond = 1000

func newDeployment(t *testing.T, g served.Graph, machines ...*sim.Machine) *deployment {
	t.Helper()
	types := eventlog.NewRegistry()
	require.NoError(t, errors.Join(job.Register(types), server.Register(types), credit.Register(types)))
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	log := eventstore.New(pool, types, nil)
	d := &deployment{
		t, pool, types, log, jobstore.New(pool, log), accountstore.NewCredits(pool, log), serverstore.New(pool, log), mem.New(),
		job.RunRef{Job: job.NewID(), Account: account.LocalID, Run: 1},
		nil,
	}
	require.NoError(t, d.credits.Grant(t.Context(), d.ref.Account, amount.Dollar, "ops", "trial"))
	for _, m := range machines {
		r, err := server.ParseFixed(m.URL())
		require.NoError(t, err)
		r.Price = aSecond
		_, err = d.store.Register(t.Context(), r, nil)
		require.NoError(t, err)
	}
	prompt, err := json.Marshal(g)
	require.NoError(t, err)
	source, err := json.Marshal(job.Source{Prompt: prompt})
	require.NoError(t, err)
	_, err = d.jobs.Submit(t.Context(), job.NewJob{
		ID: d.ref.Job, Account: d.ref.Account, Submitted: job.SubmittedV1{Document: job.Document{Inline: string(source)}, Targets: []string{"7"}},
		Operation: "jobs", Bounds: job.Bounds{Slots: 1, QueueDepth: 1}, Price: job.Price{Server: aSecond},
	})
	require.NoError(t, err)
	return d
}

// events returns the events of the job.
func (d *deployment) events() []eventlog.Recorded {
	d.t.Helper()
	events, err := d.log.ReadStream(d.t.Context(), d.ref.Job.Stream(), 0, 1000)
	require.NoError(d.t, err)
	return events
}

// nodeFiles are the files of one node.
type nodeFiles struct {
	enginenode.Files
	saved []job.OutputFile
}

func (f *nodeFiles) Saved() []job.OutputFile { return f.saved }

type noAssets struct{}

func (noAssets) ResolveForJob(context.Context, job.RunRef, *enginegraph.Graph) error { return nil }

type noBus struct{}

func (noBus) Publish(context.Context, stream.Frame) error { return nil }

type oneSlot struct{}

func (oneSlot) Bounds(context.Context, string) (job.Bounds, error) { return job.Bounds{Slots: 1}, nil }

// worker starts a worker of the deployment, which probes the servers and places segments.
func (d *deployment) worker(name string) *activities.Graph {
	d.t.Helper()
	classes, err := standard.Registry(nil)
	require.NoError(d.t, err)
	dial := func(s *server.Server) (comfyui.Server, error) { return comfyui.New(s.URL, comfyui.Options{}) }
	var store placement.Store = d.store
	if d.leases != nil {
		store = d.leases(store)
	}
	pool := placement.New(store, dial, classes, name, placement.Options{Every: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 3)
	for _, run := range []func(context.Context) error{pool.Run, pool.Watch, pool.Serve} {
		go func() { ended <- run(ctx) }()
	}
	d.t.Cleanup(func() {
		stop()
		for range 3 {
			<-ended
		}
	})
	require.Eventually(d.t, func() bool { _, known := classes.Lookup("KSampler"); return known }, patience, 10*time.Millisecond)
	files := nodetest.NewFiles()
	return activities.NewGraph(activities.Deps{
		Events: d.log, Types: d.types, Sources: job.Sources{Events: d.log, Registry: d.types, Blobs: d.blobs},
		Assets: noAssets{}, Tiers: oneSlot{}, Classes: classes, Values: nodevalue.New(d.blobs, 1<<20, 1<<20, time.Minute), Bus: noBus{},
		Stops:    activities.NewStops(),
		Files:    func(job.RunRef, string) activities.NodeFiles { return &nodeFiles{Files: files} },
		Segments: activities.NewSegments(pool, driving.New(driving.Options{})), Jobs: d.jobs,
		Heartbeat: func(context.Context) error { return nil },
		Worker:    name, Log: slog.New(slog.DiscardHandler),
	})
}

// plan plans the run of the job without running it.
func (d *deployment) plan(g *activities.Graph) activities.BeginResult {
	d.t.Helper()
	return d.begin(g, activities.BeginParams{RunRef: d.ref, Execution: "x", Replan: true})
}

// begin begins the run of the job.
func (d *deployment) begin(g *activities.Graph, p activities.BeginParams) (plan activities.BeginResult) {
	d.t.Helper()
	env := environment(d.t.Context())
	env.RegisterActivity(g.Begin)
	value, err := env.ExecuteActivity(g.Begin, p)
	require.NoError(d.t, err)
	require.NoError(d.t, value.Get(&plan))
	return plan
}

// drive runs the only segment of the job, which ends the run.
func (d *deployment) drive(ctx context.Context, g *activities.Graph, plan activities.BeginResult) (res activities.RunResult, err error) {
	env := environment(ctx)
	env.RegisterActivity(g.RunSegment)
	value, err := env.ExecuteActivity(g.RunSegment, activities.RunParams{RunRef: d.ref, PlanHash: plan.PlanHash, Units: []int{0}, Last: true})
	if err != nil {
		return res, err
	}
	err = value.Get(&res)
	return res, err
}

// count counts the events of a type.
func (d *deployment) count(eventType string) (n int) {
	d.t.Helper()
	for _, e := range d.events() {
		if e.Type == eventType {
			n++
		}
	}
	return n
}

func environment(ctx context.Context) *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(patience)
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	return env
}

// A driver whose segment was taken over, for example after a pause, records nothing more: neither nodes nor a result.
// It notices this long before it would renew its lease.
func TestDriverWhoseSegmentWasTakenOverRecordsNothing(t *testing.T) {
	t.Parallel()
	m, err := sim.Start("127.0.0.1:0", sim.Options{Step: 30 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	d := newDeployment(t, served.Text2Img(1, 200), m) // six seconds, within which the second driver takes over
	first, second := d.worker("first"), d.worker("second")
	plan := d.plan(first)
	require.Equal(t, plan.PlanHash, d.plan(second).PlanHash)

	lost := make(chan error, 1)
	go func() {
		_, err := d.drive(t.Context(), first, plan)
		lost <- err
	}()
	require.Eventually(t, func() bool { return running(m) }, patience, 10*time.Millisecond)
	res, err := d.drive(t.Context(), second, plan)
	require.NoError(t, err)
	require.Len(t, res.Units, 1)
	require.ErrorContains(t, <-lost, "taken the segment over")

	var actors []string
	executed := map[string]int{}
	for _, e := range d.events() {
		if len(actors) == 0 || actors[len(actors)-1] != e.Meta.Actor {
			actors = append(actors, e.Meta.Actor)
		}
		if e.Type == job.TypeNodeExecuted {
			data, err := d.log.Decode(e)
			require.NoError(t, err)
			executed[data.(job.NodeExecutedV1).Node]++
			if data.(job.NodeExecutedV1).Node == "7" {
				require.Equal(t, "second", e.Meta.Actor)
			}
		}
	}
	require.Contains(t, [][]string{{account.LocalID, "first", "second"}, {account.LocalID, "second"}}, actors,
		"after the second driver the first one recorded nothing")
	require.Len(t, executed, 7)
	for id, n := range executed {
		require.Equal(t, 1, n, "node %s", id)
	}
	require.Len(t, m.Runs(), 1, "the prompt ran once")
}
