package callstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

const (
	// firstRun is the number of a call's first run.
	firstRun = 1
	// queueFullRetry is the Retry-After of queue_full: a full queue moves in seconds.
	queueFullRetry = 5 * time.Second
	// acceptanceSize is about how many bytes an acceptance writes. What a client sends is stored elsewhere.
	acceptanceSize = 3 << 10
)

// Accept implements call.Store.
func (s *Store) Accept(ctx context.Context, n call.NewCall) (out call.Admission, err error) {
	made := &acceptance{NewCall: n, first: uuid.New()}
	earlier, err := s.changes.Do(ctx, n.Account, &change{Outcome: eventstore.Outcome{First: made.first}, accept: made})
	switch {
	case err != nil:
		return call.Admission{}, classifyAccept(err)
	case earlier: // an attempt whose answer was lost recorded it; the relay starts the call
		if out.Call, err = s.Load(ctx, n.Account, n.ID); err == nil && out.Call.State == call.Waiting {
			out.Ahead, err = s.Ahead(ctx, n.Account, n.ID)
		}
		return out, err
	}
	made.out.Call, err = s.fold(made.append.Recorded())
	return made.out, err
}

// classifyAccept returns refusals unchanged and classifies every other error.
func classifyAccept(err error) error {
	var refused *call.Refusal
	if errors.Is(err, call.ErrKeyTaken) || errors.As(err, &refused) {
		return err
	}
	return postgres.Classify(err, "pass the gates of a call")
}

// acceptance is a call to accept.
type acceptance struct {
	call.NewCall
	first uuid.UUID // of its events
	out   call.Admission

	admitted bool
	append   *eventstore.Prepared
}

