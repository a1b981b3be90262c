package eventstore

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/outboxstore"
)

// Decision is the change that a command makes: the statements that lock and read, and the function that derives the writes from
// their results. Write retries it, announces its events and delivers its intents.
type Decision struct {
	// What describes the command in errors, such as "cancel jobs".
	What string
	// Read queues the statements that lock and read what Decide depends on. They are sent together with BEGIN. May be nil.
	Read func(q *pgx.Batch)
	// Decide adds the changes to c. An error rolls the transaction back; ErrNothing does so without failing. Every
	// attempt calls Read and Decide, which therefore begin by forgetting an earlier attempt.
	Decide func(ctx context.Context, tx postgres.Tx, c *Changes) error
	// First is the id of an event that every attempt records. With it, an attempt whose commit was not answered is repeated
	// until its outcome is known.
	First uuid.UUID
	// Repeats accepts events that are recorded already: they stay as they are. Without it, they refuse the decision.
	Repeats bool
}

// ErrNothing is returned by Decide if there is nothing to change.
var ErrNothing = errors.New("nothing to change")

// Changes are what a decision writes, all or nothing: rows, intents, and events last.
type Changes struct {
	store   *Store
	rows    pgx.Batch
	intents []outbox.Intent // to deliver after the commit
	handed  []handed
	appends []*Prepared
	last    []func() // queue statements behind the append

	recorded []eventlog.Recorded // after the commit, in the order of the appends
}

// handed are intents that the caller of a command delivers.
type handed struct {
	first, n int // their place among Changes.intents
	to       *[]outbox.Intent
}

// Queue adds a statement. A statement whose effect is required must raise an SQL error when it has none: its row count is known
// only after the commit. A callback
// for its result runs after the commit was sent, and must not fail.
func (c *Changes) Queue(sql string, args ...any) *pgx.QueuedQuery { return c.rows.Queue(sql, args...) }

// QueueLast adds a statement behind the append, which sees the recorded events.
func (c *Changes) QueueLast(sql string, args ...any) {
	c.last = append(c.last, func() { c.rows.Queue(sql, args...) })
}

// Append adds events to streams.
func (c *Changes) Append(appends ...eventlog.Append) error {
	for _, a := range appends {
		p, err := c.store.Prepare(a)
		if err != nil {
			return err
		}
		c.AppendPrepared(p)
	}
	return nil
}

// AppendPrepared is Append of events that are encoded already. After the commit, p has the recorded events.
func (c *Changes) AppendPrepared(p *Prepared) { c.appends = append(c.appends, p) }

// Start records intents, which are delivered after the commit.
func (c *Changes) Start(intents ...outbox.Intent) { c.intents = append(c.intents, intents...) }

// StartBy records intents that the caller of the command delivers: after the commit they are in to, with their ids.
func (c *Changes) StartBy(to *[]outbox.Intent, intents ...outbox.Intent) {
	c.handed = append(c.handed, handed{first: len(c.intents), n: len(intents), to: to})
	c.intents = append(c.intents, intents...)
}

// Written is what a decision recorded.
type Written struct {
	Events []eventlog.Recorded // in the order of the appends; none if Earlier
	// Earlier means that an attempt whose commit was not answered had recorded Decision.First. The results of the decision are
	// in the log, and relays deliver its intents.
	Earlier bool
}

// Write carries out a decision in one transaction of two round trips: BEGIN with the reads, and the writes with COMMIT. Then
// readers of the log get the events, and the intents are delivered. If the log refuses an append, the error is a Conflict
// with the reason (eventlog.ErrVersion, ErrClosed, ErrForeign or ErrDuplicate).
func (s *Store) Write(ctx context.Context, d Decision) (Written, error) {
	w, err := s.repeatAmbiguous(ctx, d.First, func(ctx context.Context) ([]eventlog.Recorded, error) { return s.write(ctx, d, true) })
	return w, postgres.Classify(err, d.What)
}

// write is one attempt. To explain a refusal, it appends again in a round trip of its own, which finds out why, and accepts
// repeats; an event that was recorded between that and the insert can be read by the next one.
func (s *Store) write(ctx context.Context, d Decision, explain bool) ([]eventlog.Recorded, error) {
	c, err := s.transact(ctx, d, queueAppends)
	for repeat := 0; explain && repeat < 2 && (isRefused(err) || errors.Is(err, eventlog.ErrDuplicate)); repeat++ {
		c, err = s.transact(ctx, d, appendExplained)
	}
	if err != nil || c == nil {
		return nil, err
	}
	s.published(c)
	return c.recorded, nil
}

// published hands over a committed change: its events to readers of the log, its intents to Temporal.
func (s *Store) published(c *Changes) {
	if len(c.recorded) > 0 {
		s.wake.Announce(c.recorded)
	}
	deliver := c.intents
	for i := len(c.handed) - 1; i >= 0; i-- {
		h := c.handed[i]
		*h.to = c.intents[h.first : h.first+h.n : h.first+h.n]
		deliver = append(deliver[:h.first:h.first], deliver[h.first+h.n:]...)
	}
	if s.deliver != nil && len(deliver) > 0 {
		s.deliver(deliver)
	}
}

