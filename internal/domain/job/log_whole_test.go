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

const stamp = "2026-01-02T03:04:05.000Z "

// Every event of a run has its lines, and no other event has one.
func TestTheLogOfAJobWordForWord(t *testing.T) {
	t.Parallel()
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprint("t", i)
	}
	ui, err := json.Marshal(map[string]any{"text": many})
	require.NoError(t, err)
	var texts []string
	for _, text := range many[:64] {
		texts = append(texts, "INFO  node 4 (Deployment.d): "+text)
	}
	calls := &job.Calls{Mark: ":", Nodes: map[string]string{"4": "Deployment.d"}}
	for _, c := range []struct {
		kind string
		data any
		want []string
	}{
		{job.TypeAdmitted, job.AdmittedV1{Run: 2}, []string{"INFO  run 2: admitted"}},
		{job.TypeStarted, job.StartedV1{Run: 2, NodesTotal: 3}, []string{"INFO  run 2: started, 3 nodes"}},
		{job.TypeNodesCached, job.NodesCachedV1{}, nil},
		{job.TypeNodesCached, job.NodesCachedV1{Nodes: []string{"4:1"}}, []string{"INFO  1 nodes are cached: 4"}},
		{job.TypeCancelRequested, job.CancelRequestedV1{}, []string{"INFO  cancellation was requested"}},
		{job.TypeSucceeded, job.SucceededV1{Run: 2}, []string{"INFO  run 2: succeeded"}},
		{job.TypeFailed, job.FailedV1{Run: 2, Failure: job.Failure{Message: "no"}}, []string{"ERROR run 2: failed: no"}},
		{job.TypeCanceled, job.CanceledV1{}, []string{"INFO  cancelled"}},
		{job.TypeCanceled, job.CanceledV1{At: &job.NodeRef{Node: "4:1", Class: "A"}}, []string{"INFO  cancelled at node 4 (Deployment.d)"}},
		{job.TypeExpired, job.ExpiredV1{}, []string{"ERROR expired before it ended"}},
		{job.TypeRequeued, job.RequeuedV1{Run: 2}, nil},
		{job.TypeNodeStarted, job.NodeStartedV1{Node: "1", Class: "A", Attempt: 1}, []string{"INFO  node 1 (A): started"}},
		{job.TypeNodeStarted, job.NodeStartedV1{Node: "4:1", Class: "A", Attempt: 2}, []string{
			"INFO  node 4 (Deployment.d): started, attempt 2",
		}},
		{job.TypeNodeExecuted, job.NodeExecutedV1{Node: "1", Class: "A", Cached: true, Millis: 3}, []string{"INFO  node 1 (A): cached"}},
		{
			job.TypeNodeExecuted,
			job.NodeExecutedV1{
				Node: "4:1", Class: "A", Blocked: "it is blocked", Log: []string{"a\nb\n", ""}, UI: ui, Millis: 3,
				Files: []job.OutputFile{{Filename: "x.png", Size: 7}},
			},
			append(append([]string{
				"WARN  node 4 (Deployment.d): did not run: it is blocked", "INFO  node 4 (Deployment.d): a", "INFO  b",
				"INFO  node 4 (Deployment.d): ",
			}, texts...), "INFO  node 4 (Deployment.d): saved x.png, 7 bytes", "INFO  node 4 (Deployment.d): finished in 3 ms"),
		},
		{job.TypeNodeExecuted, job.NodeExecutedV1{Node: "1", Class: "A", UI: json.RawMessage(`{"text":"no list"}`)}, []string{
			"INFO  node 1 (A): finished in 0 ms",
		}},
		{job.TypeSegmentWaiting, job.SegmentWaitingV1{Node: "4:1", Reason: "busy"}, []string{"INFO  node 4: waits for a server: busy"}},
		{job.TypeSegmentWaiting, job.SegmentWaitingV1{Node: "1", Reason: "taken", Slot: true}, []string{"INFO  node 1: waits for a slot: taken"}},
		{job.TypeSlotReleased, job.SlotReleasedV1{}, []string{"INFO  the slot of the job was given back while it waits for a server"}},
		{job.TypeSlotTaken, job.SlotTakenV1{}, []string{"INFO  the job has a slot again"}},
		{job.TypeSegmentPlaced, job.SegmentPlacedV1{Count: 2, URL: "http://s", Attempt: 3, Reason: "free"}, []string{
			"INFO  2 nodes run on server http://s, attempt 3: free",
		}},
		{job.TypeSegmentEnded, job.SegmentEndedV1{URL: "http://s", Attempt: 3, Outcome: job.SegmentDone, Millis: 4}, []string{
			"INFO  server http://s, attempt 3: done after 4 ms",
		}},
		{job.TypeSegmentEnded, job.SegmentEndedV1{URL: "http://s", Attempt: 3, Outcome: job.SegmentFailed, Millis: 4, Problem: "p"}, []string{
			"WARN  server http://s, attempt 3: failed after 4 ms: p",
		}},
		{
			job.TypeNodeFailed,
			job.NodeFailedV1{Failure: job.Failure{
				Node: "4:1", Class: "A", ExceptionType: "E", RuntimeType: "R", Message: "m", Traceback: []string{"node 4:1 (A)\n", "E: m\n"},
			}},
			[]string{"ERROR node 4 (Deployment.d): failed: E (R): m", "ERROR node 4 (Deployment.d)", "ERROR E: m"},
		},
		{job.TypeNodeFailed, job.NodeFailedV1{Failure: job.Failure{Node: "1", Class: "A", ExceptionType: "E", Message: "m"}}, []string{
			"ERROR node 1 (A): failed: E: m",
		}},
	} {
		log, err := tellLog(t, eventlog.Event{Type: job.TypeSubmitted, Data: job.SubmittedV1{Calls: calls}}, eventlog.Event{
			Type: c.kind, Data: c.data,
		}).Log(t.Context(), "acme", id)
		require.NoError(t, err)
		var want string
		for _, line := range c.want {
			want += stamp + line + "\n"
		}
		require.Equal(t, want, log.Text, "%T", c.data)
		require.False(t, log.Truncated)
		require.Equal(t, len(c.want) > 0, !log.At.IsZero(), "the time of the last line")
		if len(c.want) > 0 {
			require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), log.At)
		}
	}
}

