package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// got is the log of one job, in memory.
type got struct{ recorded []eventlog.Recorded }

func (l *got) Append(context.Context, eventlog.Append) ([]eventlog.Recorded, error) {
	return nil, fault.New(fault.Internal, "", "it is read only")
}

func (l *got) ReadStream(_ context.Context, _ string, after int64, limit int) ([]eventlog.Recorded, error) {
	rest := l.recorded[min(after, int64(len(l.recorded))):]
	return rest[:min(limit, len(rest))], nil
}

func tellLog(t *testing.T, events ...eventlog.Event) job.Logs {
	t.Helper()
	r := eventlog.NewRegistry()
	require.NoError(t, job.Register(r))
	l := &got{}
	for i, e := range events {
		data, err := r.Encode(e)
		require.NoError(t, err)
		l.recorded = append(l.recorded, eventlog.Recorded{
			Version: int64(i + 1), Account: "acme", Type: e.Type, Data: data, RecordedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		})
	}
	return job.Logs{Events: l, Registry: r}
}

func TestLogsAreTheirAccountsAndBounded(t *testing.T) {
	t.Parallel()
	events := []eventlog.Event{{Type: job.TypeSubmitted, Data: job.SubmittedV1{}}, {Type: job.TypeAdmitted, Data: job.AdmittedV1{Run: 1}}}
	for i := range 450 {
		events = append(events, eventlog.Event{Type: job.TypeNodeExecuted, Data: job.NodeExecutedV1{
			Run: 1, Node: fmt.Sprint(i), Class: "X", Log: []string{strings.Repeat("é", 2000), "two\nlines"},
		}})
	}
	events = append(events, eventlog.Event{Type: job.TypeCanceled, Data: job.CanceledV1{Run: 1, At: &job.NodeRef{Node: "7", Class: "X"}}})
	logs := tellLog(t, events...)
	log, err := logs.Log(t.Context(), "acme", job.NewID())
	require.NoError(t, err)
	require.True(t, log.Truncated)
	require.LessOrEqual(t, len(log.Text), 256<<10)
	require.Greater(t, len(log.Text), 254<<10, "what is dropped is no more than needed")
	require.True(t, strings.HasPrefix(log.Text, "2026-01-02T03:04:05.000Z INFO  "), "whole lines only")
	require.True(t, strings.HasSuffix(log.Text, "INFO  cancelled at node 7 (X)\n"))
	for line := range strings.SplitSeq(log.Text, "\n") {
		require.Less(t, len(line), 1200)
	}
	require.Contains(t, log.Text, "INFO  node 449 (X): two\n2026-01-02T03:04:05.000Z INFO  lines\n")

	for _, account := range []string{"other", ""} {
		_, err = logs.Log(t.Context(), account, job.NewID())
		require.True(t, fault.Is(err, fault.NotFound))
	}
	quiet, err := tellLog(t, events[0]).Log(t.Context(), "acme", job.NewID())
	require.NoError(t, err)
	require.Empty(t, quiet.Text, "a job that waits has no log")
}

func TestNodeLogIsBounded(t *testing.T) {
	t.Parallel()
	lines := job.LogLines(append(make([]string, 100), strings.Repeat("ö", 1000)))
	require.Len(t, lines, 64)
	require.LessOrEqual(t, len(lines[63]), 1024)
	require.NotContains(t, lines[63], "\uFFFD")
}

