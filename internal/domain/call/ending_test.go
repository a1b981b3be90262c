package call_test

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// A caller whose connection ends before its call leaves the answer to its key, and learns how the call stands.
func TestACallerThatStopsWaitingLeavesTheAnswerToItsKey(t *testing.T) {
	t.Parallel()
	failed := call.Call{State: call.Failed, Failure: &call.Failure{Type: call.PolicyViolation}}
	for name, c := range map[string]struct {
		left    bool // the caller leaves; otherwise the deadline passes
		desk    desk
		noted   string // type of the recorded event
		want    string // type of the refusal; "" = an answer
		kind    fault.Kind
		retry   int
		warning bool
	}{
		"the deadline": {
			false, desk{state: call.Call{State: call.Dispatching}}, call.TypeDeadlineExceeded, call.DeadlineExceeded, fault.Unavailable, 0, false,
		},
		"the deadline, while it runs": {
			false, desk{state: call.Call{State: call.Running}}, call.TypeDeadlineExceeded, call.DeadlineExceeded, fault.Unavailable, 0, false,
		},
		"the deadline, while it runs for a key": {
			false,
			desk{state: call.Call{State: call.Running, Keyed: true}},
			call.TypeDeadlineExceeded, call.DeadlineExceeded, fault.Unavailable,
			2, false,
		},
		"the deadline, before it runs for a key": {
			false,
			desk{state: call.Call{State: call.Dispatching, Keyed: true}},
			call.TypeDeadlineExceeded, call.DeadlineExceeded,
			fault.Unavailable, 0, false,
		},
		"the caller": {
			true,
			desk{state: call.Call{State: call.Running, Keyed: true}},
			call.TypeClientDisconnected, call.ClientDisconnected,
			fault.Canceled, 0, false,
		},
		"an end meanwhile": {
			false,
			desk{state: call.Call{State: call.Succeeded, Answer: &call.Body{}}, note: eventlog.ErrClosed},
			call.TypeDeadlineExceeded, "",
			0, 0, false,
		},
		"a failure meanwhile": {
			true, desk{state: failed, note: eventlog.ErrClosed}, call.TypeClientDisconnected, call.PolicyViolation, fault.Invalid, 0, false,
		},
		"a lost record": {
			false,
			desk{state: call.Call{State: call.Running}, note: away},
			call.TypeDeadlineExceeded, call.DeadlineExceeded,
			fault.Unavailable, 0, true,
		},
		"a lost call": {false, desk{load: away}, call.TypeDeadlineExceeded, call.ServiceUnavailable, fault.Unavailable, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := c.desk
			d.limits = enabled
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			if c.left {
				d.hear = leave
			}
			inv := request(map[bool]string{true: "k"}[d.state.Keyed])
			res, err := d.service(t).Run(ctx, inv)
			require.Len(t, d.noted, 1)
			id := call.ID(inv.RequestID)
			require.Equal(t, c.noted, d.noted[0].Type)
			require.Equal(t, call.EventID(id, 0, c.noted), d.noted[0].ID)
			require.Equal(t, c.warning, d.log.Len() > 0, d.log.String())
			if c.want == "" {
				require.NoError(t, err)
				require.False(t, res.Replayed)
				return
			}
			require.Nil(t, res)
			refused := call.RefusalOf(err)
			require.Equal(t, []any{c.want, c.kind, c.retry}, []any{refused.Type, refused.Kind, refused.RetryAfter})
		})
	}
}

