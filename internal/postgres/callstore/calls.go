// Package callstore stores calls of partner models in PostgreSQL: acceptance, admission, end and reconciliation, each
// in one transaction with its events, limits, credits and intents. It promises that a call is charged at most once,
// and that an idempotency key belongs to one call.
package callstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/admission"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Store implements call.Store. Every transaction locks in this order: the account's row in call_lanes,
// its credit balance, then the log, by an append as the last statement before commit.
type Store struct {
	pool       *pgxpool.Pool
	events     *eventstore.Store
	credits    *accountstore.Credits
	slots      *admission.Admission[unit]
	heartbeats *call.Heartbeats // of dispatching processes
}

var _ call.Store = (*Store)(nil)

// New returns the call store in pool's database that appends through events and reserves credit through credits.
func New(pool *pgxpool.Pool, events *eventstore.Store, credits *accountstore.Credits) *Store {
	return &Store{pool: pool, events: events, credits: credits, slots: admission.New(kind), heartbeats: call.NewHeartbeats(time.Now)}
}

// unit is a call in the form of the admission.
type unit struct {
	id      call.ID
	account string
	run     int
	held    int64
	costly  bool
	payload json.RawMessage // payload of its start intent
}

// kind describes calls to the admission: calls of jobs run first, and then the oldest.
var kind = admission.Kind[unit]{
	Name: "call", Running: "in_flight", Queued: "parked", Sums: map[string]string{"committed": "sum(held)", "costly": "count(*) filter (where costly)"},
	Carried: []string{"held", "costly", "payload"}, Place: "expires_at", PlaceAt: "now() + {place}::interval", Order: "of_job desc, seq", Open: "true",
	Row: func(u unit) (string, string, int, []any) {
		return string(u.id), u.account, u.run, []any{u.held, u.costly, u.payload}
	},
	Scan: func(row pgx.CollectableRow) (u unit, err error) {
		err = row.Scan(&u.id, &u.account, &u.run, &u.held, &u.costly, &u.payload)
		return u, err
	},
	Start: func(u unit) outbox.Intent {
		return outbox.Intent{WorkflowID: u.id.WorkflowID(u.run), Kind: outbox.StartRunModel, Payload: u.payload}
	},
	Admitted: func(u unit) eventlog.Append {
		return eventlog.Append{
			Stream: u.id.Stream(), Account: u.account, Expected: eventlog.AnyVersion,
			Events: []eventlog.Event{callAdmission(u.id)}, Meta: eventlog.Meta{Actor: "admission"},
		}
	},
}

// admissionState is the state that decides whether an account's next call may run: its counts of calls and their
// cost. Its row is locked until the transaction ends.
type admissionState struct {
	inFlight, costly, queued int
	committed, spent         int64
	metered                  bool // the account has a credit ledger
}

const (
	// firstRun is the number of a call's first run.
	firstRun = 1
	// queueFullRetry is the Retry-After of queue_full: a full queue moves in seconds.
	queueFullRetry = 5 * time.Second
)

const lockAdmission = `insert into call_lanes (account) values ($1)
	on conflict (account) do update set parked = call_lanes.parked
	returning in_flight, costly, parked, committed, spent, exists (select from credit_balances where account = $1)`

func queueLockAdmission(q *pgx.Batch, account string, l *admissionState) {
	q.Queue(lockAdmission, account).QueryRow(func(row pgx.Row) error {
		return row.Scan(&l.inFlight, &l.costly, &l.queued, &l.committed, &l.spent, &l.metered)
	})
}

const claimCallKey = `insert into call_keys (account, key, fingerprint, call_id, expires_at)
	values ($1, $2, $3, $4, now() + $5::interval)
	on conflict (account, key) do update set fingerprint = excluded.fingerprint, call_id = excluded.call_id,
		expires_at = excluded.expires_at, delivered = false, delivered_at = null
	where call_keys.expires_at <= now()`

// Accept implements call.Store.
func (s *Store) Accept(ctx context.Context, n call.NewCall) (out call.Admission, err error) {
	first := uuid.New()
	recorded, err := s.events.RetryAmbiguous(ctx, first, func(ctx context.Context) error {
		out, err = s.accept(ctx, n, first)
		return err
	})
	if err != nil {
		return call.Admission{}, classifyAccept(err)
	}
	if recorded { // an earlier attempt whose answer was lost recorded it; the relay starts the call
		return s.admission(ctx, n)
	}
	return out, nil
}

// admission returns the result of an earlier attempt to accept the call.
func (s *Store) admission(ctx context.Context, n call.NewCall) (out call.Admission, err error) {
	s.events.Wake()
	if out.Call, err = s.Load(ctx, n.Account, n.ID); err == nil && out.Call.State == call.Waiting {
		out.Ahead, err = s.Ahead(ctx, n.Account, n.ID)
	}
	return out, err
}