// The log says what became of a job, its slot and its files, also if a node failed or the job expired.
func TestLogSaysWhatHappened(t *testing.T) {
	t.Parallel()
	logs := tellLog(t,
		eventlog.Event{Type: job.TypeSubmitted, Data: job.SubmittedV1{
			Calls: &job.Calls{Mark: ":", Nodes: map[string]string{"4": "Deployment.d"}},
		}},
		eventlog.Event{Type: job.TypeNodesCached, Data: job.NodesCachedV1{Run: 1, Nodes: []string{"3", "4:1", "4:2"}}},
		eventlog.Event{Type: job.TypeNodeStarted, Data: job.NodeStartedV1{Run: 1, Node: "1", Class: "S", Attempt: 1}},
		eventlog.Event{Type: job.TypeNodeStarted, Data: job.NodeStartedV1{Run: 1, Node: "4:3", Class: "S", Attempt: 2}},
		eventlog.Event{Type: job.TypeSegmentWaiting, Data: job.SegmentWaitingV1{Run: 1, Node: "5", Reason: "all are busy"}},
		eventlog.Event{Type: job.TypeSegmentWaiting, Data: job.SegmentWaitingV1{Run: 1, Node: "5", Slot: true, Reason: "all are taken"}},
		eventlog.Event{Type: job.TypeSegmentPlaced, Data: job.SegmentPlacedV1{
			Run: 1, Count: 2, URL: "http://s", Attempt: 1, Reason: "it is free",
		}},
		eventlog.Event{Type: job.TypeSegmentEnded, Data: job.SegmentEndedV1{
			Run: 1, URL: "http://s", Attempt: 1, Outcome: job.SegmentFailed, Millis: 7, Problem: "broken",
		}},
		eventlog.Event{Type: job.TypeSlotReleased, Data: job.SlotReleasedV1{Run: 1}},
		eventlog.Event{Type: job.TypeSlotTaken, Data: job.SlotTakenV1{Run: 1}},
		eventlog.Event{Type: job.TypeNodeExecuted, Data: job.NodeExecutedV1{
			Run: 1, Node: "1", Class: "S", UI: json.RawMessage(`{"text":["shown"]}`), Files: []job.OutputFile{{Filename: "x.png", Size: 7}},
		}},
		eventlog.Event{Type: job.TypeNodeFailed, Data: job.NodeFailedV1{Run: 1, Failure: job.Failure{
			Node: "2", Class: "F", ExceptionType: "ServiceError", Message: "broken", Traceback: []string{"line of the traceback"},
		}}},
		eventlog.Event{Type: job.TypeExpired, Data: job.ExpiredV1{}},
	)
	log, err := logs.Log(t.Context(), "acme", job.NewID())
	require.NoError(t, err)
	for _, line := range []string{
		"INFO  2 nodes are cached: 3, 4\n", "INFO  node 1 (S): started\n", "INFO  node 4 (Deployment.d): started, attempt 2\n",
		"INFO  node 5: waits for a server: all are busy", "INFO  node 5: waits for a slot: all are taken",
		"INFO  2 nodes run on server http://s, attempt 1: it is free", "WARN  server http://s, attempt 1: failed after 7 ms: broken",
		"INFO  node 1 (S): shown\n", "INFO  node 1 (S): finished",
		"INFO  the slot of the job was given back", "INFO  the job has a slot again", "INFO  node 1 (S): saved x.png, 7 bytes",
		"ERROR node 2 (F): failed: ServiceError: broken", "ERROR line of the traceback", "ERROR expired before it ended",
	} {
		require.Contains(t, log.Text, line)
	}
}

// Clients know a job by the id that its account chose, and otherwise by its own.
func TestPublicIDOfAJob(t *testing.T) {
	t.Parallel()
	j := job.Job{ID: job.NewID()}
	require.Equal(t, job.PublicID(j.ID), j.PublicID())
	j.Chosen = "11111111-2222-4333-8444-555555555555"
	require.Equal(t, j.Chosen, j.PublicID())
}

func TestAnAssignmentNamesANodeAndAnInput(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]job.Assignment{
		"3.steps=20":   {Target: "3.steps", Value: []byte("20")},
		"3.text=a cat": {Target: "3.text", Value: []byte(`"a cat"`)},
		"a.b.text=x=y": {Target: "a.b.text", Value: []byte(`"x=y"`)},
	} {
		got, err := job.ParseAssignment(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, bad := range []string{"3.steps", "steps=20", ".steps=20", "3.=20", ""} {
		_, err := job.ParseAssignment(bad)
		require.True(t, fault.Is(err, fault.Invalid), bad)
	}
}
