package eventstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Gap is a range of positions whose transactions have not ended. Events after it cannot be delivered yet.
type Gap struct {
	After, UpTo int64 // positions above After, up to UpTo
	Since       time.Time
	Holders     []Holder
}

// Holder is a transaction that keeps a gap open.
type Holder struct {
	Transaction string // virtual transaction id
	PID         int32
	Application string
	State       string // of the session: "idle in transaction" marks the culprit
	Started     time.Time
}

const (
	firstGapPoll = 500 * time.Microsecond // about the time of a commit
	maxGapPoll   = 50 * time.Millisecond
)

// holdersOfAppendLock lists the sessions that have the append lock of this schema in this database. Object ids are
// unsigned and hashes are signed; the database is compared because other databases may use the same keys.
const holdersOfAppendLock = `
	select l.virtualtransaction, coalesce(l.pid, 0), coalesce(a.application_name, ''), coalesce(a.state, ''),
		coalesce(a.xact_start, now())
	from pg_locks l left join pg_stat_activity a on a.pid = l.pid
	where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.classid = $1::bigint::oid
	  and l.objid = (hashtext(current_schema())::bigint & 4294967295)::oid
	  and l.database = (select oid from pg_database where datname = current_database())
	  and ($2::text[] is null or l.virtualtransaction = any($2))`

// settledEnd returns the mark of the newest event of the log, zero for an empty one, after all transactions that were appending
// have ended: no event is added at or before it.
func settledEnd(ctx context.Context, pool *pgxpool.Pool, opts TailerOptions) (end eventlog.Mark, err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return end, postgres.Classify(err, "connect")
	}
	defer conn.Release()
	_, err = postgres.Find(ctx, conn, "find the end of the log", []any{&end.Position, &end.ID, &end.Stream, &end.Version},
		`select position, id, stream, version from events order by position desc limit 1`)
	if err != nil {
		return end, err
	}
	return end, opts.waitForAppenders(ctx, conn.Conn(), 0, end.Position)
}

// waitForAppenders waits until every transaction that has the append lock now has ended. Each took the lock before
// its first position, so the positions seen so far are final afterwards.
func (o TailerOptions) waitForAppenders(ctx context.Context, conn *pgx.Conn, after, upTo int64) error {
	holders, err := appendLockHolders(ctx, conn, nil)
	gap := Gap{After: after, UpTo: upTo, Since: time.Now()}
	reported := false
	for delays := pause.Delays(firstGapPoll, maxGapPoll); err == nil && len(holders) > 0; {
		if err := pause.For(ctx, delays.NextBackOff()); err != nil {
			return err
		}
		holders, err = appendLockHolders(ctx, conn, holders)
		if !reported && len(holders) > 0 && time.Since(gap.Since) >= o.SlowGap {
			reported, gap.Holders = true, holders
			o.reportGap(gap)
		}
	}
	if reported && err == nil {
		o.Log.Info("gap in the event log closed", "position", upTo, "duration", time.Since(gap.Since))
	}
	return err
}

// appendLockHolders returns all holders of the append lock or, if only is set, the holders in only that still have
// it.
func appendLockHolders(ctx context.Context, conn *pgx.Conn, only []Holder) ([]Holder, error) {
	var names []string
	for _, h := range only {
		names = append(names, h.Transaction)
	}
	return postgres.Collect(ctx, conn, "list the appending transactions", pgx.RowToStructByPos[Holder],
		holdersOfAppendLock, appendLockClass, names)
}

func (o TailerOptions) reportGap(gap Gap) {
	h := gap.Holders[0]
	o.Log.Warn("events wait behind a transaction that holds the append lock",
		"position", gap.After, "up_to", gap.UpTo, "holders", len(gap.Holders), "pid", h.PID,
		"application", h.Application, "state", h.State, "started", h.Started)
	if o.OnSlowGap != nil {
		o.OnSlowGap(gap)
	}
}
