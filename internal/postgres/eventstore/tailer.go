package eventstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Default intervals of reads without a wake-up.
const (
	pollWithoutWake = time.Second      // where there are no wake-ups
	safetyPoll      = 15 * time.Second // a wake-up is lost with the process that would have sent it
)

// readLimit bounds the events of one read: the largest batch of a projection.
const readLimit = 500

// TailerOptions tune a Tailer. The zero value works.
type TailerOptions struct {
	RingEvents int           // events in the ring, beyond which a lagging reader reads from the database; default 8,192
	RingBytes  int           // bytes of event data in the ring, default 32 MiB
	Poll       time.Duration // default 15 s, without wake-ups 1 s: the longest an event waits when its wake-up is lost
	SlowGap    time.Duration // age from which a gap is reported, default 5 s
	Silence    time.Duration // time without an answer after which the server counts as lost, default 10 s
	OnSlowGap  func(Gap)     // called once for each slow gap; may be nil
	Log        *slog.Logger  // default: discard
}

func (o TailerOptions) withDefaults() TailerOptions {
	if o.RingEvents <= 0 {
		o.RingEvents = 8192
	}
	if o.RingBytes <= 0 {
		o.RingBytes = 32 << 20
	}
	if o.SlowGap <= 0 {
		o.SlowGap = 5 * time.Second
	}
	if o.Silence <= 0 {
		o.Silence = postgres.Silence
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Tailer is the only ordered reader of the log in a process. It implements eventlog.Tail: its ring feeds all local
// subscribers, each at its own pace. A subscriber that lags behind the ring reads from the database and does not
// delay others.
//
// An identity column commits out of order, so a plain "position > last" misses events. The tailer delivers the events
// up to a gap, and waits at the gap until every transaction that had the append lock when the gap was seen has ended.
// A position that is then still missing was rolled back.
type Tailer struct {
	pool *pgxpool.Pool
	dsn  string
	wake *Wake
	opts TailerOptions

	safe int64         // positions up to this one are final, even if gaps remain; used by Run only
	last eventlog.Mark // the newest event that was read; used by Run only
	read time.Time     // when the log was last read; used by Run only

	recheck chan struct{} // makes Run open a new connection

	start   int64
	mu      sync.Mutex // guards all below
	ring    ring
	ready   bool          // Run has reached the end of the log once
	stopped bool          // Run has returned
	changed chan struct{} // closed and replaced when any of these change
}

var _ eventlog.Tail = (*Tailer)(nil)

// OpenTailer returns a tailer of the log in the database of dsn, which Run reads from its present end on; lagging readers, and
// OpenTailer itself, use pool. If wake is nil, the tailer only polls. A process opens its tailer before it accepts anything: then
// its readers, which begin at Start, miss no event that concerns it, however late Run gets a connection.
func OpenTailer(ctx context.Context, pool *pgxpool.Pool, dsn string, wake *Wake, opts TailerOptions) (*Tailer, error) {
	opts = opts.withDefaults()
	switch {
	case opts.Poll > 0:
	case wake == nil:
		opts.Poll = pollWithoutWake
	default:
		opts.Poll = safetyPoll
	}
	t := &Tailer{pool: pool, dsn: dsn, wake: wake, opts: opts, changed: make(chan struct{}), recheck: make(chan struct{}, 1)}
	end, err := settledEnd(ctx, pool, opts)
	if err != nil {
		return nil, err
	}
	t.start, t.safe, t.last = end.Position, end.Position, end
	t.ring = ring{maxEvents: opts.RingEvents, maxBytes: opts.RingBytes, floor: end.Position}
	if wake != nil {
		wake.committed.want()
	}
	return t, nil
}

// Run reads the log until ctx ends, over a connection of its own, which it opens again when it breaks. It may be
// called once. It fails if the log, read over a new connection, lacks events that were read before. The database was
// then restored, or is a replica that lagged: readers of this process have seen events that no longer exist, and
// would skip the events that take their positions.
func (t *Tailer) Run(ctx context.Context) error {
	defer t.change(func() { t.stopped = true })
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	retryForever(ctx, t.opts.Log, "tail", func(ctx context.Context) error {
		err := t.follow(ctx)
		if errors.Is(err, eventlog.ErrRewound) {
			end(errRewound(err))
		}
		return err
	})
	if cause := context.Cause(ctx); errors.Is(cause, eventlog.ErrRewound) {
		return cause
	}
	return nil
}

// errRewound is the error of a process that has read events which the log no longer has.
func errRewound(err error) error {
	return fmt.Errorf("%w; see \"Restore\" in docs/runbook.md, and start this process again", err)
}

// recognize returns eventlog.ErrRewound if the log lacks a delivered event: one in the ring, or the last one that was
// read. It runs on every new connection, which may lead to another server.
func (t *Tailer) recognize(ctx context.Context, conn *pgx.Conn) error {
	marks := eventlog.MarksOf(t.ring.events)
	if len(marks) == 0 && t.last.Position > 0 {
		marks = []eventlog.Mark{t.last}
	}
	return checkMarks(ctx, conn, marks)
}

// Recheck implements eventlog.Tail: it reopens the connection, which compares the log with the delivered events.
func (t *Tailer) Recheck() { signal(t.recheck) }

// change applies f under the lock and wakes waiting readers.
func (t *Tailer) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// follow reads over one connection until it breaks.
func (t *Tailer) follow(ctx context.Context) error {
	conn, err := postgres.Connect(ctx, t.dsn, "tail", t.opts.Silence, nil)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	if err := t.recognize(ctx, conn); err != nil {
		return err
	}
	t.read = time.Time{}
	for {
		before := t.ring.pushed
		whole, err := t.takeCommitted()
		if err != nil {
			return err
		}
		for more := !whole || time.Since(t.read) >= min(readEvery, t.opts.Poll); more; {
			if more, err = t.advance(ctx, conn); err != nil {
				return err
			}
		}
		if !t.ready { // only this goroutine sets it
			t.change(func() { t.ready = true })
		}
		if err := pause.For(ctx, gather(t.ring.pushed-before)); err != nil {
			return err
		}
		if err := t.sleep(ctx); err != nil {
			return err
		}
	}
}

// gather returns the pause after a read of n events: very short after a single event, and under load long enough that
// reads and the batches of subscribers are few and large.
func gather(n int64) time.Duration {
	return min(time.Duration(n)*gatherPerEvent, maxGather)
}

const (
	gatherPerEvent = 150 * time.Microsecond
	maxGather      = 6 * time.Millisecond
)

// advance reads once and delivers the settled events. It reports whether to read again at once.
func (t *Tailer) advance(ctx context.Context, conn *pgx.Conn) (more bool, err error) {
	last := t.ring.end() // only this goroutine changes the ring
	t.read = time.Now()
	events, err := ReadLog(ctx, conn, last, maxPosition, readLimit)
	if err != nil || len(events) == 0 {
		return false, err
	}
	settled := contiguousRun(events, last, t.safe)
	t.deliver(events[:settled])
	if settled == len(events) {
		return settled == readLimit, nil
	}
	upTo := events[len(events)-1].Position
	if err := t.opts.waitForAppenders(ctx, conn, t.ring.end(), upTo); err != nil {
		return false, err
	}
	t.safe = upTo
	return true, nil
}

// contiguousRun counts the leading events that follow last without a gap, or are not above safe.
func contiguousRun(events []eventlog.Recorded, last, safe int64) int {
	for i, e := range events {
		if e.Position > safe && e.Position != last+1 {
			return i
		}
		last = e.Position
	}
	return len(events)
}

// sleep waits for a notification or the poll interval.
func (t *Tailer) sleep(ctx context.Context) error {
	var news <-chan struct{}
	if t.wake != nil {
		news = t.wake.wakeTailer
	}
	timer := time.NewTimer(t.opts.Poll)
	defer timer.Stop()
	select {
	case <-news:
		return nil
	case <-timer.C:
		return nil
	case <-t.recheck:
		return errRecheck
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errRecheck ends a connection so that the next one compares the log with the delivered events.
var errRecheck = errors.New("a reader found events missing from the log")

// Start implements eventlog.Tail.
func (t *Tailer) Start() int64 { return t.start }

// Next implements eventlog.Tail. The events are shared with other readers.
func (t *Tailer) Next(ctx context.Context, after int64, limit int) ([]eventlog.Recorded, error) {
	for {
		t.mu.Lock()
		stopped, changed, floor := t.stopped, t.changed, t.ring.floor
		events := t.ring.after(after, limit)
		t.mu.Unlock()
		switch {
		case stopped:
			return nil, eventlog.ErrTailClosed
		case after < floor:
			older, err := t.older(ctx, after, floor, limit)
			if err != nil || len(older) > 0 {
				return older, err
			}
			after = floor // the positions between were rolled back
			continue
		case len(events) > 0:
			return events, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// End returns the position up to which the ring has the log. ok is false until Run has reached the end of the log, and after Run.
func (t *Tailer) End() (position int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ring.end(), t.ready && !t.stopped
}

// Between returns the events of the ring above after, up to upTo. ok is false if the ring does not reach back to after. The
// events are shared with other readers.
func (t *Tailer) Between(after, upTo int64) (events []eventlog.Recorded, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if after < t.ring.floor {
		return nil, false
	}
	events = t.ring.after(after, len(t.ring.events))
	for len(events) > 0 && events[len(events)-1].Position > upTo {
		events = events[:len(events)-1]
	}
	return events, true
}

// older reads events that are no longer in the ring. The pool may lead to another server than the tail's connection,
// which has not noticed yet: a log without the events of the ring has another history, and its events are not
// delivered.
func (t *Tailer) older(ctx context.Context, after, floor int64, limit int) ([]eventlog.Recorded, error) {
	t.mu.Lock()
	newest := t.ring.after(t.ring.end()-1, 1)
	t.mu.Unlock()
	if len(newest) == 0 {
		return ReadLog(ctx, t.pool, after, floor, limit)
	}
	older, err := postgres.Collect(ctx, t.pool, "read the log", ScanRecorded, SelectEvents+` where position > $1 and position <= $2
		and (select e.id from events e where e.position = $4) = $5 order by position limit $3`, after, floor, limit, newest[0].Position,
		newest[0].ID)
	if err != nil || len(older) > 0 {
		return older, err
	}
	if err := checkMarks(ctx, t.pool, eventlog.MarksOf(newest)); err != nil {
		if errors.Is(err, eventlog.ErrRewound) {
			t.Recheck()
		}
		return nil, err
	}
	return ReadLog(ctx, t.pool, after, floor, limit) // the log is empty, or its newest event was erased on purpose
}

const maxPosition = 1<<63 - 1

// ReadLog reads events between two positions, after exclusive and upTo inclusive, in order. The result is only
// complete up to a position that a Tail or a checkpoint has passed, because late commits fill gaps. Plan: a range
// scan of the primary key.
func ReadLog(ctx context.Context, db postgres.Queryer, after, upTo int64, limit int) ([]eventlog.Recorded, error) {
	return postgres.Collect(ctx, db, "read the log", ScanRecorded,
		SelectEvents+` where position > $1 and position <= $2 order by position limit $3`, after, upTo, limit)
}