// Nothing is recorded about a call of a node that still waits for its admission.
func TestNothingIsRecordedBeforeAnAdmission(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		now   call.Call
		load  error
		noted int
		want  string
	}{
		"it waits":            {call.Call{State: call.Waiting}, nil, 0, call.DeadlineExceeded},
		"it runs":             {call.Call{State: call.Running}, nil, 1, call.DeadlineExceeded},
		"nobody knows":        {call.Call{}, away, 0, call.ServiceUnavailable},
		"it ended meanwhile":  {call.Call{State: call.Canceled}, nil, 1, call.CancelledType},
		"it failed meanwhile": {call.Call{State: call.Unknown, Failure: &call.Failure{Type: call.ProviderError}}, nil, 1, call.ProviderError},
	} {
		detached := call.Call{State: call.Waiting, Detached: true}
		d := desk{limits: enabled, keys: []keyAnswer{{call.KeyRecord{Call: id, Fingerprint: mine}, nil}}}
		later := &stages{desk: &d, first: detached, now: c.now, load: c.load}
		s := d.service(t)
		s.Store = later
		_, err := s.RunNode(t.Context(), request("k"))
		require.Equal(t, c.want, call.RefusalOf(err).Type, name)
		require.Len(t, d.noted, c.noted, name)
	}
}

// stages is a desk that reads a call first in one state, then in another.
type stages struct {
	*desk
	first, now call.Call
	load       error
	reads      int
}

func (s *stages) Load(context.Context, string, call.ID) (call.Call, error) {
	if s.reads++; s.reads == 1 {
		return s.first, nil
	}
	return s.now, s.load
}

// A call is recorded as it was asked for, with what it may cost and who serves it.
func TestACallIsRecordedAsItWasAskedFor(t *testing.T) {
	t.Parallel()
	offer := call.Offer{Model: "sim/echo", Provider: "sim", Catalog: "7", Reserve: 5_000_000, Server: "other", Fallback: "third"}
	limits := call.Limits{Enabled: true, Access: account.Access{}, Backlog: 4}
	for _, reserve := range []int64{4_999_999, 5_000_000} {
		offer.Reserve = reserve
		for mode, do := range map[call.Mode]func(*call.Service, call.Invocation) error{
			call.Sync: func(s *call.Service, inv call.Invocation) error { _, err := s.Run(t.Context(), inv); return err },
			call.Node: func(s *call.Service, inv call.Invocation) error { _, err := s.RunNode(t.Context(), inv); return err },
			call.Queued: func(s *call.Service, inv call.Invocation) error {
				got, err := s.Enqueue(t.Context(), inv)
				require.Equal(t, call.Enqueued{Call: call.ID(inv.RequestID)}, got)
				return err
			},
		} {
			d := desk{limits: limits, fixed: offer, state: call.Call{State: call.Succeeded, Answer: &call.Body{}}}
			inv := request("k")
			inv.API, inv.Options, inv.ContentType, inv.BaseURL = call.V2, call.Options{Strict: true}, "application/json", "https://x"
			inv.For = &call.JobRun{Job: "j", Run: 2}
			stored := 0
			inv.OnStored = func() { stored++ }
			require.NoError(t, do(d.service(t), inv))
			require.Equal(t, 1, stored)
			require.Len(t, d.accepted, 1)
			got := d.accepted[0]
			require.Equal(t, mode == call.Sync, got.Sending != nil, "a caller that waits is served by this process")
			got.Sending = nil
			want := call.NewCall{
				ID: call.ID(inv.RequestID), Account: "a", Key: "k", Fingerprint: mine, For: inv.For, Costly: reserve == 5_000_000, Limits: limits,
				Accepted: call.AcceptedV1{
					Model: "sim/echo", Provider: "sim", Mode: mode, API: call.V2, Keyed: true, Options: inv.Options, Held: reserve, Catalog: "7",
					Request: call.Body{Ref: blob.Sum([]byte(`{}`)), Size: 2, ContentType: "application/json"}, Base: "https://x", Server: "other",
					Fallback: "third",
				},
			}
			require.Equal(t, want, got)
			require.Equal(t, call.Run{
				Call: want.ID, Account: "a", Run: 1, Model: "sim/echo", Request: want.Accepted.Request, Held: reserve, Version: 5, For: inv.For,
				Catalog: "7", Route: call.Route{Server: "other", Strict: true, Fallback: "third"},
			}, got.Run(5))
			got.Accepted.Server = ""
			require.False(t, got.Run(5).Strict, "the model's own server translates")
		}
	}
}