// accept is one attempt to accept a call; first is the id of its first event.
func (s *Store) accept(ctx context.Context, n call.NewCall, first uuid.UUID) (call.Admission, error) {
	var l admissionState
	var out call.Admission
	var queued *eventstore.Queued
	look := func(q *pgx.Batch) {
		queueLockAdmission(q, n.Account, &l)
		if n.Key != "" {
			q.Queue(claimCallKey, n.Account, n.Key, n.Fingerprint[:], n.ID, call.Retention).Exec(func(tag pgconn.CommandTag) error {
				if tag.RowsAffected() == 0 {
					return call.ErrKeyTaken
				}
				return nil
			})
		}
		queueWindows(q, n.Account, n.Limits.Windows)
	}
	err := postgres.Pipelined(ctx, s.pool, look, func(db postgres.Tx, q *pgx.Batch) error {
		refused := l.gate(n.Limits, n.Accepted.Held, n.Costly)
		admit := refused == nil && (n.Accepted.Mode != call.Queued || l.queued == 0)
		if err := queueable(l, n, refused); !admit && err != nil {
			return err
		}
		appends, err := s.reserve(ctx, db, l, n)
		if err != nil {
			return err
		}
		out.Intents, out.Ahead = s.settle(q, n, admit), int64(l.queued)
		if admit {
			l.committed += n.Accepted.Held
		}
		out.Spend = l.spend(n.Limits)
		queued, err = s.events.QueueAppend(q, append([]eventlog.Append{acceptance(n, first, admit)}, appends...))
		return err
	})
	if err != nil {
		return call.Admission{}, err
	}
	s.events.Wake()
	out.Call, err = s.fold(n.ID, queued.Recorded())
	return out, err
}

// classifyAccept returns refusals unchanged and classifies every other error.
func classifyAccept(err error) error {
	var refused *call.Refusal
	if errors.Is(err, call.ErrKeyTaken) || errors.As(err, &refused) {
		return err
	}
	return postgres.Classify(err, "pass the gates of a call")
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
		r := call.Refuse(fault.Exhausted, call.QueueBacklogFull, "%d requests are waiting, the account's limit; try again when some have started", l.queued)
		r.RetryAfter = int(queueFullRetry / time.Second)
		return r
	}
	return nil
}

// gate returns the reason why a call cannot run now, or nil if it can.
func (l admissionState) gate(limits call.Limits, held int64, costly bool) *call.Refusal {
	all, few := limits.Concurrent(l.spent)
	switch {
	case all == 0:
		return call.Refuse(fault.Denied, call.Forbidden, "this account may not run models")
	case l.inFlight >= all:
		return call.Refuse(fault.Exhausted, call.ConcurrencyLimit, "%d calls are in flight, the account's limit; try again when one has finished", l.inFlight)
	case costly && l.costly >= few:
		return call.Refuse(fault.Exhausted, call.ConcurrencyLimit, "%d calls of models at this price are in flight, the account's limit; try again when one has finished", l.costly)
	case limits.Ceiling > 0 && l.committed+held > limits.Ceiling:
		r := call.Refuse(fault.Exhausted, call.ConcurrencyLimit, "the cost of the calls in flight would exceed the account's spend ceiling; try again when one has finished")
		r.Spend = l.spend(limits)
		return r
	}
	return nil
}

// centMicros is the number of millionths of a dollar in a cent.
const centMicros = 10_000

// spend returns the committed spend and its ceiling in cents, rounded up, or nil if there is no ceiling.
func (l admissionState) spend(limits call.Limits) *call.Spend {
	if limits.Ceiling <= 0 {
		return nil
	}
	limit, current := limits.Ceiling/centMicros, (l.committed+centMicros-1)/centMicros
	return &call.Spend{Limit: limit, Current: current, Remaining: max(0, limit-current)}
}

// reserve reserves the call's credit. The caller appends the returned events of the ledger together with those of the
// call.
func (s *Store) reserve(ctx context.Context, db postgres.Tx, l admissionState, n call.NewCall) ([]eventlog.Append, error) {
	if !l.metered {
		return nil, nil
	}
	return s.credits.HoldTx(ctx, db, n.Account, holdID(n.ID), n.Accepted.Held)
}

func holdID(id call.ID) string { return id.Stream() }

