package eventstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

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

// waitForAppenders waits until every transaction that has the append lock now has ended. Each took the lock before
// its first position, so the positions seen so far are final afterwards.
func (t *Tailer) waitForAppenders(ctx context.Context, conn *pgx.Conn, after, upTo int64) error {
	holders, err := appendLockHolders(ctx, conn, nil)
	gap := Gap{After: after, UpTo: upTo, Since: time.Now()}
	reported := false
	for delays := postgres.Delays(firstGapPoll, maxGapPoll); err == nil && len(holders) > 0; {
		if err := postgres.Pause(ctx, delays.NextBackOff()); err != nil {
			return err
		}
		holders, err = appendLockHolders(ctx, conn, holders)
		if !reported && len(holders) > 0 && time.Since(gap.Since) >= t.opts.SlowGap {
			reported, gap.Holders = true, holders
			t.reportGap(gap)
		}
	}
	if reported && err == nil {
		t.opts.Log.Info("gap in the event log closed", "position", upTo, "duration", time.Since(gap.Since))
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

func (t *Tailer) reportGap(gap Gap) {
	h := gap.Holders[0]
	t.opts.Log.Warn("events wait behind a transaction that holds the append lock",
		"position", gap.After, "up_to", gap.UpTo, "holders", len(gap.Holders), "pid", h.PID,
		"application", h.Application, "state", h.State, "started", h.Started)
	if t.opts.OnSlowGap != nil {
		t.opts.OnSlowGap(gap)
	}
}
