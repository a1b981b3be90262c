package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// losing is a store of servers that are lost. It records the events of segments in the log of a bench.
type losing struct {
	placement.Store
	*bench
	result  json.RawMessage // of the segment; nil = it has none
	orphans int             // prompts that servers may still run
	away    bool            // nothing is recorded under the lease
}

func (*losing) Drop(context.Context, server.Lease) error { return nil }

func (*losing) MarkAway(context.Context, server.ID, string) error              { return nil }
func (*losing) RecordOutcome(context.Context, server.ID, server.Outcome) error { return nil }

func (l *losing) Orphan(context.Context, server.Lease) error {
	l.orphans++
	return nil
}

func (l *losing) Record(ctx context.Context, _ server.Lease, a eventlog.Append, result json.RawMessage) ([]eventlog.Recorded, error) {
	if l.away {
		return nil, errAway
	}
	l.result = result
	return l.log.Append(ctx, a)
}

// Attempts of a segment that no other bound ends are bounded together, by their number and their time on servers. All earlier
// attempts count, whoever made them; those that a server did not begin count for neither.
func TestAttemptsOfASegmentAreBounded(t *testing.T) {
	t.Parallel()
	lost := fault.New(fault.Unavailable, fault.CodeServerGivenUp, "the server is lost")
	notBegun := fault.Wrap(driving.ErrNotBegun, fault.Unavailable, fault.CodeServerGivenUp, "the server did not begin the prompt")
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		lost, waited int           // earlier attempts that were lost, and that did not begin
		others       bool          // attempts ended that are no earlier ones of this segment which were given up, each after a day
		each         time.Duration // of each earlier attempt
		runs         time.Duration // this attempt
		cause        error
		given        string // up after; "" = another attempt follows
	}{
		"the first attempt":                           {cause: lost},
		"the ninth attempt":                           {lost: 8, cause: lost},
		"the tenth attempt":                           {lost: 9, cause: lost, given: "10 attempts"},
		"ten attempts, of which one did not begin":    {lost: 8, waited: 1, cause: lost},
		"eleven attempts, of which one did not begin": {lost: 9, waited: 1, cause: lost, given: "10 attempts"},
		"an attempt that does not begin, after nine":  {lost: 9, cause: notBegun},
		"an attempt that does not begin, after fifty": {waited: 50, each: day, cause: notBegun},
		"less than a day on servers":                  {lost: 2, each: day / 3, runs: day/3 - time.Minute, cause: lost},
		"more than a day on servers":                  {lost: 2, each: day / 3, runs: day/3 + time.Minute, cause: lost, given: "3 attempts"},
		"more than a day in the queues of servers":    {waited: 2, each: day, runs: time.Minute, cause: lost},
		"more than a day on one server":               {runs: day + time.Minute, cause: lost, given: "1 attempts"},
		"attempts of other runs and segments":         {lost: 1, others: true, cause: lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
			made := 0
			earlier := func(why job.Cause, run, segment int) {
				made++
				b.append(t, job.TypeSegmentEnded, job.SegmentEndedV1{
					Run: run, Segment: segment, Node: "5", Attempt: made, Server: fmt.Sprint("lost-", made), Millis: c.each.Milliseconds(),
					Outcome: job.SegmentGivenUp, Cause: why,
				})
			}
			for range c.lost {
				earlier(job.ServerLost, b.ref.Run, 0)
			}
			for range c.waited {
				earlier(job.NotBegun, b.ref.Run, 0)
			}
			attempt := made + 1
			for _, other := range []job.SegmentEndedV1{
				{Run: b.ref.Run, Segment: 1, Attempt: 1, Outcome: job.SegmentGivenUp},
				{Run: b.ref.Run + 1, Segment: 0, Attempt: 1, Outcome: job.SegmentGivenUp},
				{Run: b.ref.Run, Segment: 0, Attempt: 1, Outcome: job.SegmentDone},
				{Run: b.ref.Run, Segment: 0, Attempt: attempt, Outcome: job.SegmentGivenUp},
			} {
				other.Server, other.Millis, other.Cause = "other", (day + time.Minute).Milliseconds(), job.ServerLost
				if c.others {
					b.append(t, job.TypeSegmentEnded, other)
				}
			}
			store := &losing{bench: b}
			again, err := b.activities.FailAttempt(t.Context(), store, b.ref, server.Lease{
				Key: server.Key{Job: b.ref.Job, Run: b.ref.Run}, Server: "last", Attempt: attempt, Since: time.Now().Add(-c.runs),
			}, activities.AttemptFailure{Cause: c.cause})
			require.Equal(t, c.given == "", again != nil, "%v", err)
			require.Equal(t, 1, store.orphans, "the server gets a request to cancel the prompt")
			if again != nil {
				require.NoError(t, err)
				require.Nil(t, store.result)
				return
			}
			require.ErrorContains(t, err, "given up after "+c.given+" on servers; the last one: ")
			require.ErrorContains(t, err, "the server is lost")
			require.Contains(t, string(store.result), `"5"`, "later drivers find the failure, and it names the node")
		})
	}
}