// logs returns the log of a job with a node that logged these texts.
func logs(t *testing.T, texts ...string) job.Log {
	t.Helper()
	log, err := tellLog(t, eventlog.Event{Type: job.TypeNodeExecuted, Data: job.NodeExecutedV1{Node: "1", Class: "A", Log: texts}}).
		Log(t.Context(), "acme", id)
	require.NoError(t, err)
	return log
}

// A log of 256 KiB is whole. One byte more, and it lacks its first line.
func TestALogIsWholeUpToItsBound(t *testing.T) {
	t.Parallel()
	const most = 256 << 10
	var texts []string
	for range 200 {
		texts = append(texts, strings.Repeat("x", 1000))
	}
	line := len(logs(t, "", "").Text) - len(logs(t, "").Text)
	for left := most - len(logs(t, texts...).Text); left > 0; {
		n := min(left-line, 900)
		if left -= line + n; left > 0 && left <= line { // leave space for the line after it
			n, left = n-2*line, left+2*line
		}
		texts = append(texts, strings.Repeat("y", n))
	}
	log := logs(t, texts...)
	require.Len(t, log.Text, most)
	require.False(t, log.Truncated)
	texts[len(texts)-1] += "y"
	longer := logs(t, texts...)
	require.True(t, longer.Truncated)
	require.Equal(t, logs(t, texts[1:]...).Text, longer.Text)
}

// A log of many times its bound has the last lines that fit, each once.
func TestALongLogHasItsLastLines(t *testing.T) {
	t.Parallel()
	var texts []string
	for i := range 2000 {
		texts = append(texts, fmt.Sprintf("%04d%s", i, strings.Repeat("x", 900)))
	}
	log := logs(t, texts...)
	require.True(t, log.Truncated)
	lines := strings.Split(strings.TrimSuffix(log.Text, "\n"), "\n")
	length, last := len(lines[0])+1, len(lines[len(lines)-1])+1
	require.Len(t, lines, (256<<10-last)/length+1, "as many as fit")
	for i, line := range lines[:len(lines)-1] {
		require.Equal(t, fmt.Sprintf("%sINFO  node 1 (A): %04d", stamp, 2000-len(lines)+1+i), line[:len(line)-900])
	}
	require.Equal(t, stamp+"INFO  node 1 (A): finished in 0 ms", lines[len(lines)-1])
}

// A line is cut at 1 KiB, between two characters.
func TestALineOfALogIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	lead := "node 1 (A): "
	for text, want := range map[string]string{
		strings.Repeat("x", 1024-len(lead)):        strings.Repeat("x", 1024-len(lead)),
		strings.Repeat("x", 1025-len(lead)):        strings.Repeat("x", 1024-len(lead)) + "…",
		strings.Repeat("x", 1023-len(lead)) + "é":  strings.Repeat("x", 1023-len(lead)) + "…",
		strings.Repeat("x", 1023-len(lead)) + "éé": strings.Repeat("x", 1023-len(lead)) + "…",
		strings.Repeat("x", 1022-len(lead)) + "éé": strings.Repeat("x", 1022-len(lead)) + "é…",
		"a\xffb": "a\uFFFDb",
	} {
		require.Equal(t, stamp+"INFO  "+lead+want+"\n"+stamp+"INFO  node 1 (A): finished in 0 ms\n", logs(t, text).Text)
	}
	texts := make([]string, 65)
	for i := range texts {
		texts[i] = fmt.Sprint(i)
	}
	require.Equal(t, texts[1:], job.LogLines(texts))
	require.Equal(t, texts[1:], job.LogLines(texts[1:]))
	broken := strings.Repeat("\x80", 1025) // no byte of it begins a character
	for text, want := range map[string]string{
		strings.Repeat("x", 1024): strings.Repeat("x", 1024), strings.Repeat("x", 1025): strings.Repeat("x", 1024), broken: "",
		strings.Repeat("x", 1023) + "é": strings.Repeat("x", 1023), "": "",
	} {
		require.Equal(t, []string{want}, job.LogLines([]string{text}))
	}
}

// away is a log that cannot be read.
type away struct{ eventlog.Store }

var errAway = fault.New(fault.Unavailable, "", "the log is away")

func (away) ReadStream(context.Context, string, int64, int) ([]eventlog.Recorded, error) {
	return nil, errAway
}

// A log that cannot be read, or decoded, is an error and no empty log.
func TestALogThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	_, err := job.Logs{Events: away{}, Registry: types}.Log(t.Context(), "acme", id)
	require.ErrorIs(t, err, errAway)
	require.ErrorContains(t, err, "read the log of job "+string(id))
	broken := job.Logs{Registry: types, Events: &got{recorded: []eventlog.Recorded{
		{Version: 1, Account: "acme", Type: job.TypeAdmitted, Data: json.RawMessage(`{"run":"one"}`)},
	}}}
	_, err = broken.Log(t.Context(), "acme", id)
	require.ErrorContains(t, err, "read the log of job "+string(id))
	_, err = broken.Log(t.Context(), "other", id)
	require.Equal(t, fault.CodeJobNotFound, fault.CodeOf(err), "another account learns nothing of it")
}
