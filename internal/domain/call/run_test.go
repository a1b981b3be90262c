package call_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// desk is an account with its calls, the models, and the process that sends.
type desk struct {
	call.Store
	limits    call.Limits
	offer     error
	keys      []keyAnswer // to the lookups of the key, in turn; none = it is free
	accept    error
	state     call.Call // of the call that the key names, or of the one that was accepted
	load      error
	elsewhere bool // this process does not send calls now
	noLimits  error
	note      error
	prepare   error
	preparing func()
	reads     int    // of the call that still find it as it was accepted, before state
	hear      func() // called as a call is accepted; the deadline is far away then
	fixed     call.Offer
	log       strings.Builder
	blobs     blob.Store

	noted     []eventlog.Event
	accepted  []call.NewCall
	notified  int
	sent      int
	discarded []bool // uncertain
	hears     *call.Watch
	spend     *call.Spend
	heard     []byte // data of the event that ends the call as it is accepted; nil = it does not end then
}

type keyAnswer struct {
	rec call.KeyRecord
	err error
}

func (d *desk) CallLimits(context.Context, string) (call.Limits, error) {
	return d.limits, d.noLimits
}

func (d *desk) CallBounds(string) call.Limits { return call.Limits{} }
func (d *desk) Offer(context.Context, call.Invocation) (call.Offer, error) {
	if d.fixed.Model != "" {
		return d.fixed, d.offer
	}
	return call.Offer{Model: "sim/echo"}, d.offer
}

func (d *desk) Key(context.Context, string, string) (call.KeyRecord, bool, error) {
	if len(d.keys) == 0 {
		return call.KeyRecord{}, false, nil
	}
	now := d.keys[0]
	d.keys = d.keys[1:]
	return now.rec, now.err == nil && now.rec.Call != "", now.err
}

func (d *desk) Accept(_ context.Context, n call.NewCall) (call.Admission, error) {
	if d.accept != nil {
		return call.Admission{}, d.accept
	}
	d.accepted = append(d.accepted, n)
	if d.hear != nil {
		d.hear()
	}
	if d.heard != nil {
		d.hears.Observe([]eventlog.Recorded{{Stream: n.ID.Stream(), Version: 9, Type: call.TypeSucceeded, Data: d.heard}})
	}
	c := call.Call{ID: n.ID, State: call.Admitted, Keyed: n.Accepted.Keyed}
	return call.Admission{Intents: []outbox.Intent{{}}, Call: c, Spend: d.spend}, nil
}

func (d *desk) Load(context.Context, string, call.ID) (call.Call, error) {
	if d.reads > 0 {
		d.reads--
		return call.Call{State: call.Waiting}, nil
	}
	return d.state, d.load
}

func (d *desk) Note(_ context.Context, _ string, _ call.ID, e eventlog.Event) error {
	d.noted = append(d.noted, e)
	return d.note
}

func (d *desk) Ahead(context.Context, string, call.ID) (int64, error) { return 3, d.load }
func (d *desk) Cancel(context.Context, string, call.ID, string) (active bool, _ error) {
	return true, nil
}

func (d *desk) Prepare(context.Context, call.Run) (call.Attempt, error) {
	if d.preparing != nil {
		d.preparing()
	}
	if d.elsewhere || d.prepare != nil {
		return nil, d.prepare
	}
	return d, nil
}

func (d *desk) Dispatching() call.DispatchingV1 { return call.DispatchingV1{Token: "t"} }

func (d *desk) Send(over func()) {
	d.sent++
	over()
}

func (d *desk) Discard(uncertain bool) { d.discarded = append(d.discarded, uncertain) }

func (d *desk) service(t *testing.T) *call.Service {
	t.Helper()
	types := eventlog.NewRegistry()
	require.NoError(t, call.Register(types))
	d.hears = call.NewWatch(types)
	deadline := time.Nanosecond
	if d.heard != nil || d.hear != nil {
		deadline = time.Hour
	}
	if d.blobs == nil {
		d.blobs = mem.New()
	}
	return call.NewService(call.Deps{
		Store: d, Models: d, Tiers: d, Blobs: d.blobs, Watch: d.hears, Sender: d, Deadline: deadline,
		Log:    slog.New(slog.NewTextHandler(&d.log, nil)),
		Notify: func(intents []outbox.Intent) { d.notified += len(intents) },
	})
}

