// Package eventstore is the event log in PostgreSQL: it appends events, reads streams, and tails the log in its
// global order. It promises that an event is stored once, and that a reader misses no event and sees none out of
// order, even if transactions commit late or roll back. The package also stores the checkpoints of consumer groups.
// Aggregates define the meaning of events; projections build views from them.
package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Store appends events and reads streams. It implements eventlog.Store.
type Store struct {
	pool     *pgxpool.Pool
	registry *eventlog.Registry
	wake     *Wake
	deliver  func([]outbox.Intent) // nil = relays find intents in the outbox
	unknown  atomic.Int64          // when the outcome of a commit was last unknown, in nanoseconds since 1970
}

var _ eventlog.Store = (*Store)(nil)

// New returns the event store in pool's database. wake may be nil: subscribers then find new events by polling.
func New(pool *pgxpool.Pool, registry *eventlog.Registry, wake *Wake) *Store {
	return &Store{pool: pool, registry: registry, wake: wake}
}

// DeliverBy sets what delivers the intents of decisions after their commit. It must not block, and is set before the store is used.
func (s *Store) DeliverBy(deliver func([]outbox.Intent)) { s.deliver = deliver }

// Decode returns the data of a recorded event as the struct of its registered type.
func (s *Store) Decode(rec eventlog.Recorded) (any, error) {
	return s.registry.Decode(rec.Type, rec.Data)
}

// Types returns the event types of the store.
func (s *Store) Types() *eventlog.Registry { return s.registry }

// Append implements eventlog.Store, in one statement and one round trip.
func (s *Store) Append(ctx context.Context, a eventlog.Append) ([]eventlog.Recorded, error) {
	p, err := s.Prepare(a)
	if err != nil {
		return nil, err
	}
	recorded, err := batch{p}.append(ctx, s.pool, true)
	if errors.Is(err, eventlog.ErrDuplicate) { // recorded between the read and the insert: now it can be read
		recorded, err = batch{p}.append(ctx, s.pool, true)
	}
	if err != nil {
		return nil, err
	}
	s.wake.Announce(recorded)
	return recorded, nil
}

// appendLockClass is the first half of the append lock's key ("mill").
// The second half is the hash of the schema.
const appendLockClass = 0x6d696c6c

// appendStatement appends events. schema/0101_log.sql contains the function, and explains its order.
const appendStatement = `select * from append_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`

// Prepared is an append whose events are encoded.
type Prepared struct {
	eventlog.Append
	meta string
	data []string // of the events, in order
	size int

	recorded []eventlog.Recorded // after the commit
}

// Recorded returns the events as they are in the log, after the commit.
func (p *Prepared) Recorded() []eventlog.Recorded { return p.recorded }

// Size returns about how many bytes the append writes.
func (p *Prepared) Size() int { return p.size }

// eventOverhead is about what an event takes beside its data: its row, and its entries in indexes.
const eventOverhead = 256

// Prepare encodes an append. Whoever appends under a lock prepares before it takes the lock.
func (s *Store) Prepare(a eventlog.Append) (*Prepared, error) {
	if a.Stream == "" || a.Account == "" || len(a.Events) == 0 || a.Expected < eventlog.AnyVersion {
		return nil, fault.New(fault.Invalid, "", "an append to stream %q lacks stream, account or events", a.Stream)
	}
	meta, err := json.Marshal(a.Meta)
	if err != nil {
		return nil, fmt.Errorf("encode meta: %w", err)
	}
	p := &Prepared{Append: a, meta: string(meta), data: make([]string, 0, len(a.Events)), size: len(meta)}
	for _, e := range a.Events {
		data, err := s.registry.Encode(e)
		if err != nil {
			return nil, err
		}
		p.data = append(p.data, string(data))
		p.size += len(data) + eventOverhead
	}
	return p, nil
}

// batch is one or more appends to distinct streams.
type batch []*Prepared

func (b batch) check() error {
	seen := make(map[string]bool, len(b))
	for _, p := range b {
		if seen[p.Stream] {
			return fault.New(fault.Invalid, "", "appends name stream %q twice", p.Stream)
		}
		seen[p.Stream] = true
	}
	return nil
}

// events returns how many events the appends have.
func (b batch) events() (n int) {
	for _, p := range b {
		n += len(p.data)
	}
	return n
}

