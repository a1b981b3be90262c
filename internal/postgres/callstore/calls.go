// Package callstore stores calls of partner models in PostgreSQL: acceptance, admission, end and reconciliation, each
// in one transaction with its events, limits, credits and intents. It promises that a call is charged at most once,
// and that an idempotency key belongs to one call.
package callstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/admission"
	"github.com/millrace-dev/millrace/internal/postgres/committer"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Store implements call.Store. Every transaction locks in this order: the account's row in call_admissions,
// its credit balance, then the log, by an append as the last statement before commit.
type Store struct {
	pool       *pgxpool.Pool
	events     *eventstore.Store
	credits    *accountstore.Credits
	slots      *admission.Admission[unit]
	changes    *eventstore.Joined[*change]
	heartbeats *call.Heartbeats // of dispatching processes
}

var _ call.Store = (*Store)(nil)

// New returns the call store in pool's database that appends through events and reserves credit through credits.
func New(pool *pgxpool.Pool, events *eventstore.Store, credits *accountstore.Credits) *Store {
	s := &Store{pool: pool, events: events, credits: credits, slots: admission.New(kind), heartbeats: call.NewHeartbeats(time.Now)}
	s.changes = eventstore.NewJoined(events, committer.Options{}, s.decide)
	return s
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
	Name: "call", Running: "in_flight", Queued: "queued",
	Sums:    map[string]string{"committed": "sum(held)", "costly": "count(*) filter (where costly)"},
	Carried: []string{"held", "costly", "payload"}, Place: "expires_at", PlaceAt: "now() + {place}::interval", Order: "of_job desc, seq",
	Open: "true",
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
		return eventlog.AppendTo(u.id.Stream(), u.account, eventlog.Meta{Actor: "admission"}, callAdmission(u.id))
	},
}

// admissionState is the state that decides whether an account's next call may run: its counts of calls and their
// cost. Its row is locked until the transaction ends.
type admissionState struct {
	inFlight, costly, queued int
	committed, spent         int64
	metered                  bool // the account has a credit ledger
}

const lockAdmission = `insert into call_admissions (account) values ($1)
	on conflict (account) do update set queued = call_admissions.queued
	returning in_flight, costly, queued, committed, spent, exists (select from credit_balances where account = $1)`

func queueLockAdmission(q *pgx.Batch, account string, l *admissionState) {
	postgres.ScanInto(q.Queue(lockAdmission, account), &l.inFlight, &l.costly, &l.queued, &l.committed, &l.spent, &l.metered)
}

// gate returns the reason why a call cannot run now, or nil if it can.
func (l admissionState) gate(limits call.Limits, reserved int64, costly bool) *call.Refusal {
	all, few := limits.Concurrent(l.spent)
	switch {
	case all == 0:
		return call.Refuse(fault.Denied, call.Forbidden, "this account may not run models")
	case l.inFlight >= all:
		return call.Refuse(fault.Exhausted, call.ConcurrencyLimit, "%d calls are in flight, the account's limit; try again when one has finished",
			l.inFlight)
	case costly && l.costly >= few:
		return call.Refuse(fault.Exhausted, call.ConcurrencyLimit,
			"%d calls of models at this price are in flight, the account's limit; try again when one has finished", l.costly)
	case limits.Ceiling > 0 && l.committed+reserved > limits.Ceiling:
		r := call.Refuse(fault.Exhausted, call.ConcurrencyLimit,
			"the cost of the calls in flight would exceed the account's spend ceiling; try again when one has finished")
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

// Key implements call.Store.
func (s *Store) Key(ctx context.Context, account, key string) (call.KeyRecord, bool, error) {
	var rec call.KeyRecord
	var fingerprint []byte
	var ago float64
	ok, err := postgres.Find(ctx, s.pool, "look up an idempotency key", []any{&rec.Call, &fingerprint, &rec.Delivered, &ago},
		`select call_id::text, fingerprint, delivered_at is not null, coalesce(extract(epoch from now() - delivered_at)::float8, 0)
		from call_keys where account = $1 and key = $2 and expires_at > now()`, account, key)
	if err != nil || !ok {
		return rec, false, err
	}
	rec.Fingerprint, rec.DeliveredAgo = blob.Ref(fingerprint), time.Duration(ago*float64(time.Second))
	return rec, true, nil
}

// Deliver implements call.Store.
func (s *Store) Deliver(ctx context.Context, account string, id call.ID) error {
	_, err := s.pool.Exec(ctx, `update call_keys set delivered_at = coalesce(delivered_at, now())
		where call_id = $1 and account = $2`, id, account)
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
	return s.fold(recorded)
}

func (s *Store) fold(recorded []eventlog.Recorded) (call.Call, error) {
	var c call.Call
	for _, rec := range recorded {
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
	_, err := s.events.Append(ctx, eventlog.AppendTo(id.Stream(), account, eventlog.Meta{Actor: account}, e))
	return err
}

// Ahead implements call.Store.
func (s *Store) Ahead(ctx context.Context, account string, id call.ID) (int64, error) {
	var ahead int64
	err := s.pool.QueryRow(ctx, `select count(*) from call_queue
		where account = $1 and (not of_job, seq) < (select not of_job, seq from call_queue where call_id = $2 and account = $1)`, account,
		id).Scan(&ahead)
	return ahead, postgres.Classify(err, "count the waiting calls")
}
