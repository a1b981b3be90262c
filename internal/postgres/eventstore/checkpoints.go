package eventstore

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

const (
	standbyPoll = 250 * time.Millisecond // interval at which a waiting process tries to lock a group
	lockCheck   = 4 * time.Second        // interval at which an idle session is checked
)

// Checkpoints stores the checkpoints of consumer groups in the checkpoints table. A member locks its group with a
// session advisory lock, which is released when its process or connection dies. All groups of a process share one
// connection. It implements eventlog.Checkpoints; Lock needs a running Run.
type Checkpoints struct {
	pool *pgxpool.Pool
	dsn  string
	log  *slog.Logger

	silenceTimeout time.Duration // after which an end of the session considers the other lost
	work           chan struct{} // wakes Run when a field below has changed

	mu       sync.Mutex     // guards all below
	requests []*lockRequest // in the order of the calls
	locked   map[string]*lockedGroup
	freeing  []string
}

// lockRequest is a waiting call of Lock.
type lockRequest struct {
	group string
	got   chan *lockedGroup // capacity 1
}

var _ eventlog.Checkpoints = (*Checkpoints)(nil)

// NewCheckpoints returns the checkpoints in the database of dsn, which must not lead through a transaction pooler.
// Reads and saves use pool.
func NewCheckpoints(pool *pgxpool.Pool, dsn string, log *slog.Logger) *Checkpoints {
	return &Checkpoints{
		pool: pool, dsn: dsn, log: log, silenceTimeout: postgres.Silence, work: make(chan struct{}, 1),
		locked: map[string]*lockedGroup{},
	}
}

// SetSilenceTimeout sets how long each end of the session waits for the other before it takes the session for lost,
// by default 10 s. The session sends a query every four seconds.
func (c *Checkpoints) SetSilenceTimeout(d time.Duration) { c.silenceTimeout = d }

// Run keeps the session that locks the groups, until ctx ends. If the session is lost, the locks are lost too, and
// the subscriptions lock their groups again over the next session. The server also ends the session of a disconnected
// process, so that another process can take over. Later saves of the first process are refused, because the
// checkpoint has moved.
func (c *Checkpoints) Run(ctx context.Context) error {
	retryForever(ctx, c.log, "checkpoints", c.session)
	return nil
}