// args returns the arguments of appendStatement.
func (b batch) args() []any {
	var streams, accounts, types, metas, data []string
	var expected, sizes, ns, ks []int64
	var firsts, ids uuids
	var closes, reopens pgtype.FlatArray[bool]
	for i, p := range b {
		streams, accounts, metas = append(streams, p.Stream), append(accounts, p.Account), append(metas, p.meta)
		expected, sizes = append(expected, p.Expected), append(sizes, int64(len(p.Events)))
		firsts, closes, reopens = append(firsts, binary(p.Events[0].ID)), append(closes, p.Close), append(reopens, p.Reopen)
		for k, e := range p.Events {
			ns, ks = append(ns, int64(i+1)), append(ks, int64(k+1))
			ids, types = append(ids, binary(e.ID)), append(types, e.Type)
		}
		data = append(data, p.data...)
	}
	return []any{
		appendLockClass, streams, accounts, expected, sizes, firsts, closes, reopens, metas,
		ns, ks, ids, types, data,
	}
}

// uuids is an array that is sent as it is; a []uuid.UUID is sent by way of the texts.
type uuids = pgtype.FlatArray[pgtype.UUID]

func binary(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// append runs the statement and returns the events that are recorded with the ids.
func (b batch) append(ctx context.Context, db postgres.Queryer, repeats bool) ([]eventlog.Recorded, error) {
	placed := make(map[uuid.UUID]eventlog.Recorded, b.events())
	rows, err := db.Query(ctx, appendStatement, b.args()...)
	if err == nil {
		err = collectPlaced(rows, placed)
	}
	if err != nil {
		return nil, b.classify(err)
	}
	if len(placed) == b.events() {
		return b.collect(placed, nil), nil
	}
	return b.explain(ctx, db, placed, repeats)
}

// queue queues the appends, which fail the batch unless all events are new. It returns how to get the recorded events after
// the batch.
func (b batch) queue(q *pgx.Batch) (recorded func() []eventlog.Recorded) {
	placed := make(map[uuid.UUID]eventlog.Recorded, b.events())
	q.Queue(`select * from append_events_or_fail($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`, b.args()...).
		Query(func(rows pgx.Rows) error { return collectPlaced(rows, placed) })
	return func() []eventlog.Recorded { return b.collect(placed, nil) }
}

// collectPlaced adds the places of new events to placed.
func collectPlaced(rows pgx.Rows, placed map[uuid.UUID]eventlog.Recorded) error {
	var rec eventlog.Recorded
	_, err := pgx.ForEachRow(rows, []any{&rec.Position, &rec.Version, &rec.ID, &rec.RecordedAt}, func() error {
		placed[rec.ID] = rec
		return nil
	})
	return err
}

// collect completes the new events with the sent data, and inserts the recorded repeats.
func (b batch) collect(placed, repeats map[uuid.UUID]eventlog.Recorded) []eventlog.Recorded {
	out := make([]eventlog.Recorded, 0, b.events())
	for _, p := range b {
		first := len(out)
		for i, e := range p.Events {
			if rec, ok := placed[e.ID]; ok {
				rec.Stream, rec.Type, rec.Account = p.Stream, e.Type, p.Account
				rec.Data, rec.Meta, rec.RecordedAt = json.RawMessage(p.data[i]), p.Meta, rec.RecordedAt.UTC()
				out = append(out, rec)
			} else if rec, ok := repeats[e.ID]; ok {
				out = append(out, rec)
			}
		}
		p.recorded = out[first:len(out):len(out)]
	}
	return out
}

// explain finds out why the statement placed fewer events than it was given: a refusal, or repeats, which may be accepted.
func (b batch) explain(ctx context.Context, db postgres.Queryer, placed map[uuid.UUID]eventlog.Recorded, accept bool,
) ([]eventlog.Recorded, error) {
	var missing []uuid.UUID
	for _, p := range b {
		for _, e := range p.Events {
			if _, ok := placed[e.ID]; !ok {
				missing = append(missing, e.ID)
			}
		}
	}
	found, err := postgres.Collect(ctx, db, "read repeated events", ScanRecorded, SelectEvents+` where id = any($1)`, missing)
	if err != nil {
		return nil, err
	}
	repeats := make(map[uuid.UUID]eventlog.Recorded, len(found))
	for _, rec := range found {
		repeats[rec.ID] = rec
	}
	for _, p := range b {
		for i, e := range p.Events {
			if _, ok := placed[e.ID]; ok {
				continue
			}
			if rec, ok := repeats[e.ID]; i == 0 && !ok || ok && (!accept || rec.Stream != p.Stream || rec.Account != p.Account) {
				return nil, refusal(ctx, db, p.Append, ok)
			}
		}
	}
	return b.collect(placed, repeats), nil
}

// refusal returns the error for the rule that an append violates.
func refusal(ctx context.Context, db postgres.Queryer, a eventlog.Append, taken bool) error {
	if taken {
		return eventlog.Refuse(eventlog.ErrDuplicate, a, 0)
	}
	var account string
	var version int64
	var closed bool
	err := postgres.Each(ctx, db, "read a stream's version", func(row pgx.CollectableRow) error {
		return row.Scan(&account, &version, &closed)
	}, `select account, version, closed from streams where id = $1`, a.Stream)
	switch {
	case err != nil:
		return err
	case account != a.Account && version > 0:
		return eventlog.Refuse(eventlog.ErrForeign, a, version)
	case closed && !a.Reopen:
		return eventlog.Refuse(eventlog.ErrClosed, a, version)
	default:
		return eventlog.Refuse(eventlog.ErrVersion, a, version)
	}
}

// eventsRefused is the SQLSTATE of append_events_or_fail, see schema/0101_log.sql.
const eventsRefused = "MR001"

// isRefused reports whether err means that an append was not placed as a whole.
func isRefused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == eventsRefused
}