// A driver that must stop, or that another one has replaced, decides nothing: the next driver finds the prompt by its id.
func TestADriverThatStopsLeavesTheSegmentToTheNext(t *testing.T) {
	t.Parallel()
	lost := fault.New(fault.Unavailable, fault.CodeServerGivenUp, "the server is lost")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, cause := range map[string]error{"stopped": lost, "replaced": activities.ErrTakenOver} {
		ctx := t.Context()
		if name == "stopped" {
			ctx = stopped
		}
		b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
		before := len(b.events(t))
		store := &losing{bench: b}
		again, err := b.activities.FailAttempt(ctx, store, b.ref, server.Lease{
			Key: server.Key{Job: b.ref.Job, Run: b.ref.Run}, Server: "last", Attempt: 1, Since: time.Now(), Fresh: true,
		}, activities.AttemptFailure{Cause: cause})
		require.ErrorIs(t, err, cause, name)
		require.Nil(t, again, name)
		require.Nil(t, store.result, name)
		require.Len(t, b.events(t), before, name)
	}
}

// fleet is a store of two servers, of which the second has more memory.
type fleet struct{ losing }

func (fleet) Servers(context.Context) ([]*server.Server, error) {
	some := func(id server.ID, memory int64) *server.Server {
		return &server.Server{
			ID: id, URL: "http://" + string(id), Slots: 1, Digest: "d", Health: server.Answers,
			Devices: []server.Device{{Total: memory, Free: memory}},
		}
	}
	return []*server.Server{some("first", 8<<30), some("second", 16<<30)}, nil
}

func (fleet) Classes(context.Context, string) ([]byte, error) {
	return placement.EncodeClasses(comfyui.Classes{})
}

func (fleet) Loads(context.Context) (map[server.ID]map[string]time.Duration, error) { return nil, nil }

// freeing is a server that frees its memory.
type freeing struct {
	comfyui.Server
	freed int
}

func (f *freeing) Free(context.Context) error {
	f.freed++
	return nil
}

