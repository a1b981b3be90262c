package job_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

const id = job.ID("0b9f3f2c-6a55-4f3e-9d8e-3f1c5a6b7c8d")

// fold applies events as the versions 1, 2, 3 … of one stream, a second apart.
func fold(events ...any) job.Job {
	var j job.Job
	for i, event := range events {
		j = job.Fold(j, recorded(i+1), event)
	}
	return j
}

func recorded(version int) eventlog.Recorded {
	return eventlog.Recorded{
		Position: int64(100 + version), Stream: id.Stream(), Version: int64(version), Account: "acme",
		RecordedAt: time.Date(2026, 1, 2, 3, 4, version, 0, time.UTC),
	}
}

var (
	submitted = job.SubmittedV1{Number: 3, Surface: job.SurfaceV2, Targets: []string{"2"}, NodesTotal: 2}
	admitted  = job.AdmittedV1{Run: 1}
	started   = job.StartedV1{Run: 1, NodesTotal: 2, Execution: "x"}
	cached    = job.NodesCachedV1{Run: 1, Nodes: []string{}}
	first     = job.NodeStartedV1{Run: 1, Node: "1", Class: "A"}
	firstDone = job.NodeExecutedV1{Run: 1, Node: "1", Class: "A"}
	second    = job.NodeStartedV1{Run: 1, Node: "2", Class: "B"}
	shown     = job.NodeExecutedV1{Run: 1, Node: "2", Class: "B", UI: json.RawMessage(`{"text":["x"]}`)}
)

func TestStates(t *testing.T) {
	t.Parallel()
	running := []any{submitted, admitted, started, cached, first}
	for name, tc := range map[string]struct {
		events []any
		want   job.State
	}{
		"submitted":                      {[]any{submitted}, job.Queued},
		"admitted":                       {[]any{submitted, admitted}, job.Running},
		"started":                        {running, job.Running},
		"asked to stop":                  {append(running[:5:5], job.CancelRequestedV1{Run: 1}), job.Canceling},
		"stopped":                        {append(running[:5:5], job.CancelRequestedV1{Run: 1}, job.CanceledV1{Run: 1}), job.Canceled},
		"done before it noticed":         {append(running[:5:5], job.CancelRequestedV1{Run: 1}, job.SucceededV1{Run: 1}), job.Succeeded},
		"canceled while waiting":         {[]any{submitted, job.CanceledV1{}}, job.Canceled},
		"expired while waiting":          {[]any{submitted, job.ExpiredV1{}}, job.Expired},
		"failed":                         {append(running[:5:5], job.FailedV1{Run: 1}), job.Failed},
		"an event behind the end":        {append(running[:5:5], job.SucceededV1{Run: 1}, job.FailedV1{Run: 1}), job.Succeeded},
		"a node event behind the end":    {append(running[:5:5], job.CanceledV1{Run: 1}, firstDone), job.Canceled},
		"an event that nobody knows yet": {[]any{submitted, struct{}{}}, job.Queued},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := fold(tc.events...)
			require.Equal(t, tc.want, j.State)
			require.EqualValues(t, len(tc.events), j.Version)
			if tc.want.Final() {
				require.NotNil(t, j.EndedAt)
				require.Empty(t, j.Running)
			}
		})
	}
}

func TestFoldOfARun(t *testing.T) {
	t.Parallel()
	j := fold(submitted, admitted, started, cached, first, firstDone, second)
	require.Equal(t, id, j.ID)
	require.Equal(t, "acme", j.Account)
	require.Equal(t, map[string]string{"2": "B"}, j.Running)
	require.Equal(t, []string{"1"}, j.Executed)
	require.Equal(t, 1, j.NodesDone)
	require.Equal(t, "x", j.Execution)
	j = job.Fold(j, recorded(8), shown)
	require.Equal(t, []job.NodeOutput{{Node: "2", Class: "B", UI: shown.UI}}, j.Outputs)
	require.Equal(t, 2, j.NodesDone)
	require.EqualValues(t, 108, j.Position)
}

// What was recorded may run again behind the loss of a worker, and no second end of it is recorded: what the job is at
// is the node that has not ended.
func TestRetriedNodeIsNotListedAsRunningTwice(t *testing.T) {
	t.Parallel()
	again, secondAgain := first, second
	again.Attempt, secondAgain.Attempt = 2, 2
	j := fold(submitted, admitted, started, cached, first, firstDone, second, again, secondAgain)
	require.Equal(t, map[string]string{"2": "B"}, j.Running)
	require.Equal(t, 1, j.NodesDone)
	require.Empty(t, fold(submitted, admitted, started, cached, first, firstDone, second, again, secondAgain, shown).Running)
}

func TestDeliveringTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	events := []any{submitted, admitted, started, cached, first, firstDone, second, shown, job.SucceededV1{Run: 1}}
	once := fold(events...)
	twice := once
	for i, event := range events {
		twice = job.Fold(twice, recorded(i+1), event)
	}
	require.Equal(t, once, twice)
}

// A fold keeps what it was given: a view holds the state before while the state after is made.
func TestFoldDoesNotChangeItsInput(t *testing.T) {
	t.Parallel()
	before := fold(submitted, admitted, started, cached, first)
	raw, err := json.Marshal(before)
	require.NoError(t, err)
	for _, event := range []any{firstDone, second, shown, job.NodeFailedV1{Run: 1, Failure: job.Failure{Node: "1"}}, job.CanceledV1{Run: 1}} {
		job.Fold(before, recorded(6), event)
	}
	after, err := json.Marshal(before)
	require.NoError(t, err)
	require.JSONEq(t, string(raw), string(after))
}

func TestEventsOfAnotherRunOnlyMoveTheVersion(t *testing.T) {
	t.Parallel()
	j := fold(submitted, admitted, started, cached, job.NodeExecutedV1{Run: 2, Node: "1", Class: "A"})
	require.Empty(t, j.Executed)
	require.EqualValues(t, 5, j.Version)
}

func TestEventIDsAreStableAndDistinct(t *testing.T) {
	t.Parallel()
	base := job.EventID(id, 1, "n", 0, job.TypeNodeExecuted)
	require.Equal(t, base, job.EventID(id, 1, "n", 0, job.TypeNodeExecuted))
	for _, other := range []any{
		job.EventID(job.NewID(), 1, "n", 0, job.TypeNodeExecuted), job.EventID(id, 2, "n", 0, job.TypeNodeExecuted),
		job.EventID(id, 1, "m", 0, job.TypeNodeExecuted), job.EventID(id, 1, "n", 1, job.TypeNodeExecuted),
		job.EventID(id, 1, "n", 0, job.TypeNodeStarted), job.EventID(id, 1, `n",0,"`, 0, job.TypeNodeExecuted),
	} {
		require.NotEqual(t, base, other)
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	got, err := job.ParseID(string(id))
	require.NoError(t, err)
	require.Equal(t, id, got)
	for _, bad := range []string{
		"", "x", "0B9F3F2C-6A55-4F3E-9D8E-3F1C5A6B7C8D", "{0b9f3f2c-6a55-4f3e-9d8e-3f1c5a6b7c8d}",
		"0b9f3f2c6a554f3e9d8e3f1c5a6b7c8d",
	} {
		_, err := job.ParseID(bad)
		require.Error(t, err, bad)
	}
	of, ok := job.IDOfStream(id.Stream())
	require.True(t, ok)
	require.Equal(t, id, of)
	_, ok = job.IDOfStream("asset-" + string(id))
	require.False(t, ok)
}