func (b batch) classify(err error) error {
	return postgres.Classify(duplicate(err, b), "append to "+b[0].Stream)
}

// duplicate returns eventlog.ErrDuplicate for an event whose id is recorded already, and every other error unchanged.
func duplicate(err error, b batch) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == postgres.UniqueViolation && strings.HasPrefix(pg.ConstraintName, "events_") {
		return eventlog.Refuse(fmt.Errorf("%w: %w", eventlog.ErrDuplicate, err), b[0].Append, 0)
	}
	return err
}

// SelectEvents begins every query for events; ScanRecorded reads its rows.
const SelectEvents = `select position, stream, version, id, type, account, data, meta, recorded_at from events`

// ScanRecorded reads one row of a query that begins with SelectEvents.
func ScanRecorded(row pgx.CollectableRow) (eventlog.Recorded, error) {
	var rec eventlog.Recorded
	var data, meta []byte
	err := row.Scan(&rec.Position, &rec.Stream, &rec.Version, &rec.ID, &rec.Type, &rec.Account, &data, &meta, &rec.RecordedAt)
	if err != nil {
		return rec, err
	}
	rec.Data, rec.RecordedAt = slices.Clip(data), rec.RecordedAt.UTC()
	if err := json.Unmarshal(meta, &rec.Meta); err != nil {
		return rec, fmt.Errorf("meta of event %d: %w", rec.Position, err)
	}
	return rec, nil
}

// ReadStream implements eventlog.Store.
func (s *Store) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventlog.Recorded, error) {
	return ReadStream(ctx, s.pool, stream, after, limit)
}

// streams reads streams as seen by one transaction, connection or pool.
type streams struct{ db postgres.Queryer }

// ReadStream implements eventlog.Streams.
func (s streams) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventlog.Recorded, error) {
	return ReadStream(ctx, s.db, stream, after, limit)
}

// StreamsOf returns the streams of the log as seen by db.
func StreamsOf(db postgres.Queryer) eventlog.Streams { return streams{db} }

// ReadStream returns up to limit events of stream with a version above after, as seen by db.
func ReadStream(ctx context.Context, db postgres.Queryer, stream string, after int64, limit int) ([]eventlog.Recorded, error) {
	return postgres.Collect(ctx, db, "read stream "+stream, ScanRecorded,
		SelectEvents+` where stream = $1 and version > $2 order by version limit $3`, stream, after, limit)
}

// Head returns the highest recorded position, 0 for an empty log. Lower positions may still be uncommitted: a reader
// must reach Head, but must not skip to it.
func (s *Store) Head(ctx context.Context) (int64, error) {
	var head int64
	err := s.pool.QueryRow(ctx, `select coalesce(max(position), 0) from events`).Scan(&head)
	return head, postgres.Classify(err, "read the head of the log")
}