// What follows a failed attempt depends on its cause and on what earlier attempts failed for.
func TestTheNextAttemptDependsOnTheFailure(t *testing.T) {
	t.Parallel()
	raised := func(kind, message string) error {
		return &driving.NodeError{ExecutionError: comfyui.ExecutionError{Node: "5", Class: "KSampler", Type: kind, Message: message}}
	}
	memory, device := raised("torch.OutOfMemoryError", "no memory"), raised("RuntimeError", "CUDA error: device-side assert triggered")
	disk := raised("OSError", "[Errno 28] No space left on device")
	refusal := &comfyui.Refusal{Err: comfyui.ValidationError{Message: "refused"}}
	lost := fault.New(fault.Unavailable, fault.CodeServerGivenUp, "the server is lost")
	missing := fault.New(fault.NotFound, fault.CodeServerFileNotFound, "a file is missing")
	past := func(why job.Cause, on, ran string) job.SegmentEndedV1 {
		return job.SegmentEndedV1{Run: 1, Node: "5", Server: on, Ran: ran, Cause: why, Outcome: job.SegmentGivenUp}
	}
	refused := past(job.PromptRefused, "first", "")
	for name, c := range map[string]struct {
		cause error
		ran   string
		past  []job.SegmentEndedV1
		want  *server.Wait // without its cause; nil = none follows
		freed int
		says  string // the failure
	}{
		"too little memory": {cause: memory, want: &server.Wait{Only: "first"}, freed: 1},
		"too little memory again": {
			cause: memory, past: []job.SegmentEndedV1{past(job.NoMemory, "first", "")}, want: &server.Wait{Memory: 8 << 30},
		},
		"too little memory on another one before": {
			cause: memory, past: []job.SegmentEndedV1{past(job.NoMemory, "second", "")}, want: &server.Wait{Only: "first"}, freed: 1,
		},
		"lost on this one before": {
			cause: memory, past: []job.SegmentEndedV1{past(job.ServerLost, "first", "")}, freed: 1,
			want: &server.Wait{Only: "first", Avoid: []server.ID{"first"}},
		},
		"a device failed": {cause: device, want: &server.Wait{Avoid: []server.ID{"first"}}},
		"a device failed again": {
			cause: device, past: []job.SegmentEndedV1{past(job.MachineFailed, "second", "5")}, says: "CUDA error",
		},
		"a disk failed": {cause: disk, want: &server.Wait{Avoid: []server.ID{"first"}}},
		"a disk failed on each": {
			cause: disk, past: []job.SegmentEndedV1{past(job.MachineFailed, "second", "5")}, says: "No space left",
		},
		"a refused prompt": {cause: refusal, want: &server.Wait{Only: "first"}},
		"two servers lost while it ran": {
			cause: lost, ran: "5", past: []job.SegmentEndedV1{past(job.ServerLost, "gone", "5")}, says: "two servers were lost",
		},
		"two servers lost while another ran": {
			cause: lost, ran: "5", past: []job.SegmentEndedV1{past(job.ServerLost, "gone", "4")},
			want: &server.Wait{Avoid: []server.ID{"gone", "first"}},
		},
		"servers lost while others ran": {
			cause: lost, ran: "5",
			past: []job.SegmentEndedV1{
				past(job.ServerLost, "gone", "4"), past(job.NodeHung, "gone", "5"), past(job.OutputRefused, "too", "5"),
				past(job.MachineFailed, "third", "5"), past(job.NotBegun, "fourth", ""), past(job.Interrupted, "kept", "5"),
			},
			want: &server.Wait{Avoid: []server.ID{"gone", "too", "third", "fourth", "first"}},
		},
		"lost after another failure": {
			cause: lost, ran: "5", past: []job.SegmentEndedV1{past(job.NoMemory, "gone", "5")}, want: &server.Wait{Avoid: []server.ID{"first"}},
		},
		"a file is missing after two refusals": {
			cause: missing, past: []job.SegmentEndedV1{refused, refused}, want: &server.Wait{}, freed: 1,
		},
		"a file is missing after three": {
			cause: missing, past: []job.SegmentEndedV1{refused, refused, refused}, freed: 1, says: "a file is missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
			for n, e := range c.past {
				e.Attempt = n + 1
				b.append(t, job.TypeSegmentEnded, e)
			}
			classes, err := node.NewRegistry()
			require.NoError(t, err)
			srv := &freeing{}
			again, err := b.activities.FailAttempt(t.Context(), &fleet{losing{bench: b}}, b.ref, server.Lease{
				Key: server.Key{Job: b.ref.Job, Run: b.ref.Run}, Server: "first", Attempt: len(c.past) + 1, Since: time.Now(), Fresh: true,
			}, activities.AttemptFailure{Cause: c.cause, Ran: c.ran, Server: srv, Classes: classes})
			require.Equal(t, c.freed, srv.freed)
			ended, ok := b.last(t).(job.SegmentEndedV1)
			require.True(t, ok, "the end of the attempt is recorded")
			require.Equal(t, len(c.past)+1, ended.Attempt)
			if c.want == nil {
				require.Equal(t, job.SegmentFailed, ended.Outcome)
				require.Nil(t, again)
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
			require.NotEmpty(t, again.Cause)
			require.Equal(t, job.SegmentGivenUp, ended.Outcome)
			var placed []string
			recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 100)
			require.NoError(t, err)
			for _, rec := range recorded {
				data, err := b.log.Decode(rec)
				require.NoError(t, err)
				if e, ok := data.(job.SegmentPlacedV1); ok {
					placed = append(placed, e.Nodes...)
				}
			}
			require.Equal(t, []string{"5"}, placed, "the attempt on this server is recorded with its nodes")
			again.Cause = ""
			require.Equal(t, c.want, again)
		})
	}
}