// durable notes how durably bytes are stored, or fails.
type durable struct {
	blob.Store
	as  []blob.Durability
	err error
}

func (d *durable) Create(ctx context.Context, as blob.Durability) (blob.Writer, error) {
	d.as = append(d.as, as)
	if d.err != nil {
		return nil, d.err
	}
	return d.Store.Create(ctx, as)
}

// The bytes of a request outlive a crash unless its caller waits; without them no call is recorded.
func TestTheBytesOfARequestAreStoredFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		do func(*call.Service) error
		as blob.Durability
	}{
		{func(s *call.Service) error { _, err := s.Run(t.Context(), request("")); return err }, blob.Relaxed},
		{func(s *call.Service) error { _, err := s.RunNode(t.Context(), request("")); return err }, blob.Durable},
		{func(s *call.Service) error { _, err := s.Enqueue(t.Context(), request("")); return err }, blob.Durable},
	} {
		for _, err := range []error{nil, away} {
			blobs := &durable{Store: mem.New(), err: err}
			d := desk{limits: enabled, blobs: blobs, state: call.Call{State: call.Succeeded, Answer: &call.Body{}}}
			require.ErrorIs(t, c.do(d.service(t)), err)
			require.Equal(t, []blob.Durability{c.as}, blobs.as)
			require.Equal(t, err == nil, len(d.accepted) == 1)
		}
	}
}

// A request that cannot be decided now is an error, and nothing is recorded.
func TestARequestThatCannotBeDecidedIsAnError(t *testing.T) {
	t.Parallel()
	d := desk{noLimits: away}
	_, err := d.service(t).Run(t.Context(), request(""))
	require.ErrorIs(t, err, away)
	d = desk{limits: enabled, prepare: away}
	_, err = d.service(t).Run(t.Context(), request(""))
	require.ErrorIs(t, err, away)
	require.Empty(t, d.accepted)
	d = desk{limits: enabled}
	inv := request("")
	inv.RequestID = "x"
	_, err = d.service(t).Run(t.Context(), inv)
	require.ErrorContains(t, err, "id of a call")
	gone, leave := context.WithCancel(t.Context())
	d.preparing = leave
	_, err = d.service(t).Run(gone, request(""))
	require.ErrorIs(t, err, context.Canceled, "its caller left before it was accepted")
	require.Empty(t, d.accepted)
	require.Equal(t, []bool{true}, d.discarded)
	d = desk{limits: call.Limits{Enabled: true, Lapsed: true}}
	_, err = d.service(t).RunNode(t.Context(), request(""))
	require.Equal(t, call.NotEnabled, call.RefusalOf(err).Type, "a node raises the exception for an inactive subscription")
	d = desk{limits: enabled, load: away, keys: []keyAnswer{{call.KeyRecord{Call: id, Fingerprint: mine}, nil}}}
	_, err = d.service(t).Enqueue(t.Context(), request("k"))
	require.ErrorIs(t, err, away, "the number of calls before it is not known")
}

// An answer that was delivered and is not stored can be collected for five minutes.
func TestADeliveredAnswerIsCollectedForFiveMinutes(t *testing.T) {
	t.Parallel()
	for ago, refused := range map[time.Duration]bool{5 * time.Minute: false, 5*time.Minute + 1: true} {
		rec := call.KeyRecord{Call: id, Fingerprint: mine, Delivered: true, DeliveredAgo: ago}
		d := desk{limits: enabled, keys: []keyAnswer{{rec, nil}}, state: call.Call{State: call.Succeeded, Answer: &call.Body{}}}
		_, err := d.service(t).Run(t.Context(), request("k"))
		require.Equal(t, refused, err != nil)
	}
}

