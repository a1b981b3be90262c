package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sys/unix"

	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/worker/sweep"
)

// Limits of the checks: from the first, an operator should act; from the second, clients are affected.
const (
	clockWarn, clockFail   = time.Second, 30 * time.Second // signed links and deadlines depend on the clock
	viewWarn, viewFail     = int64(500), int64(5000)       // events; beyond 5,000, lists no longer wait for the view
	intentWarn, intentFail = 30 * time.Second, 5 * time.Minute
	longSlot               = time.Hour
	diskWarn               = 5 << 30 // bytes; below the reserve, new jobs and uploads are refused
	shownSlots             = 3
)

// clock compares the database's clock with the middle of the round trip, so that latency does not count.
func (d databaseDoctor) clock(ctx context.Context) (Finding, error) {
	began := time.Now()
	now, err := operate.Now(ctx, d.pool)
	if err != nil {
		return Finding{}, err
	}
	trip := time.Since(began)
	skew := now.Sub(began.Add(trip / 2)).Abs()
	f := Finding{
		Status: grade(skew, clockWarn, clockFail),
		Detail: fmt.Sprintf("%s from the database's clock (± %s)", inspect.Span(skew), inspect.Span(trip/2)),
	}
	return f.with("synchronise the clocks of this machine and the database's (chrony, NTP)"), nil
}

func (d databaseDoctor) views(ctx context.Context) (Finding, error) {
	all, err := views.Followers("")
	if err != nil {
		return Finding{}, err
	}
	var most int64
	head, err := operatestore.New(d.pool).Head(ctx)
	if err != nil {
		return Finding{}, err
	}
	details := make([]string, len(all))
	for i, p := range all {
		if ahead, err := projections.Ahead(ctx, d.pool, p.Name); err != nil || ahead > 0 {
			return checkpointAhead(p, ahead), err
		}
		position, err := projections.Position(ctx, d.pool, p.Name)
		if err != nil {
			return Finding{}, err
		}
		behind := max(0, head-position)
		most, details[i] = max(most, behind), fmt.Sprintf("%s %d behind", p.Name, behind)
	}
	f := Finding{Status: grade(most, viewWarn, viewFail), Detail: fmt.Sprintf("%s; the log is at %d", strings.Join(details, ", "), head)}
	return f.with("check that a projector runs (millrace serve --roles projector), then watch: millrace views list"), nil
}

// checkpointAhead returns the finding for a reader whose checkpoint is ahead of the log.
func checkpointAhead(p projections.Projection, ahead int64) Finding {
	f := Finding{
		Status: Failing, Remedy: "millrace views rebuild " + p.Name,
		Detail: fmt.Sprintf("%s is %d positions past the end of the log: the database lost events that it has applied", p.Name, ahead),
	}
	if len(p.Tables) == 0 {
		f.Remedy = "it does not advance and cannot be rebuilt: see \"Restore\" in docs/runbook.md"
	}
	return f
}

func (d databaseDoctor) haltedStreams(ctx context.Context) (Finding, error) {
	list, err := projections.ListHalted(ctx, d.pool, "")
	if err != nil {
		return Finding{}, err
	}
	if len(list) == 0 {
		return Finding{Status: Healthy, Detail: "no stream is halted"}, nil
	}
	h := list[0]
	return Finding{
		Status: Failing, Detail: fmt.Sprintf("%d streams are halted; %s in %s: %s", len(list), h.Stream, h.Projection, h.Error),
		Remedy: fmt.Sprintf("remove the cause, then: millrace views resume %s %s", h.Projection, h.Stream),
	}, nil
}

// outbox checks the age of the oldest intent.
func (d databaseDoctor) outbox(ctx context.Context) (Finding, error) {
	intents, err := operatestore.New(d.pool).Intents(ctx)
	if err != nil {
		return Finding{}, err
	}
	if intents.Waiting == 0 {
		return Finding{Status: Healthy, Detail: "empty"}, nil
	}
	f := Finding{Status: grade(intents.Age, intentWarn, intentFail)}
	f.Detail = fmt.Sprintf("%d intents wait, the oldest for %s: %s, %d attempts", intents.Waiting, inspect.Span(intents.Age), intents.Workflow,
		intents.Attempts)
	if intents.Error != "" {
		f.Detail += ": " + intents.Error
	}
	return f.with("accepted jobs do not start: check that the api and worker roles can reach Temporal"), nil
}

func (d databaseDoctor) slots(ctx context.Context) (Finding, error) {
	old, err := operatestore.New(d.pool).JobsWithSlotFor(ctx, longSlot)
	if err != nil {
		return Finding{}, err
	}
	if len(old) == 0 {
		return Finding{Status: Healthy, Detail: "no slot is occupied for longer than " + inspect.Span(longSlot)}, nil
	}
	return Finding{
		Status: Warning,
		Detail: fmt.Sprintf("%d are occupied for longer than %s: %s", len(old), inspect.Span(longSlot),
			strings.Join(old[:min(len(old), shownSlots)], ", ")),
		Remedy: "see its progress: millrace jobs timeline " + old[0],
	}, nil
}

// workers checks the heartbeats of workers. A stopped worker is noticed within seconds, while Temporal remembers it
// for minutes.
func (d databaseDoctor) workers(ctx context.Context) (Finding, error) {
	force, err := livestore.NewWorkers(d.pool).Workforce(ctx)
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Status: Healthy, Detail: force.String()}
	if force.Workers == 0 {
		f.Status = Failing
	}
	return f.with("start one: millrace serve --roles worker"), nil
}

// diskDoctor checks the free space on the disk of the data directory.
type diskDoctor struct {
	dir     string
	reserve int64
}