func (c *Checkpoints) session(ctx context.Context) error {
	conn, err := postgres.Connect(ctx, c.dsn, "checkpoints", c.silenceTimeout,
		map[string]string{"idle_session_timeout": postgres.Millis(c.silenceTimeout)})
	if err != nil {
		return err
	}
	defer c.dropAll()
	defer closeConn(ctx, conn)
	for {
		if err := c.free(ctx, conn); err != nil {
			return err
		}
		waiting, err := c.acquire(ctx, conn)
		if err != nil {
			return err
		}
		interval := lockCheck
		if waiting {
			interval = standbyPoll
		}
		timer := time.NewTimer(interval)
		select {
		case <-c.work:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// groupLock is the lock key of a group: 64 bits, so that no two groups collide in practice.
const groupLock = `hashtextextended(current_schema() || '/group/' || $1, 0)`

// free unlocks released groups.
func (c *Checkpoints) free(ctx context.Context, conn *pgx.Conn) error {
	c.mu.Lock()
	names := c.freeing
	c.freeing = nil
	c.mu.Unlock()
	for _, name := range names {
		if _, err := conn.Exec(ctx, `select pg_advisory_unlock(`+groupLock+`)`, name); err != nil {
			return postgres.Classify(err, "release group "+name)
		}
		c.mu.Lock()
		delete(c.locked, name)
		c.mu.Unlock()
	}
	return nil
}

// acquire tries to lock the wanted groups that this process has not locked. It reports whether some remain. If there
// is no group to try, it sends a query to detect a dead session.
func (c *Checkpoints) acquire(ctx context.Context, conn *pgx.Conn) (waiting bool, err error) {
	names := c.pendingGroups()
	if len(names) == 0 {
		_, err := conn.Exec(ctx, `select 1`)
		return false, postgres.Classify(err, "check the session")
	}
	for _, name := range names {
		var locked bool
		if err := conn.QueryRow(ctx, `select pg_try_advisory_lock(`+groupLock+`)`, name).Scan(&locked); err != nil {
			return false, postgres.Classify(err, "lock group "+name)
		}
		if !locked {
			waiting = true
			continue
		}
		c.passOn(name)
	}
	return waiting, nil
}

func (c *Checkpoints) pendingGroups() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, w := range c.requests {
		if _, ours := c.locked[w.group]; !ours && !slices.Contains(names, w.group) {
			names = append(names, w.group)
		}
	}
	return names
}

// passOn passes a locked group to the first waiting call of Lock. If there is none, it unlocks the group.
func (c *Checkpoints) passOn(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &lockedGroup{checkpoints: c, group: name, lost: make(chan struct{})}
	c.locked[name] = h
	i := slices.IndexFunc(c.requests, func(w *lockRequest) bool { return w.group == name })
	if i < 0 {
		c.release(h)
		return
	}
	c.requests[i].got <- h
	c.requests = slices.Delete(c.requests, i, i+1)
}

// release releases a group. The caller must hold c.mu.
func (c *Checkpoints) release(h *lockedGroup) {
	if h.ended {
		return
	}
	h.ended = true
	close(h.lost)
	if c.locked[h.group] == h {
		c.freeing = append(c.freeing, h.group)
		signal(c.work)
	}
}

// dropAll marks all groups as lost, because their session is lost.
func (c *Checkpoints) dropAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	groups := c.locked
	c.locked, c.freeing = map[string]*lockedGroup{}, nil
	for _, h := range groups {
		c.release(h)
	}
}

// Lock implements eventlog.Checkpoints.
func (c *Checkpoints) Lock(ctx context.Context, group string) (eventlog.LockedGroup, error) {
	w := &lockRequest{group: group, got: make(chan *lockedGroup, 1)}
	c.mu.Lock()
	c.requests = append(c.requests, w)
	c.mu.Unlock()
	signal(c.work)
	select {
	case h := <-w.got:
		return h, nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = slices.DeleteFunc(c.requests, func(other *lockRequest) bool { return other == w })
	select {
	case h := <-w.got: // passed on after ctx ended
		c.release(h)
	default:
	}
	return nil, ctx.Err()
}

// lockedGroup is a group that this process has locked. It implements eventlog.LockedGroup.
type lockedGroup struct {
	checkpoints *Checkpoints
	group       string
	lost        chan struct{}
	ended       bool // guarded by checkpoints.mu
}

// Position implements eventlog.LockedGroup.
func (h *lockedGroup) Position(ctx context.Context) (int64, error) {
	var position, head int64
	err := h.checkpoints.pool.QueryRow(ctx, `select coalesce((select position from checkpoints where name = $1), 0),
		coalesce((select max(position) from events), 0)`, h.group).Scan(&position, &head)
	if err == nil && position > head {
		return 0, fault.New(fault.Conflict, fault.CodeCheckpointAhead, "the checkpoint of %s is at %d, and the log ends at %d", h.group, position,
			head)
	}
	return position, postgres.Classify(err, "read the checkpoint of "+h.group)
}

// SaveCheckpoint moves a checkpoint from one position to a later one, in db. If the checkpoint is not at from,
// another consumer has moved it: nothing changes, and the error is Conflict, checkpoint_moved. read marks the events
// that were read between the two positions: if db has other events, nothing changes, and the error is
// eventlog.ErrRewound. A reader is fed from memory, and its connection may meanwhile lead to another database.
func SaveCheckpoint(ctx context.Context, db postgres.Queryer, name string, from, to int64, read []eventlog.Mark) error {
	_, err := AdvanceCheckpoint(ctx, db, name, from, to, read)
	return err
}

// AdvanceCheckpoint is SaveCheckpoint that also reports whether the consumer may have halted streams.
func AdvanceCheckpoint(ctx context.Context, db postgres.Queryer, name string, from, to int64,
	read []eventlog.Mark,
) (halted bool, err error) {
	r, err := saveCheckpoint(ctx, db, name, from, to, idsOf(read))
	if err != nil || r.Same {
		return r.Halted, err
	}
	if err := checkRange(ctx, db, from, to, read); err != nil {
		return false, fmt.Errorf("checkpoint of %s: %w", name, err)
	}
	r, err = saveCheckpoint(ctx, db, name, from, to, nil) // the missing events were erased with their job
	return r.Halted, err
}

// saved is what became of a checkpoint: whether the log has the events that were read, whether the checkpoint was where it
// was expected, and whether the consumer has halted streams.
type saved struct{ Same, Moved, Halted bool }

// saveCheckpoint moves the checkpoint if the events between the two positions have these ids; nil skips the comparison.
// The row must be as the statement's snapshot has it: a rebuild, which may halt streams, writes the row, and a statement that
// waited for it must not rely on what it read of halted streams before.
// Plan: a range scan of the primary key.
func saveCheckpoint(ctx context.Context, db postgres.Queryer, name string, from, to int64, ids uuids) (saved, error) {
	r, _, err := postgres.One(ctx, db, "save the checkpoint of "+name, pgx.RowToStructByPos[saved], `with log as materialized (
			select $4::uuid[] is null or coalesce((select array_agg(id order by position) from events
				where position > $2 and position <= $3), '{}') = $4 as same
		), saved as (
			insert into checkpoints as c (name, position) select $1::text, $3::bigint
			where (select same from log) and ($2::bigint = 0 or exists (select from checkpoints where name = $1))
			on conflict (name) do update set position = excluded.position, updated_at = clock_timestamp()
				where c.position = $2 and c.updated_at = (select updated_at from checkpoints where name = $1)
			returning position)
		select (select same from log), exists (select from saved), exists (select from halted_streams where projection = $1)`, name, from, to,
		ids)
	if err != nil {
		return saved{}, err
	}
	if r.Same && !r.Moved {
		return r, fault.New(fault.Conflict, fault.CodeCheckpointMoved, "the checkpoint of %s is no longer at %d", name, from)
	}
	return r, nil
}

// Lost implements eventlog.LockedGroup.
func (h *lockedGroup) Lost() <-chan struct{} { return h.lost }

// Release implements eventlog.LockedGroup.
func (h *lockedGroup) Release() {
	h.checkpoints.mu.Lock()
	defer h.checkpoints.mu.Unlock()
	h.checkpoints.release(h)
}