// decide decides whether the call is accepted, and whether it runs now. It returns the events for the ledger of a
// metered account.
func (n *acceptance) decide(ctx context.Context, tx postgres.Tx, t *changes, c *change) ([]eventlog.Append, error) {
	n.out = call.Admission{}
	if _, taken := t.keys[n.Key]; taken {
		c.Refuse(call.ErrKeyTaken)
		return nil, nil
	}
	if refused := n.decideSlot(t); refused != nil {
		c.Refuse(refused)
		return nil, nil
	}
	reserved, err := t.store.reserve(ctx, tx, t.state, n.NewCall)
	if fault.Is(err, fault.Exhausted) {
		c.Refuse(err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n.enter(t)
	n.append, err = t.store.events.Prepare(n.begin())
	return reserved, err
}

// decideSlot returns the refusal of a limit, or nil. It sets whether the call has a slot, or waits for one.
func (n *acceptance) decideSlot(t *changes) error {
	for _, w := range n.Limits.Windows {
		if r := t.windows[w.Name].refusal(w); r != nil {
			return r
		}
	}
	refused := t.state.gate(n.Limits, n.Accepted.Held, n.Costly)
	n.admitted = refused == nil && (n.Accepted.Mode != call.Queued || t.state.queued == 0)
	if n.admitted {
		return nil
	}
	return queueable(t.state, n.NewCall, refused)
}

// enter counts the call, so that what follows in its transaction is decided behind it.
func (n *acceptance) enter(t *changes) {
	l := &t.state
	n.out.Ahead = int64(l.queued)
	if n.admitted {
		l.inFlight++
		l.committed += n.Accepted.Held
		l.costly += oneIf(n.Costly)
	} else {
		l.queued++
	}
	n.out.Spend = l.spend(n.Limits)
	for _, w := range n.Limits.Windows {
		t.windows[w.Name].counted++
	}
	if n.Key != "" {
		t.keys[n.Key] = n.ID
	}
}

// queueable returns the reason why a call that is not admitted cannot be queued, or nil if it can. The call of a node
// is queued before the requests of the queued delivery, without a limit: every free slot goes to the queue, so a node
// that only retried would get no slot while requests are queued. A node's call beyond the ceiling of its account is
// refused.
func queueable(l admissionState, n call.NewCall, refused *call.Refusal) error {
	switch {
	case n.Accepted.Mode == call.Node && refused != nil && refused.Kind == fault.Exhausted && refused.Spend == nil:
		return nil
	case n.Accepted.Mode != call.Queued:
		if refused == nil {
			return nil
		}
		return refused
	case refused != nil && refused.Kind == fault.Denied:
		return refused
	case l.queued >= n.Limits.Backlog:
		r := call.Refuse(fault.Exhausted, call.QueueBacklogFull, "%d requests are waiting, the account's limit; try again when some have started",
			l.queued)
		r.RetryAfter = int(queueFullRetry / time.Second)
		return r
	}
	return nil
}

// reserve reserves the call's credit. The caller appends the returned events of the ledger together with those of the
// call. Without an error, it has written what they say; with one that is Exhausted, nothing.
func (s *Store) reserve(ctx context.Context, db postgres.Tx, l admissionState, n call.NewCall) ([]eventlog.Append, error) {
	if !l.metered {
		return nil, nil
	}
	return s.credits.Reserve(ctx, db, n.Account, holdID(n.ID), n.Accepted.Held)
}

func holdID(id call.ID) string { return id.Stream() }

// addClaims adds the statement that claims the idempotency keys of calls. A key that is there has expired: changes.readKeys
// has seen, under the lock of the account, that none of them is in use.
func addClaims(c *eventstore.Changes, account string, accepted []*acceptance) {
	var keys, ids []string
	var fingerprints [][]byte
	for _, n := range accepted {
		if n.Key != "" {
			keys, ids, fingerprints = append(keys, n.Key), append(ids, string(n.ID)), append(fingerprints, n.Fingerprint[:])
		}
	}
	if len(keys) == 0 {
		return
	}
	c.Queue(`insert into call_keys (account, key, fingerprint, call_id, expires_at)
		select $1, k.key, k.fingerprint, k.id, now() + $2::interval from unnest($3::text[], $4::bytea[], $5::uuid[]) as k (key, fingerprint, id)
		on conflict (account, key) do update set fingerprint = excluded.fingerprint, call_id = excluded.call_id,
			expires_at = excluded.expires_at, delivered_at = null`, account, call.Retention, keys, fingerprints, ids)
}

// addRequests adds the statement that refers to the bodies of calls, so that they are kept.
func addRequests(c *eventstore.Changes, accepted []*acceptance) {
	ids, refs := make([]string, len(accepted)), make([][]byte, len(accepted))
	for i, n := range accepted {
		ids[i], refs[i] = string(n.ID), n.Accepted.Request.Ref[:]
	}
	c.Queue(`insert into call_blobs (call_id, ref, keep_until)
		select b.id, b.ref, 'infinity' from unnest($1::uuid[], $2::bytea[]) as b (id, ref)`, ids, refs)
}

// unit returns the call in the form of the admission.
func (n *acceptance) unit() unit {
	return unit{
		id: n.ID, account: n.Account, run: firstRun, held: n.Accepted.Held, costly: n.Costly,
		payload: payloadOf(n.Run(admittedVersion)),
	}
}

// place returns how long the call may wait for a slot, as PostgreSQL reads it.
func (n *acceptance) place() string {
	within := n.Limits.QueueFor
	if n.Accepted.Mode == call.Node {
		within = nodeQueueFor
	}
	return fmt.Sprintf("%d microseconds", within.Microseconds())
}

// nodeQueueFor bounds how long the call of a node may wait for a slot, longer than any job runs. The call ends with
// its job.
const nodeQueueFor = 10 * 365 * 24 * time.Hour

// admittedVersion is the version of a call's stream at its admission: accepted and admitted are always its first two
// events, because the only other event of a queued call is the one that ends it.
const admittedVersion = 2

func payloadOf(r call.Run) json.RawMessage {
	payload, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and ints always marshal
	}
	return payload
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// begin returns the append that begins the call. The id of its first event is unique to this request, so that a
// second call with the same request id fails at the stream's version.
func (n *acceptance) begin() eventlog.Append {
	events := []eventlog.Event{{ID: n.first, Type: call.TypeAccepted, Data: n.Accepted}}
	if n.admitted {
		events = append(events, callAdmission(n.ID))
	}
	if n.admitted && n.Sending != nil {
		events = append(events, eventlog.Event{ID: call.EventID(n.ID, 0, call.TypeDispatching), Type: call.TypeDispatching, Data: *n.Sending})
	}
	return eventlog.Append{
		Stream: n.ID.Stream(), Account: n.Account, Expected: 0, Events: events,
		Meta: eventlog.Meta{Actor: n.Account, RequestID: string(n.ID)},
	}
}

func callAdmission(id call.ID) eventlog.Event {
	return eventlog.Event{ID: call.EventID(id, firstRun, call.TypeAdmitted), Type: call.TypeAdmitted, Data: call.AdmittedV1{Run: firstRun}}
}
