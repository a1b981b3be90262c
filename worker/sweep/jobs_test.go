package sweep_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/worker/sweep"
)

// slots are the runs that hold one, and those that were ended.
type slots struct {
	sweep.Slots
	held     []job.RunRef
	ended    []job.ID
	requeued []job.ID
}

func (s *slots) RunningAfter(_ context.Context, after job.ID, _ time.Duration, limit int) ([]job.RunRef, error) {
	at := 0
	for after != "" && s.held[at].Job != after {
		at++
	}
	if after != "" {
		at++
	}
	return s.held[at:min(len(s.held), at+limit)], nil
}

func (s *slots) Requeue(_ context.Context, id job.ID, _, _ string) error {
	s.requeued = append(s.requeued, id)
	return nil
}

func (s *slots) End(_ context.Context, e job.Ending) (job.Ended, error) {
	s.ended = append(s.ended, e.ID)
	return job.Ended{Applied: true}, nil
}

// queues are accounts whose jobs wait, and how many slots each was given.
type queues struct {
	waiting []string
	given   map[string]int
}

func (l *queues) Queued(_ context.Context, after string, _ int) ([]string, error) {
	if after != "" {
		return nil, nil
	}
	return l.waiting, nil
}

func (l *queues) Admit(_ context.Context, account string, b job.Bounds) error {
	l.given[account] = b.Slots
	return nil
}

func TestSlotsFreedWithoutAnEndingAdmitQueuedJobs(t *testing.T) {
	t.Parallel()
	l := &queues{waiting: []string{"a", "b"}, given: map[string]int{}}
	sweeper := sweep.JobSweeper{Queues: l, Tiers: &slots{}}
	require.NoError(t, sweeper.Admit(t.Context()))
	require.Equal(t, map[string]int{"a": 1, "b": 1}, l.given)
}

func (*slots) Bounds(context.Context, string) (job.Bounds, error) { return job.Bounds{Slots: 1}, nil }

func TestFailingRevivalDoesNotDelayOtherJobs(t *testing.T) {
	t.Parallel()
	broken, lost := job.NewID(), job.NewID()
	looked := all(terminated, lost)
	looked.broken = broken
	s := &slots{held: []job.RunRef{{Job: broken, Account: "a", Run: 1}, {Job: lost, Account: "a", Run: 1}}}
	sweeper := sweep.JobSweeper{
		Client: looked, Slots: s, Ender: s, Tiers: s, Log: slog.New(slog.DiscardHandler),
	}
	require.ErrorContains(t, sweeper.Sweep(t.Context()), string(broken))
	require.Equal(t, []job.ID{lost}, s.ended)
}

// A run whose workflow went with the engine's database, and one that stands behind more held slots than one
// page shows: each is looked at in one round.
func TestSlotsWithoutAWorkflowAreRunAgain(t *testing.T) {
	t.Parallel()
	const many = 1001
	s, ids := &slots{}, []job.ID{}
	for range many {
		ids = append(ids, job.NewID())
		s.held = append(s.held, job.RunRef{Job: ids[len(ids)-1], Account: "a", Run: 1})
	}
	forgotten := ids[many-1]
	sweeper := sweep.JobSweeper{
		Client: all(terminated, ids[:many-1]...), Slots: s, Ender: s, Tiers: s,
		Log: slog.New(slog.DiscardHandler),
	}
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Len(t, s.ended, many-1)
	require.Equal(t, []job.ID{forgotten}, s.requeued)
}

// A workflow completes behind the end of its run. Where the log has no end, the log was rewound, and the run is
// started again, a few times.
func TestARunWhoseEndWasLostRunsAgain(t *testing.T) {
	t.Parallel()
	rewound, failed, canceled, closed := job.NewID(), job.NewID(), job.NewID(), job.NewID()
	s := &slots{held: []job.RunRef{
		{Job: rewound, Account: "a", Run: 1},
		{Job: failed, Account: "a", Run: 1},
		{Job: canceled, Account: "a", Run: 1},
		{Job: closed, Account: "a", Run: 1},
	}}
	known := all(enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, rewound)
	known.status[failed], known.status[closed] = enums.WORKFLOW_EXECUTION_STATUS_FAILED, terminated
	known.status[canceled] = enums.WORKFLOW_EXECUTION_STATUS_CANCELED
	sweeper := sweep.JobSweeper{
		Client: known, Slots: s, Ender: s, Tiers: s, Log: slog.New(slog.DiscardHandler),
	}
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Equal(t, []job.ID{rewound, failed, canceled}, s.requeued, "what nobody meant to end goes on")
	require.Equal(t, []job.ID{closed}, s.ended, "what somebody closed is over")
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Equal(t, []job.ID{rewound, failed, canceled}, s.requeued, "but not at every round")
}