// A failure of no known node names the one that began last.
func TestAFailureNamesTheNodeThatBeganLast(t *testing.T) {
	t.Parallel()
	for began, named := range map[string]string{"": "5", "7": "7"} {
		b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
		store := &losing{bench: b}
		_, err := b.activities.FailAttempt(t.Context(), store, b.ref, server.Lease{
			Key: server.Key{Job: b.ref.Job, Run: b.ref.Run}, Server: "first", Attempt: 1, Since: time.Now(), Fresh: true,
		}, activities.AttemptFailure{Cause: fault.New(fault.Invalid, "", "no"), Began: began})
		require.ErrorContains(t, err, "no")
		var result struct{ Failure job.Failure }
		require.NoError(t, json.Unmarshal(store.result, &result))
		require.Equal(t, named, result.Failure.Node)
	}
}

// judging is a store that learns what came of segments on servers, or fails to.
type judging struct {
	losing
	err      error
	outcomes []server.Outcome
}

func (j *judging) RecordOutcome(_ context.Context, _ server.ID, o server.Outcome) error {
	j.outcomes = append(j.outcomes, o)
	return j.err
}

// What a failed attempt says of its server is recorded first. During an outage the attempt is judged again; any other error of the store
// does not stop the segment.
func TestAFailedAttemptSaysSomethingOfItsServer(t *testing.T) {
	t.Parallel()
	lost := fault.New(fault.Unavailable, fault.CodeServerGivenUp, "the server is lost")
	interrupted := fault.New(fault.Conflict, fault.CodeServerInterrupted, "interrupted")
	for name, c := range map[string]struct {
		cause, err error
		again      bool
		outcomes   int
	}{
		"it is recorded":               {lost, nil, true, 1},
		"it cannot be recorded now":    {lost, errAway, false, 1},
		"it cannot be recorded":        {lost, errors.New("a bug"), true, 1},
		"the server is not the reason": {interrupted, errAway, true, 0},
	} {
		b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
		before := b.last(t)
		store := &judging{losing: losing{bench: b}, err: c.err}
		again, err := b.activities.FailAttempt(t.Context(), store, b.ref, server.Lease{
			Key: server.Key{Job: b.ref.Job, Run: b.ref.Run}, Server: "first", Attempt: 1, Since: time.Now(), Fresh: true,
		}, activities.AttemptFailure{Cause: c.cause})
		require.Equal(t, c.again, again != nil, name)
		require.Len(t, store.outcomes, c.outcomes, name)
		for _, o := range store.outcomes {
			require.Equal(t, server.Outcome{Job: b.ref.Job, Problem: "the server is lost"}, o, name)
		}
		if !c.again {
			require.ErrorIs(t, err, c.err, name)
			require.Equal(t, before, b.last(t), name)
			continue
		}
		require.NoError(t, err, name)
	}
}

// A driver that continues an attempt knows from the log which node ran last, unless the attempt is new or the node is another's.
func TestADriverKnowsTheNodeThatRanBefore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		started job.NodeStartedV1
		fresh   bool
		ran     string
	}{
		"a node": {job.NodeStartedV1{Run: 1, Node: "5", Attempt: 2}, false, "5"},
		"a node of an expansion": {
			job.NodeStartedV1{Run: 1, Node: "5.0.0.1", Attempt: 2, Within: &job.Expansion{Parent: "5", Real: "5"}}, false, "5",
		},
		"of another run":            {job.NodeStartedV1{Run: 2, Node: "5", Attempt: 2}, false, ""},
		"of an earlier attempt":     {job.NodeStartedV1{Run: 1, Node: "5", Attempt: 1}, false, ""},
		"of another segment":        {job.NodeStartedV1{Run: 1, Node: "4", Attempt: 2}, false, ""},
		"of an attempt that is new": {job.NodeStartedV1{Run: 1, Node: "5", Attempt: 2}, true, ""},
	} {
		b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
		b.append(t, job.TypeNodeStarted, c.started)
		_, err := b.activities.FailAttempt(t.Context(), &losing{bench: b}, b.ref, server.Lease{
			Key: server.Key{Job: b.ref.Job, Run: b.ref.Run}, Server: "first", Attempt: 2, Since: time.Now(), Fresh: c.fresh,
		}, activities.AttemptFailure{Cause: fault.New(fault.Unavailable, fault.CodeServerGivenUp, "the server is lost")})
		require.NoError(t, err, name)
		ended, ok := b.last(t).(job.SegmentEndedV1)
		require.True(t, ok, name)
		require.Equal(t, c.ran, ended.Ran, name)
	}
}

