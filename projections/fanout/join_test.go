package fanout_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/fanout"
)

func TestLateSubscriberGetsTheStateFirst(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.happen(t, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1, NodesTotal: 2},
		job.NodeStartedV1{Run: 1, Node: "3", Class: "Blur"})
	w.out.HandleFrame(preview("3", "now"))

	late, snap := w.subscribe(t)
	require.Equal(t, 1, snap.Remaining)
	require.Len(t, snap.Jobs, 1)
	require.Equal(t, "3", snap.Jobs[0].LastNode)
	require.Equal(t, "now", string(snap.Jobs[0].Preview.Frame.Data))
	require.Equal(t, "3", *snap.Jobs[0].Progress.CurrentNode)

	drain(t, w.sub)
	w.happen(t, job.NodeExecutedV1{Run: 1, Node: "3", Class: "Blur"}, job.SucceededV1{Run: 1})
	require.Equal(t, frames(drain(t, w.sub)), frames(drain(t, late)), "every socket sees the same")
}

func TestReplicaLoadsJobsThatStartedBeforeIt(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	log.append(t, owner, id, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1, NodesTotal: 2},
		job.NodesCachedV1{Run: 1}, job.NodeStartedV1{Run: 1, Node: "3", Class: "Blur"})
	hub := stream.NewHub(stream.HubOptions{})
	out := follow(5, log, log, hub)
	sub, snap, err := out.Subscribe(t.Context(), owner)
	require.NoError(t, err)
	require.Equal(t, 1, snap.Remaining)
	require.Equal(t, "3", snap.Jobs[0].LastNode)

	out.HandleFrame(progress("3", 1, 2))
	require.NoError(t, out.Handle(t.Context(), log.append(t, owner, id, job.NodeExecutedV1{Run: 1, Node: "3", Class: "Blur"},
		job.SucceededV1{Run: 1})))
	require.Equal(t, []string{
		progressState(nodeEntry("3", "running", 1, 2)), progressFrame("3", 1, 2),
		progressState(nodeEntry("3", "finished", 2, 2)), lifecycle("execution_success"), statusFrame(0), over(),
	}, frames(drain(t, sub)))
}

func TestEventsAfterTheReplicaPositionAreNotLostByTheLoad(t *testing.T) {
	t.Parallel()
	// The log is already ahead of what this replica has been given: the load must not
	// take over what the messages are still to tell.
	log := newLog(t)
	recs := log.append(t, owner, id, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1}, job.NodesCachedV1{Run: 1})
	hub := stream.NewHub(stream.HubOptions{})
	out := follow(1, log, log, hub)
	sub, snap, err := out.Subscribe(t.Context(), owner)
	require.NoError(t, err)
	require.Equal(t, 1, snap.Remaining)
	require.NoError(t, out.Handle(t.Context(), recs))
	require.Equal(t, []string{notification(), statusFrame(1), lifecycle("execution_start"), cachedFrame("[]")}, frames(drain(t, sub)))
}

func TestEndBetweenPositionAndLoadIsAnnounced(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	recs := log.append(t, owner, id, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1}, job.NodesCachedV1{Run: 1},
		job.SucceededV1{Run: 1})
	hub := stream.NewHub(stream.HubOptions{})
	out := follow(4, log, log, hub)
	sub, _, err := out.Subscribe(t.Context(), owner)
	require.NoError(t, err)
	require.NoError(t, out.Handle(t.Context(), recs[4:]))
	require.Equal(t, []string{lifecycle("execution_success"), statusFrame(0), over()}, frames(drain(t, sub)))
}

// A client whose job ended just before it connects gets the last messages of the job, once.
func TestTheEndOfAJobIsRepeatedToALateSubscriber(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		follows int64 // position of the replica when the client connects
		earlier bool  // another subscriber had the account loaded
		now     bool
		first   int // last messages with the snapshot
		then    int // messages of the end afterwards
	}{
		"the replica has the end":              {5, false, true, 2, 0},
		"the replica has the end, and follows": {1, true, true, 2, 0},
		"the replica is behind the end":        {4, false, true, 0, 3},
		"it ended long ago":                    {5, false, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newLog(t)
			log.now = c.now
			recs := log.append(t, owner, id, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1}, job.NodesCachedV1{Run: 1},
				job.SucceededV1{Run: 1})
			out := follow(c.follows, log, log, stream.NewHub(stream.HubOptions{}))
			if c.earlier {
				_, _, err := out.Subscribe(t.Context(), owner)
				require.NoError(t, err)
				require.NoError(t, out.Handle(t.Context(), recs))
			}
			sub, snap, err := out.Subscribe(t.Context(), owner)
			require.NoError(t, err)
			require.Len(t, snap.Ended, c.first)
			for i, kind := range []string{"execution_success", "executing"}[:c.first] {
				require.Contains(t, string(snap.Ended[i].Text), `"type":"`+kind+`"`)
				require.Equal(t, "c1", snap.Ended[i].ClientID)
			}
			require.NoError(t, out.Handle(t.Context(), recs))
			require.Len(t, frames(drain(t, sub)), c.then)
		})
	}
}