func request(key string) call.Invocation {
	return call.Invocation{
		Account: "a", RequestID: string(call.NewID()), Key: key, Method: "POST", Target: "/v2/models/sim/echo", Body: []byte(`{}`),
	}
}

var (
	mine    = call.Fingerprint("POST", "/v2/models/sim/echo", []byte(`{}`))
	away    = fault.New(fault.Unavailable, "", "the database is away")
	enabled = call.Limits{Enabled: true}
)

// While the workflows of many calls are to start, clients wait for a while, and are then refused. Nodes do not wait, nor does
// who gets another answer in any case, and nobody waits while no workflow can be started.
func TestClientsWaitWhileManyWorkflowsAreToStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{limits: enabled, heard: []byte(`{}`)}
		s := d.service(t)
		s.Gate = call.NewGate()
		var starting []outbox.Intent
		s.Notify = func(intents []outbox.Intent) { starting = append(starting, intents...) }
		run := map[string]func(ctx context.Context) error{
			"sync":   func(ctx context.Context) error { _, err := s.Run(ctx, request("")); return err },
			"queued": func(ctx context.Context) error { _, err := s.Enqueue(ctx, request("")); return err },
			"node":   func(ctx context.Context) error { _, err := s.RunNode(ctx, request("")); return err },
		}
		for range 128 {
			require.NoError(t, run["sync"](t.Context()))
			require.NoError(t, run["queued"](t.Context()))
		}
		away := make(chan struct{})
		go func() { // starts another workflow again and again
			for {
				s.Gate.Take("other")(true)
				select {
				case <-time.After(time.Second):
				case <-away:
					return
				}
			}
		}()
		synctest.Wait()
		for _, how := range []string{"sync", "queued"} {
			began := time.Now()
			refused := call.RefusalOf(run[how](t.Context()))
			require.Equal(t, []any{call.ServiceUnavailable, 2}, []any{refused.Type, refused.RetryAfter}, how)
			require.Equal(t, 5*time.Second, time.Since(began), how)
			soon, cancel := context.WithTimeout(t.Context(), time.Second)
			require.Equal(t, call.ClientDisconnected, call.RefusalOf(run[how](soon)).Type, how)
			cancel()
			began = time.Now()
			d.keys = []keyAnswer{{rec: call.KeyRecord{Call: "c", Fingerprint: call.Fingerprint("PUT", "/", nil)}}}
			_, err := s.Run(t.Context(), request("k"))
			require.Equal(t, call.InvalidInput, call.RefusalOf(err).Type)
			d.limits.Unfunded = true
			require.Equal(t, call.InsufficientCredits, call.RefusalOf(run[how](t.Context())).Type)
			d.limits.Unfunded = false
			require.Equal(t, time.Now(), began, how)
		}
		require.Len(t, d.accepted, 256, "nothing is recorded of those that are refused")
		require.NoError(t, run["node"](t.Context()))
		require.Nil(t, starting[256].Over, "a node takes no slot")
		ended := make(chan error, 1)
		again := func() { ended <- run["sync"](t.Context()) }
		go again()
		synctest.Wait()
		require.Empty(t, ended)
		starting[0].Over(true)
		require.NoError(t, <-ended)
		go again()
		synctest.Wait()
		require.Empty(t, ended, "that call is to start too")
		close(away)
		require.NoError(t, <-ended, "Temporal is away")
		require.NoError(t, run["sync"](t.Context()))
		starting[1].Over(false)
		require.NoError(t, run["sync"](t.Context()), "it is still away")
		starting[2].Over(true)
		go again()
		synctest.Wait()
		require.Empty(t, ended, "Temporal is back")
		for _, in := range starting[3:256] {
			in.Over(true)
		}
		require.NoError(t, <-ended)
	})
}