// transact is one transaction of a decision. appendLast adds the appends behind all other writes. It returns nil without an
// error if there is nothing to change.
func (s *Store) transact(ctx context.Context, d Decision, appendLast appender) (*Changes, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release() // which closes a connection whose transaction is still open
	c := &Changes{store: s}
	if err := c.commit(ctx, conn, d, appendLast); err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if conn.Conn().PgConn().TxStatus() != 'I' {
			_, _ = conn.Exec(undo, "rollback") // if this fails, the release closes the connection, which has the same effect
		}
		if errors.Is(err, ErrNothing) {
			return nil, nil
		}
		return nil, err
	}
	return c, nil
}

func (c *Changes) commit(ctx context.Context, conn *pgxpool.Conn, d Decision, appendLast appender) error {
	first := &pgx.Batch{}
	first.Queue("begin")
	if d.Read != nil {
		d.Read(first)
	}
	if err := conn.SendBatch(ctx, first).Close(); err != nil {
		return err
	}
	if err := d.Decide(ctx, conn, c); err != nil {
		return err
	}
	outboxstore.Queue(&c.rows, c.intents)
	placed, err := appendLast(ctx, conn, c, d.Repeats)
	if err != nil {
		return err
	}
	for _, queue := range c.last {
		queue()
	}
	c.rows.Queue("commit")
	if err := conn.SendBatch(ctx, &c.rows).Close(); err != nil {
		if conn.Conn().IsClosed() { // the transaction may be committed
			return postgres.Ambiguous(err)
		}
		return duplicate(err, c.appends)
	}
	c.recorded = placed()
	return nil
}

// An appender adds the appends of a transaction to it, behind its other writes. It returns how to get the recorded events
// after the commit.
type appender func(ctx context.Context, conn *pgxpool.Conn, c *Changes, repeats bool) (recorded func() []eventlog.Recorded, err error)

// queueAppends sends the appends together with COMMIT, which fails unless all events are new.
func queueAppends(_ context.Context, _ *pgxpool.Conn, c *Changes, _ bool) (func() []eventlog.Recorded, error) {
	if len(c.appends) == 0 {
		return func() []eventlog.Recorded { return nil }, nil
	}
	b := batch(c.appends)
	if err := b.check(); err != nil {
		return nil, err
	}
	return b.queue(&c.rows), nil
}

// appendExplained sends the appends before COMMIT, and finds out why events are not placed.
func appendExplained(ctx context.Context, conn *pgxpool.Conn, c *Changes, repeats bool) (func() []eventlog.Recorded, error) {
	b := batch(c.appends)
	if len(b) == 0 { // another attempt has found nothing to append
		return queueAppends(ctx, conn, c, repeats)
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	if err := conn.SendBatch(ctx, &c.rows).Close(); err != nil {
		return nil, err
	}
	c.rows = pgx.Batch{}
	recorded, err := b.append(ctx, conn, repeats)
	return func() []eventlog.Recorded { return recorded }, err
}

// doubted is the time after a commit of unknown outcome in which its command is repeated.
const doubted = 30 * time.Second

// doubt wakes the readers of the log if a commit of unknown outcome may have recorded events that nobody announced. It is called
// with the error of each attempt that announced nothing, because a repeated command finds its events recorded.
func (s *Store) doubt(err error) {
	now := time.Now().UnixNano()
	if postgres.IsAmbiguous(err) {
		s.unknown.Store(now)
	}
	if now-s.unknown.Load() < int64(doubted) {
		s.wake.Signal()
	}
}

// repeatAmbiguous makes attempts at a decision that records an event with the id first until the outcome of one is known. A
// client that received an error would repeat its request, which would then be carried out twice, or be refused for its
// idempotency key. The first statement of an attempt waits for the locks of earlier ones, and an attempt after a committed
// one is refused: the event is then in the log.
func (s *Store) repeatAmbiguous(ctx context.Context, first uuid.UUID,
	announced func(context.Context) ([]eventlog.Recorded, error),
) (w Written, err error) {
	attempt := func(ctx context.Context) ([]eventlog.Recorded, error) {
		events, err := announced(ctx)
		if len(events) == 0 {
			s.doubt(err)
		}
		return events, err
	}
	if first == uuid.Nil {
		w.Events, err = attempt(ctx)
		return w, err
	}
	again := false
	err = postgres.RetryAmbiguous(ctx, func(ctx context.Context) (err error) {
		w.Events, err = attempt(ctx)
		if err == nil || !again {
			again = true
			return err
		}
		known, failed := s.has(ctx, first)
		if failed != nil {
			return postgres.Ambiguous(errors.Join(err, failed))
		}
		if w.Earlier = known; known {
			return nil
		}
		return err
	})
	return w, err
}

// has reports whether an event is recorded.
func (s *Store) has(ctx context.Context, id uuid.UUID) (known bool, err error) {
	err = s.pool.QueryRow(ctx, `select exists (select from events where id = $1)`, id).Scan(&known)
	return known, postgres.Classify(err, "look for an event")
}