// delivering notes deliveries.
type delivering struct {
	one
	delivered []call.ID
	err       error
}

func (d *delivering) Deliver(_ context.Context, account string, id call.ID) error {
	d.delivered = append(d.delivered, id)
	return d.err
}

// An answer has the bytes that were stored, and its delivery is recorded for a key whose answer cannot be given again.
func TestAnAnswerHasItsBytesAndNotesItsDelivery(t *testing.T) {
	t.Parallel()
	read := func(r *call.Result) string {
		open, err := r.Open(t.Context())
		require.NoError(t, err)
		raw, err := io.ReadAll(open)
		require.NoError(t, err)
		require.NoError(t, open.Close())
		return string(raw)
	}
	for _, replayed := range []bool{true, false} {
		document := call.DocumentResult([]byte(`{"a":1}`), replayed)
		require.JSONEq(t, `{"a":1}`, read(document))
		require.NoError(t, document.Delivered(t.Context()))
		require.Equal(t, []any{200, "application/json", int64(7), replayed},
			[]any{document.Status, document.ContentType, document.Size, document.Replayed})
	}
	blobs := mem.New()
	ref, err := blob.PutBytes(t.Context(), blobs, []byte("answer"))
	require.NoError(t, err)
	charged := int64(5)
	for _, c := range []struct {
		keyed, replayable, noted bool
	}{{true, false, true}, {true, true, false}, {false, false, false}} {
		store := &delivering{err: away, one: one{call: call.Call{
			ID: id, Account: "a", Mode: call.Queued, State: call.Succeeded, Keyed: c.keyed, Replayable: c.replayable, Charged: &charged,
			Answer: &call.Body{Ref: ref, Size: 6, ContentType: "text/plain"}, Served: call.Served{Fallback: "third"},
		}}}
		s := call.NewService(call.Deps{Store: store, Tiers: windows{}, Blobs: blobs})
		res, _, err := s.Result(t.Context(), call.Handle{Account: "a", Call: id})
		require.NoError(t, err)
		require.Equal(t, "answer", read(res))
		require.Equal(t, []any{id, 200, "text/plain", int64(6), &charged, "third"},
			[]any{res.Call, res.Status, res.ContentType, res.Size, res.Charged, res.Fallback})
		err = res.Delivered(t.Context())
		require.Equal(t, c.noted, err != nil)
		if c.noted {
			require.ErrorIs(t, err, away)
			require.Equal(t, []call.ID{id}, store.delivered)
		} else {
			require.Empty(t, store.delivered)
		}
	}
}

// A failure has the status and the kind of its type, and shows what the provider said.
func TestAFailureHasTheStatusOfItsType(t *testing.T) {
	t.Parallel()
	for failure, want := range map[call.Failure]struct {
		status int
		kind   fault.Kind
	}{
		{Type: call.InvalidInput}:                       {400, fault.Invalid},
		{Type: call.PolicyViolation}:                    {400, fault.Invalid},
		{Type: call.InvalidInput, Validation: `[1]`}:    {422, fault.Invalid},
		{Type: call.ProviderTimeout}:                    {504, fault.Unavailable},
		{Type: call.QueueTimeout}:                       {504, fault.Unavailable},
		{Type: call.ServiceUnavailable}:                 {503, fault.Unavailable},
		{Type: call.RateLimited}:                        {429, fault.Exhausted},
		{Type: call.ConcurrencyLimit}:                   {429, fault.Exhausted},
		{Type: call.InternalError}:                      {500, fault.Internal},
		{Type: call.ProviderError}:                      {502, fault.Unavailable},
		{Type: call.ProviderError, Status: 418}:         {418, fault.Unavailable},
		{Type: call.PolicyViolation, Detail: "d"}:       {400, fault.Invalid},
		{Type: call.ProviderError, UpstreamStatus: 501}: {502, fault.Unavailable},
	} {
		raw, err := json.Marshal(failure)
		require.NoError(t, err)
		var got call.Failure
		require.NoError(t, json.Unmarshal(raw, &got))
		require.Equal(t, want.status, got.Status, failure.Type)
		got.Status = failure.Status
		require.Equal(t, failure, got)
		failure.Detail, failure.UpstreamDetail, failure.RefusalSubject = "d", "u", "s"
		s := call.NewService(call.Deps{
			Store: &one{call: call.Call{ID: "c", Mode: call.Queued, State: call.Failed, Failure: &failure}}, Tiers: windows{},
		})
		_, _, err = s.Result(t.Context(), call.Handle{Account: "a", Call: "c"})
		var refused *call.Refusal
		require.ErrorAs(t, err, &refused)
		require.Equal(t, call.Refusal{
			Kind: want.kind, Type: failure.Type, Detail: "d", UpstreamStatus: failure.UpstreamStatus, UpstreamDetail: "u", RefusalSubject: "s",
			Validation: refused.Validation,
		}, *refused)
		require.Equal(t, failure.Validation, string(refused.Validation))
		p, err := s.Status(t.Context(), call.Handle{Account: "a", Call: "c"})
		require.NoError(t, err)
		require.Equal(t, call.Progress{Call: "c", Status: call.Completed, ErrorType: failure.Type, RetryAfter: 1}, p)
	}
}