// A call that may not run is refused before anything is recorded or sent, whoever asks for it.
func TestACallThatMayNotRunIsRefused(t *testing.T) {
	t.Parallel()
	other := call.KeyRecord{Call: id}
	for name, c := range map[string]struct {
		desk desk
		key  string
		want string // type of the refusal; "" = it is accepted
	}{
		"nothing is wrong":          {desk{limits: enabled}, "", ""},
		"a key of 255 characters":   {desk{limits: enabled}, strings.Repeat("é", 255), ""},
		"a key of 256 characters":   {desk{limits: enabled}, strings.Repeat("é", 256), call.InvalidInput},
		"the router is not enabled": {desk{}, "", call.NotEnabled},
		"no subscription":           {desk{limits: call.Limits{Enabled: true, Lapsed: true}}, "", call.Forbidden},
		"no credit":                 {desk{limits: call.Limits{Enabled: true, Unfunded: true}}, "", call.InsufficientCredits},
		"a key of another request":  {desk{limits: enabled, keys: []keyAnswer{{other, nil}}}, "k", call.InvalidInput},
		"the database is away":      {desk{limits: enabled, keys: []keyAnswer{{err: away}}}, "k", call.ServiceUnavailable},
		"an unknown model": {
			desk{limits: enabled, offer: call.Refuse(fault.NotFound, call.ModelNotFound, "no")}, "", call.ModelNotFound,
		},
		"no credit when it is booked": {
			desk{limits: enabled, accept: fault.New(fault.Exhausted, fault.CodeInsufficientCredits, "no")}, "", call.InsufficientCredits,
		},
	} {
		for how, ask := range map[string]func(*call.Service) error{
			"waiting": func(s *call.Service) error { _, err := s.Run(t.Context(), request(c.key)); return err },
			"queued":  func(s *call.Service) error { _, err := s.Enqueue(t.Context(), request(c.key)); return err },
		} {
			d := c.desk
			d.state = call.Call{State: call.Succeeded, Answer: &call.Body{}}
			err := ask(d.service(t))
			if c.want == "" {
				require.NoError(t, err, "%s, %s", name, how)
				require.Len(t, d.accepted, 1)
				continue
			}
			require.Error(t, err, "%s, %s", name, how)
			require.Equal(t, c.want, call.RefusalOf(err).Type, "%s, %s", name, how)
			require.Empty(t, d.accepted)
			require.Zero(t, d.sent+d.notified)
		}
	}
}

// A waiting call is sent by the process that accepts it, if that process sends now, and by its workflow otherwise. An attempt that is
// given up is uncertain only if the call may have been recorded.
func TestAnAcceptedCallIsSentOnce(t *testing.T) {
	t.Parallel()
	taken := []keyAnswer{{}, {call.KeyRecord{Call: id, Fingerprint: mine}, nil}}
	for name, c := range map[string]struct {
		desk      desk
		sent      int
		notified  int
		discarded []bool
		want      string
	}{
		"by this process": {desk{}, 1, 1, nil, ""},
		"by its workflow": {desk{elsewhere: true}, 0, 1, nil, ""},
		"refused": {
			desk{accept: call.Refuse(fault.Exhausted, call.RateLimited, "too many")}, 0, 0, []bool{false}, call.RateLimited,
		},
		"nobody knows":                {desk{accept: away}, 0, 0, []bool{true}, call.ServiceUnavailable},
		"the key was taken meanwhile": {desk{accept: call.ErrKeyTaken, keys: taken}, 0, 0, []bool{false}, ""},
		"and was freed again":         {desk{accept: call.ErrKeyTaken, keys: taken[:1]}, 0, 0, []bool{false}, call.ConcurrencyLimit},
		"by nobody knows whom": {
			desk{accept: call.ErrKeyTaken, keys: []keyAnswer{{}, {err: away}}}, 0, 0, []bool{true}, call.ServiceUnavailable,
		},
		"by another request": {
			desk{accept: call.ErrKeyTaken, keys: []keyAnswer{{}, {call.KeyRecord{Call: id}, nil}}}, 0, 0, []bool{false}, call.InvalidInput,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := c.desk
			d.limits, d.state = enabled, call.Call{State: call.Succeeded, Replayable: true, Answer: &call.Body{}}
			res, err := d.service(t).Run(t.Context(), request("k"))
			require.Equal(t, []int{c.sent, c.notified}, []int{d.sent, d.notified})
			require.Equal(t, c.discarded, d.discarded)
			for _, n := range d.accepted {
				require.Equal(t, c.sent == 1, n.Sending != nil)
			}
			if c.want != "" {
				require.Equal(t, c.want, call.RefusalOf(err).Type)
				return
			}
			require.NoError(t, err)
			require.Equal(t, len(d.accepted) == 0, res.Replayed)
		})
	}
}