// settle queues the statements that write a call's rows: its blob reference, and its slot with the start intent, or
// its row in the queue. The ids of the intents are set when the batch is closed.
func (s *Store) settle(q *pgx.Batch, n call.NewCall, admit bool) []outbox.Intent {
	q.Queue(`insert into call_blobs (call_id, ref, keep_until) values ($1, $2, 'infinity')`, n.ID, n.Accepted.Request.Ref[:])
	u := unit{id: n.ID, account: n.Account, run: firstRun, held: n.Accepted.Held, costly: n.Costly, payload: payloadOf(n.Run(admittedVersion))}
	within := n.Limits.QueueFor
	if n.Accepted.Mode == call.Node {
		within = nodeQueueFor
	}
	return s.slots.Place(q, u, admit, fmt.Sprintf("%d microseconds", within.Microseconds()))
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

// acceptance returns the append that begins a call. The id of its first event is unique to this request, so that a
// second call with the same request id fails at the stream's version.
func acceptance(n call.NewCall, first uuid.UUID, admit bool) eventlog.Append {
	events := []eventlog.Event{{ID: first, Type: call.TypeAccepted, Data: n.Accepted}}
	if admit {
		events = append(events, callAdmission(n.ID))
	}
	if admit && n.Sending != nil {
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

// queueWindows counts the call against each rate limit, and refuses it if a limit is exceeded. The refusal rolls the
// transaction back, and the count with it.
func queueWindows(q *pgx.Batch, account string, windows []call.Window) {
	for _, w := range windows {
		q.Queue(`insert into call_windows as c (account, name, started, used)
			values ($1, $2, date_bin($3::interval, now(), 'epoch'), 1)
			on conflict (account, name) do update set started = excluded.started,
				used = case when c.started = excluded.started then c.used + 1 else 1 end
			returning used, ceil(extract(epoch from started + $3::interval - now()))::int`, account, w.Name, w.Length).
			QueryRow(func(row pgx.Row) error {
				var used, rest int
				if err := row.Scan(&used, &rest); err != nil {
					return err
				}
				if used <= w.Calls {
					return nil
				}
				r := call.Refuse(fault.Exhausted, call.RateLimited, "the account has reached its rate limit of %d calls per %s", w.Calls, w.Name)
				r.RetryAfter = max(1, rest)
				return r
			})
	}
}

// Count implements call.Store.
func (s *Store) Count(ctx context.Context, account string, windows []call.Window) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		q := &pgx.Batch{}
		queueWindows(q, account, windows)
		return tx.SendBatch(ctx, q).Close()
	})
	return classifyAccept(err)
}

// Key implements call.Store.
func (s *Store) Key(ctx context.Context, account, key string) (call.KeyRecord, bool, error) {
	var rec call.KeyRecord
	var fingerprint []byte
	var ago float64
	err := s.pool.QueryRow(ctx, `select call_id::text, fingerprint, delivered,
			case when delivered then coalesce(extract(epoch from now() - delivered_at)::float8, 86400) else 0 end
		from call_keys where account = $1 and key = $2 and expires_at > now()`, account, key).
		Scan(&rec.Call, &fingerprint, &rec.Delivered, &ago)
	if errors.Is(err, pgx.ErrNoRows) {
		return rec, false, nil
	}
	if err != nil {
		return rec, false, postgres.Classify(err, "look up an idempotency key")
	}
	rec.Fingerprint, rec.DeliveredAgo = blob.Ref(fingerprint), time.Duration(ago*float64(time.Second))
	return rec, true, nil
}

// Deliver implements call.Store.
func (s *Store) Deliver(ctx context.Context, account string, id call.ID) error {
	_, err := s.pool.Exec(ctx, `update call_keys set delivered = true, delivered_at = coalesce(delivered_at, now()) where call_id = $1 and account = $2`, id, account)
	return postgres.Classify(err, "record a delivery")
}

// Load implements call.Store. Calls have a dozen events, so folding them is one cheap query.
func (s *Store) Load(ctx context.Context, account string, id call.ID) (call.Call, error) {
	recorded, err := eventlog.Collect(eventlog.Read(ctx, s.events, id.Stream(), 0))
	if err != nil {
		return call.Call{}, err
	}
	if len(recorded) == 0 || recorded[0].Account != account {
		return call.Call{}, fault.New(fault.NotFound, fault.CodeCallNotFound, "no such call")
	}
	return s.fold(id, recorded)
}

func (s *Store) fold(_ call.ID, recorded []eventlog.Recorded) (call.Call, error) {
	var c call.Call
	for _, rec := range recorded {
		if _, ok := call.IDOfStream(rec.Stream); !ok {
			continue // an event of the ledger that was appended with those of the call
		}
		data, err := s.events.Types().DecodeKnown(rec)
		if err != nil {
			return call.Call{}, err
		}
		c = call.Fold(c, rec, data)
	}
	return c, nil
}

// Note implements call.Store.
func (s *Store) Note(ctx context.Context, account string, id call.ID, e eventlog.Event) error {
	_, err := s.events.Append(ctx, eventlog.Append{
		Stream: id.Stream(), Account: account, Expected: eventlog.AnyVersion,
		Events: []eventlog.Event{e}, Meta: eventlog.Meta{Actor: account},
	})
	return err
}

// Ahead implements call.Store.
func (s *Store) Ahead(ctx context.Context, account string, id call.ID) (int64, error) {
	var ahead int64
	err := s.pool.QueryRow(ctx, `select count(*) from call_queue
		where account = $1 and (not of_job, seq) < (select not of_job, seq from call_queue where call_id = $2 and account = $1)`, account, id).Scan(&ahead)
	return ahead, postgres.Classify(err, "count the waiting calls")
}