// The status of a call says how it stands, and a call that has ended is not asked to stop.
func TestAQueuedCallShowsHowItStands(t *testing.T) {
	t.Parallel()
	ahead := int64(3)
	failure := &call.Failure{Type: call.ProviderError}
	for state, want := range map[call.State]call.Progress{
		call.Waiting:     {Status: call.InQueue, Ahead: &ahead, RetryAfter: 2},
		call.Admitted:    {Status: call.InProgress, RetryAfter: 1},
		call.Dispatching: {Status: call.InProgress, RetryAfter: 1},
		call.Running:     {Status: call.InProgress, RetryAfter: 1},
		call.Answered:    {Status: call.InProgress, RetryAfter: 1},
		call.Succeeded:   {Status: call.Completed, RetryAfter: 1},
		call.Failed:      {Status: call.Completed, ErrorType: call.ProviderError, RetryAfter: 1},
		call.Unknown:     {Status: call.Completed, ErrorType: call.ProviderError, RetryAfter: 1},
		call.Canceled:    {Status: call.Completed, ErrorType: call.CancelledType, RetryAfter: 1},
	} {
		store := &one{call: call.Call{ID: "c", Mode: call.Queued, State: state, Failure: failure, Answer: &call.Body{}}, ahead: 3}
		s := call.NewService(call.Deps{Store: store, Tiers: windows{}})
		h := call.Handle{Account: "a", Call: "c"}
		want.Call = "c"
		p, err := s.Status(t.Context(), h)
		require.NoError(t, err)
		require.Equal(t, want, p, state)
		active, err := s.Cancel(t.Context(), h, "r")
		require.NoError(t, err)
		require.Equal(t, !state.Final(), active, state)
		require.Equal(t, map[bool]int{true: 1}[active], store.canceled, state)
		res, progress, err := s.Result(t.Context(), h)
		switch {
		case !state.Final():
			require.NoError(t, err)
			require.Nil(t, res)
			require.Equal(t, &want, progress)
		case state == call.Succeeded:
			require.NoError(t, err)
			require.NotNil(t, res)
			require.Nil(t, progress)
		default:
			require.Nil(t, res)
			require.Nil(t, progress)
			require.Equal(t, want.ErrorType, call.RefusalOf(err).Type)
		}
		store.failing = away
		_, _, err = s.Result(t.Context(), h)
		require.ErrorIs(t, err, away)
	}
}