// However often a run loses its workflow, it is started again, and less and less often.
func TestRevivalsOfOneRunBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		id := job.NewID()
		s := &slots{held: []job.RunRef{{Job: id, Account: "a", Run: 1}}}
		sweeper := sweep.JobSweeper{
			Client: all(enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, id), Slots: s, Queues: &queues{}, Ender: s, Tiers: s,
			Log: slog.New(slog.DiscardHandler),
		}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		require.NoError(t, sweeper.Run(ctx))
		require.Empty(t, s.ended)
		require.Greater(t, len(s.requeued), 24)
		require.Less(t, len(s.requeued), 40)
	})
}

// After a restore of an older log, Temporal has completed the workflows of jobs that are queued again. Each round frees slots
// for the next such jobs, so there is a round every 2 s, also after one that could not list them.
func TestRoundsFollowEachOtherWhileTheyReviveWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const batches, each = 8, 6
		known := all[job.ID](enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		s := &batch{}
		next := func() { // each batch has waited for slots of the one before
			s.held = nil
			for range each {
				id := job.NewID()
				known.status[id] = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
				s.held = append(s.held, job.RunRef{Job: id, Account: "a", Run: 1})
			}
			s.since = time.Now()
		}
		ctx, stop := context.WithCancel(t.Context())
		s.taken = func() {
			if len(s.requeued) == batches*each {
				stop()
			}
			next()
		}
		next()
		sweeper := sweep.JobSweeper{Client: known, Slots: s, Queues: &queues{}, Ender: s, Tiers: s, Log: slog.New(slog.DiscardHandler)}
		began := time.Now()
		require.NoError(t, sweeper.Run(ctx))
		require.Less(t, time.Since(began), 2*time.Minute, "not a minute for each batch")
	})
}

// batch is slots whose runs all have the same age. Another batch takes their place when all were requeued.
type batch struct {
	slots
	since time.Time
	taken func()
	lists int
}

func (b *batch) RunningAfter(ctx context.Context, after job.ID, age time.Duration, limit int) ([]job.RunRef, error) {
	if b.lists++; b.lists%3 == 0 {
		return nil, errors.New("the database is away")
	}
	if time.Since(b.since) < age {
		return nil, nil
	}
	return b.slots.RunningAfter(ctx, after, age, limit)
}

func (b *batch) Requeue(ctx context.Context, id job.ID, actor, reason string) error {
	err := b.slots.Requeue(ctx, id, actor, reason)
	if id == b.held[len(b.held)-1].Job {
		b.taken()
	}
	return err
}

func (*slots) ForgetMarks(context.Context) error { return nil }

// A job whose workflow task waits for a worker, is not answered by the worker that took it, or is tried again and again, is late.
func TestSweepCountsLateWorkflowTasks(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(time.Now().Add(-d)) }
	scheduled, started := enums.PENDING_WORKFLOW_TASK_STATE_SCHEDULED, enums.PENDING_WORKFLOW_TASK_STATE_STARTED
	for name, c := range map[string]struct {
		task *workflowpb.PendingWorkflowTaskInfo
		late int64
	}{
		"no task":            {nil, 0},
		"waits for a second": {&workflowpb.PendingWorkflowTaskInfo{State: scheduled, ScheduledTime: ago(time.Second), Attempt: 1}, 0},
		"waits for a minute": {&workflowpb.PendingWorkflowTaskInfo{State: scheduled, ScheduledTime: ago(time.Minute), Attempt: 1}, 1},
		"taken a second ago, after a minute": {
			&workflowpb.PendingWorkflowTaskInfo{State: started, ScheduledTime: ago(time.Minute), StartedTime: ago(time.Second), Attempt: 1}, 0,
		},
		"taken a minute ago": {
			&workflowpb.PendingWorkflowTaskInfo{State: started, ScheduledTime: ago(time.Minute), StartedTime: ago(time.Minute), Attempt: 1}, 1,
		},
		"second try": {&workflowpb.PendingWorkflowTaskInfo{State: scheduled, ScheduledTime: ago(0), Attempt: 2}, 0},
		"third try":  {&workflowpb.PendingWorkflowTaskInfo{State: scheduled, ScheduledTime: ago(0), Attempt: 3}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, other := job.NewID(), job.NewID()
			looked := all(running, id, other)
			looked.tasks = map[job.ID]*workflowpb.PendingWorkflowTaskInfo{id: c.task}
			s := &slots{held: []job.RunRef{{Job: id, Account: "a", Run: 1}, {Job: other, Account: "a", Run: 1}}}
			var late atomic.Int64
			late.Store(7)
			sweeper := sweep.JobSweeper{Client: looked, Slots: s, Ender: s, Tiers: s, Log: slog.New(slog.DiscardHandler), Late: &late}
			for range 2 {
				require.NoError(t, sweeper.Sweep(t.Context()))
				require.Equal(t, c.late, late.Load(), "each round counts anew")
			}
		})
	}
}