func (d diskDoctor) free(context.Context) (Finding, error) {
	dir := filepath.Clean(d.dir)
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	if errors.Is(err, fs.ErrNotExist) {
		f := Finding{Status: Warning, Detail: fmt.Sprintf("the data directory %s is not on this machine", dir)}
		return f.with("run the doctor where the roles run, or give --data"), nil
	}
	if err != nil {
		return Finding{}, fmt.Errorf("read the free space of %s: %w", dir, err)
	}
	free, size := st.Bavail*uint64(st.Bsize), st.Blocks*uint64(st.Bsize) // block sizes are positive
	f := Finding{Status: Healthy, Detail: fmt.Sprintf("%.1f of %.1f GiB free in %s", gib(free), gib(size), dir)}
	switch {
	case free < uint64(max(d.reserve, 0)):
		f.Status = Failing
	case free < diskWarn:
		f.Status = Warning
	}
	return f.with(fmt.Sprintf("free some space; below %d MiB (MILLRACE_DISK_RESERVE) nothing new is accepted. values/ may be emptied while "+
		"nothing runs", d.reserve>>20)), nil
}

func gib(bytes uint64) float64 { return float64(bytes) / (1 << 30) }

// temporalDoctor checks Temporal and the workers that poll it.
type temporalDoctor struct {
	client    client.Client
	namespace string
	queue     string
}

// taskDoctor checks the workflow tasks of jobs.
type taskDoctor struct {
	client client.Client
	pool   *postgres.Pool
}

// maxDescribed bounds the jobs whose workflow is read.
const maxDescribed = 100

func (d taskDoctor) late(ctx context.Context) (Finding, error) {
	runs, err := jobstore.New(d.pool, nil).RunningAfter(ctx, "", sweep.LateAfter, maxDescribed+1)
	if err != nil {
		return Finding{}, err
	}
	var late []string
	more := len(runs) > maxDescribed
	runs, known := runs[:min(len(runs), maxDescribed)], 0
	for _, ref := range runs {
		state, err := sweep.StateOf(ctx, d.client, ref.Job.WorkflowID(ref.Run))
		if err != nil {
			return Finding{}, err
		}
		if state.Known { // otherwise it ended meanwhile, or the sweeper starts it again
			known++
		}
		if state.Late() {
			late = append(late, fmt.Sprintf("job %s: %s", ref.Job, terminal.Clean(state.Why())))
		}
	}
	checked := fmt.Sprintf("%d jobs that have had a slot for %s", known, inspect.Span(sweep.LateAfter))
	if more {
		checked = fmt.Sprintf("the first %d jobs that have had a slot for %s", maxDescribed, inspect.Span(sweep.LateAfter))
	}
	if len(late) == 0 {
		return Finding{Status: Healthy, Detail: "none is late, of " + checked}, nil
	}
	return Finding{
		Status: Warning, Detail: fmt.Sprintf("%d of %s do not go on: %s", len(late), checked, list(late)),
		Remedy: "if workflow tasks wait, the machine, Temporal or its database is overloaded, or no worker has this version: millrace workers " +
			"list; if an activity fails, the worker's log has the reason",
	}, nil
}

func (d temporalDoctor) server(ctx context.Context) (Finding, error) {
	began := time.Now()
	info, err := d.client.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return Finding{}, err
	}
	took := time.Since(began)
	ns, err := d.client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: d.namespace})
	if err != nil {
		return Finding{}, fmt.Errorf("namespace %s: %w", d.namespace, err)
	}
	retention := ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	return Finding{Status: Healthy, Detail: fmt.Sprintf("Temporal %s, answers in %s, namespace %s keeps histories for %s",
		info.GetServerVersion(), inspect.Span(took), d.namespace, inspect.Span(retention))}, nil
}

func (d temporalDoctor) graphWorkers(ctx context.Context) (Finding, error) {
	return d.pollers(ctx, d.queue)
}

func (d temporalDoctor) assetWorkers(ctx context.Context) (Finding, error) {
	return d.pollers(ctx, worker.AssetQueue(d.queue))
}

func (d temporalDoctor) modelWorkers(ctx context.Context) (Finding, error) {
	return d.pollers(ctx, worker.ModelQueue(d.queue))
}

func (d temporalDoctor) exportWorkers(ctx context.Context) (Finding, error) {
	return d.pollers(ctx, worker.ExportQueue(d.queue))
}

// firstPoll bounds the wait for the first poll of a queue: Temporal knows a worker a moment after it has started.
const firstPoll = 2 * time.Second

// pollers finds the workers that poll a task queue for workflow tasks. Temporal remembers them for some minutes, so
// the time of the last poll counts.
func (d temporalDoctor) pollers(ctx context.Context, queue string) (Finding, error) {
	described, err := d.client.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	for began := time.Now(); err == nil && len(described.GetPollers()) == 0 && time.Since(began) < firstPoll; {
		if err = pause.For(ctx, firstPoll/20); err == nil {
			described, err = d.client.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
		}
	}
	if err != nil {
		return Finding{}, err
	}
	var names []string
	last := time.Time{}
	for _, p := range described.GetPollers() {
		names = append(names, p.GetIdentity())
		if at := p.GetLastAccessTime().AsTime(); at.After(last) {
			last = at
		}
	}
	if len(names) == 0 {
		return Finding{}, fmt.Errorf("no worker polls task queue %s", queue)
	}
	quiet := max(0, time.Since(last))
	f := Finding{Status: grade(quiet, 2*time.Minute, 5*time.Minute)} // a poll lasts up to a minute
	f.Detail = fmt.Sprintf("%d poll %s, last seen %s ago: %s", len(names), queue, inspect.Span(quiet), strings.Join(names, ", "))
	return f.with("no worker polls any more: start one with millrace serve --roles worker"), nil
}