// The provider's work on a call takes from the request to the end.
func TestTheWorkOnACallIsItsTimeWithTheProvider(t *testing.T) {
	t.Parallel()
	sent := time.Unix(100, 0)
	ended := sent.Add(7 * time.Second)
	for _, c := range []struct {
		sent, ended *time.Time
		load        error
		want        time.Duration
	}{{&sent, &ended, nil, 7 * time.Second}, {nil, &ended, nil, 0}, {&sent, nil, nil, 0}, {&sent, &ended, away, 0}} {
		s := call.NewService(call.Deps{Store: &one{call: call.Call{SentAt: c.sent, EndedAt: c.ended}, failing: c.load}})
		took, err := s.Worked(t.Context(), "a", id)
		require.ErrorIs(t, err, c.load)
		require.Equal(t, c.want, took)
	}
}

// slow is a desk whose caller waits long, and whose records take until their time is over.
type slow struct {
	*desk
	took time.Duration
}

func (s *slow) Note(ctx context.Context, account string, id call.ID, e eventlog.Event) error {
	began := time.Now()
	<-ctx.Done()
	s.took = time.Since(began)
	return s.desk.Note(ctx, account, id, e)
}

// A connection waits ten minutes for an answer unless the operator says otherwise, and ten seconds for the record that it ended.
func TestAConnectionWaitsTenMinutes(t *testing.T) {
	t.Parallel()
	for deadline, want := range map[time.Duration]time.Duration{0: 10 * time.Minute, -1: 10 * time.Minute, time.Minute: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			d := desk{limits: enabled, state: call.Call{State: call.Running}}
			deps := d.service(t).Deps
			late := &slow{desk: &d}
			deps.Deadline, deps.Store = deadline, late
			began := time.Now()
			_, err := call.NewService(deps).Run(t.Context(), request(""))
			require.Equal(t, call.DeadlineExceeded, call.RefusalOf(err).Type)
			require.Equal(t, want+10*time.Second, time.Since(began))
			require.Equal(t, 10*time.Second, late.took)
		})
	}
}

// A caller that leaves takes the end of the call from no other caller.
func TestACallerThatLeavesTakesTheEndFromNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := call.KeyRecord{Call: id, Fingerprint: mine}
		d := desk{limits: enabled, keys: []keyAnswer{{rec, nil}, {rec, nil}}, hear: func() {}}
		d.state = call.Call{State: call.Running, Detached: true}
		s := d.service(t)
		ctx, leave := context.WithCancel(t.Context())
		left, answered := make(chan error, 1), make(chan error, 1)
		run := func(ctx context.Context, ended chan<- error) {
			_, err := s.Run(ctx, request("k"))
			ended <- err
		}
		go run(ctx, left)
		synctest.Wait()
		go run(t.Context(), answered)
		synctest.Wait()
		leave()
		require.Equal(t, call.ClientDisconnected, call.RefusalOf(<-left).Type)
		d.hears.Observe([]eventlog.Recorded{{Type: call.TypeSucceeded, Stream: id.Stream(), Data: []byte(`{}`), Version: 9}})
		synctest.Wait()
		require.Len(t, answered, 1)
		require.NoError(t, <-answered)
	})
}

// hesitant is a desk that records a call when its time is over.
type hesitant struct {
	*desk
	took time.Duration
}

func (h *hesitant) Accept(ctx context.Context, n call.NewCall) (call.Admission, error) {
	began := time.Now()
	<-ctx.Done()
	h.took = time.Since(began)
	return h.desk.Accept(ctx, n)
}

// A call whose caller leaves while it is recorded is recorded all the same, within thirty seconds.
func TestACallIsRecordedAfterItsCallerHasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := desk{limits: enabled, state: call.Call{State: call.Running}}
		late := &hesitant{desk: &d}
		deps := d.service(t).Deps
		deps.Store = late
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		_, err := call.NewService(deps).Run(ctx, request(""))
		require.Error(t, err)
		require.Len(t, d.accepted, 1)
		require.Equal(t, 30*time.Second, late.took)
	})
}