// A queued call is found again by its key, and nothing starts twice.
func TestAQueuedCallIsFoundAgainByItsKey(t *testing.T) {
	t.Parallel()
	d := desk{limits: enabled, accept: call.ErrKeyTaken, keys: []keyAnswer{{}, {call.KeyRecord{Call: id, Fingerprint: mine}, nil}}}
	again, err := d.service(t).Enqueue(t.Context(), request("k"))
	require.NoError(t, err)
	require.Equal(t, call.Enqueued{Call: id, Ahead: 3, Replayed: true}, again)
	require.Zero(t, d.notified)
	d = desk{load: away}
	_, err = d.service(t).Cancel(t.Context(), call.Handle{Account: "a", Call: id}, "r")
	require.ErrorIs(t, err, away, "a call that cannot be read is not said to have ended")
}

// The key of a call that has ended gives its answer again, or says why there is none.
func TestTheKeyOfAnEndedCallGivesItsAnswer(t *testing.T) {
	t.Parallel()
	rec := call.KeyRecord{Call: id, Fingerprint: mine}
	delivered := rec
	delivered.Delivered, delivered.DeliveredAgo = true, time.Hour
	for name, c := range map[string]struct {
		rec  call.KeyRecord
		call call.Call
		want string
		says string
	}{
		"an answer": {rec, call.Call{State: call.Succeeded, Answer: &call.Body{}}, "", ""},
		"one that was delivered": {
			delivered, call.Call{State: call.Succeeded, Answer: &call.Body{}}, call.InvalidInput, "delivered",
		},
		"one that is stored": {delivered, call.Call{State: call.Succeeded, Replayable: true, Answer: &call.Body{}}, "", ""},
		"canceled":           {rec, call.Call{State: call.Canceled}, call.InvalidInput, "cancelled; use a new key"},
		"unknown":            {rec, call.Call{State: call.Unknown}, call.InvalidInput, "unknown"},
		"failed": {
			rec, call.Call{State: call.Failed, Failure: &call.Failure{Type: call.PolicyViolation}}, call.PolicyViolation, "",
		},
		"under way, its caller waits": {rec, call.Call{State: call.Running}, call.ConcurrencyLimit, "still running"},
	} {
		d := desk{limits: enabled, keys: []keyAnswer{{c.rec, nil}}, state: c.call}
		res, err := d.service(t).Run(t.Context(), request("k"))
		require.Empty(t, d.accepted, name)
		if c.want == "" {
			require.NoError(t, err, name)
			require.True(t, res.Replayed, name)
			continue
		}
		require.Equal(t, c.want, call.RefusalOf(err).Type, name)
		require.ErrorContains(t, err, c.says, name)
	}
}

// A call whose key is known and that cannot be read is not said to be new.
func TestTheCallOfAKeyThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	d := desk{limits: enabled, keys: []keyAnswer{{call.KeyRecord{Call: id, Fingerprint: mine}, nil}}, load: away}
	_, err := d.service(t).Run(t.Context(), request("k"))
	require.ErrorIs(t, err, away)
	require.Empty(t, d.accepted)
}

// A caller hears the end of its call from the process that records it, long before its deadline.
func TestACallerHearsTheEndOfItsCall(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(call.SucceededV1{Answer: call.Body{Size: 7}, Charged: 5})
	require.NoError(t, err)
	d := desk{limits: enabled, heard: data, spend: &call.Spend{Limit: 9}}
	res, err := d.service(t).Run(t.Context(), request(""))
	require.NoError(t, err)
	require.EqualValues(t, 7, res.Size)
	require.EqualValues(t, 5, *res.Charged)
	require.Equal(t, d.spend, res.Spend, "as the call was admitted")
}