// A segment has not failed before its failure is stored: another driver would run it again.
func TestAFailureThatIsNotStoredIsNone(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
	_, err := b.activities.FailAttempt(t.Context(), &losing{bench: b, away: true}, b.ref, server.Lease{
		Key: server.Key{Job: b.ref.Job, Run: b.ref.Run}, Server: "first", Attempt: 1, Since: time.Now(), Fresh: true,
	}, activities.AttemptFailure{Cause: fault.New(fault.Invalid, "", "no")})
	require.ErrorIs(t, err, errAway)
}

// A segment whose result this version cannot read has run: it must not run, and be paid, again.
func TestAResultOfANewerVersionIsAnError(t *testing.T) {
	t.Parallel()
	values, err := activities.StoredResult([]byte(`{"values":["a"]}`))
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, values)
	_, err = activities.StoredResult([]byte(`{"values":{"of":"another form"}}`))
	retried(t, err)
	_, err = activities.StoredResult([]byte(`{"failure":{"message":"broken"}}`))
	require.ErrorContains(t, err, "broken")
}

// An outage, or an error of the program, is none of the node: nothing is recorded, and the next attempt of the activity goes on.
func TestAnAttemptThatCannotContinueNowIsNotGivenUp(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"an outage": errAway, "an error of the program": errors.New("a bug")} {
		b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
		before := b.last(t)
		store := &losing{bench: b}
		again, err := b.activities.FailAttempt(t.Context(), store, b.ref, server.Lease{
			Key: server.Key{Job: b.ref.Job, Run: b.ref.Run}, Server: "first", Attempt: 1, Since: time.Now(), Fresh: true,
		}, activities.AttemptFailure{Cause: cause})
		require.Equal(t, cause, err, name)
		require.Nil(t, again, name)
		require.Nil(t, store.result, name)
		require.Equal(t, before, b.last(t), name)
	}
}

// A driver whose predecessor recorded a part of the end of a segment records the rest once, and then the result.
func TestTheEndOfASegmentThatIsRecordedInPartIsCompleted(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{job.TypeSegmentPlaced, job.TypeSegmentEnded} {
		for _, away := range []bool{false, true} {
			b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
			k := server.Key{Job: b.ref.Job, Run: b.ref.Run}
			l := server.Lease{Key: k, Server: "first", Attempt: 1, Fence: 1, Since: time.Now(), Fresh: true}
			store := newRows(b.log)
			store.leases[k] = &l
			data := map[string]any{
				job.TypeSegmentPlaced: job.SegmentPlacedV1{Run: 1, Attempt: 1}, job.TypeSegmentEnded: job.SegmentEndedV1{Run: 1, Attempt: 1},
			}[kind]
			_, err := b.log.Append(t.Context(), eventlog.Append{
				Stream: b.ref.Job.Stream(), Account: "a", Expected: eventlog.AnyVersion,
				Events: []eventlog.Event{{ID: job.EventID(b.ref.Job, 1, "", 0, kind), Type: kind, Data: data}},
			})
			require.NoError(t, err)
			if away {
				b.activities.Events = &failing{b.log, -2, 0}
			}
			_, err = b.activities.FailAttempt(t.Context(), store, b.ref, l, activities.AttemptFailure{Cause: fault.New(fault.Invalid, "", "no")})
			if away {
				require.ErrorIs(t, err, errAway, kind)
				continue
			}
			require.EqualError(t, err, "no", kind)
			require.Contains(t, string(store.leases[k].Result), `"message":"no"`, kind)
			recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 2, 100)
			require.NoError(t, err)
			var kinds []string
			for _, rec := range recorded {
				kinds = append(kinds, rec.Type)
			}
			require.ElementsMatch(t, []string{job.TypeSegmentPlaced, job.TypeSegmentEnded}, kinds)
		}
	}
}