// slowJobs lets events arrive while the active jobs are being read.
type slowJobs struct {
	*memoryLog
	reading, proceed chan struct{}
}

func (s slowJobs) Active(ctx context.Context, account string) ([]job.Job, error) {
	close(s.reading)
	<-s.proceed
	return s.memoryLog.Active(ctx, account)
}

func TestEventsDuringTheLoadAreInTheSnapshotOnce(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	jobs := slowJobs{log, make(chan struct{}), make(chan struct{})}
	out := follow(0, jobs, log, stream.NewHub(stream.HubOptions{}))
	type joined struct {
		sub  *stream.Subscription
		snap stream.Snapshot
		err  error
	}
	done := make(chan joined, 1)
	go func() {
		sub, snap, err := out.Subscribe(t.Context(), owner)
		done <- joined{sub, snap, err}
	}()
	<-jobs.reading
	require.NoError(t, out.Handle(t.Context(), log.append(t, owner, id, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1})))
	close(jobs.proceed)
	got := <-done
	require.NoError(t, got.err)
	require.Equal(t, 1, got.snap.Remaining)
	require.Equal(t, job.Running, got.snap.Jobs[0].Job.State)
	require.NoError(t, out.Handle(t.Context(), log.append(t, owner, id, job.NodesCachedV1{Run: 1})))
	require.Equal(t, []string{cachedFrame("[]")}, frames(drain(t, got.sub)))
}

func TestHistoryHoldsTheLifecycleMessages(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	log.append(t, owner, id, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1}, job.NodesCachedV1{Run: 1, Nodes: []string{"3"}})
	active, err := log.Active(t.Context(), owner)
	require.NoError(t, err)
	var kinds []string
	for _, e := range fanout.History(active[0]) {
		kinds = append(kinds, e.Type)
	}
	require.Equal(t, []string{"execution_start", "execution_cached"}, kinds)
}

// brokenLog cannot be read.
type brokenLog struct{ *memoryLog }

func (brokenLog) ReadStream(context.Context, string, int64, int) ([]eventlog.Recorded, error) {
	return nil, errors.New("disk on fire")
}

func TestFailingAccountIsCutAndOthersContinue(t *testing.T) {
	t.Parallel()
	log, hub := newLog(t), stream.NewHub(stream.HubOptions{})
	early := log.append(t, owner, id, submitted(), job.CanceledV1{})
	out := fanout.New(log, brokenLog{log}, log.registry, hub, slog.New(slog.DiscardHandler))
	out.Begin(1)
	lost, _, err := out.Subscribe(t.Context(), owner)
	require.NoError(t, err)
	kept, _, err := out.Subscribe(t.Context(), "other")
	require.NoError(t, err)
	require.NoError(t, out.Handle(t.Context(), early[1:])) // its beginning cannot be read
	_, err = lost.Next(t.Context())
	var closed *stream.Closed
	require.ErrorAs(t, err, &closed)
	require.Equal(t, stream.CloseLost, closed.Reason)
	require.NoError(t, out.Handle(t.Context(), log.append(t, "other", "99999999-2222-4333-8444-555555555555", submitted())))
	require.Equal(t, []string{statusFrame(1)}, frames(drain(t, kept)))
}

func TestEventOfANewerVersionIsSkipped(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.happen(t, submitted())
	recs := w.log.append(t, owner, id, job.AdmittedV1{Run: 1})
	recs[0].Type = "job.dreamed.v9"
	require.NoError(t, w.out.Handle(t.Context(), recs))
	w.happen(t, job.CanceledV1{})
	require.Equal(t, []string{statusFrame(1), statusFrame(0)}, frames(drain(t, w.sub)))
}
