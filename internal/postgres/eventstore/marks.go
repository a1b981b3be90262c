package eventstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// selectLost finds the first event marked by $1 to $4 that the log does not have. Events of a retired job were erased
// on purpose and do not count. The subqueries are scalar, so that each position is looked up in the primary key: a
// join would be planned while the table is small, and the plan kept while it grows.
const selectLost = `
	select r.position from unnest($1::bigint[], $2::uuid[], $3::text[], $4::bigint[]) as r (position, id, stream, version)
	where (select e.id from events e where e.position = r.position) is distinct from r.id
	  and (select true from events e where e.stream = r.stream and e.version > r.version and e.type = 'job.retired.v1' limit 1) is null
	order by r.position limit 1`

// checkMarks returns eventlog.ErrRewound if db lacks a marked event.
func checkMarks(ctx context.Context, db postgres.Queryer, marks []eventlog.Mark) error {
	if len(marks) == 0 {
		return nil
	}
	var rows postgres.Columns
	for _, m := range marks {
		rows.Add(m.Position, binary(m.ID), m.Stream, m.Version)
	}
	lost, is, err := postgres.One(ctx, db, "compare the log with what was read of it", pgx.RowTo[int64], selectLost, rows.Args()...)
	if err == nil && is {
		return fmt.Errorf("at position %d: %w", lost, eventlog.ErrRewound)
	}
	return err
}

// idsOf returns the ids of marked events, or nil if there are none.
func idsOf(marks []eventlog.Mark) uuids {
	var ids uuids
	for _, m := range marks {
		ids = append(ids, binary(m.ID))
	}
	return ids
}

// checkRange returns eventlog.ErrRewound if db lacks a marked event, or has other events between the two positions.
func checkRange(ctx context.Context, db postgres.Queryer, from, to int64, marks []eventlog.Mark) error {
	if err := checkMarks(ctx, db, marks); err != nil {
		return err
	}
	unread, _, err := postgres.One(ctx, db, "compare the log with what was read of it", pgx.RowTo[int64],
		`select count(*) from events where position > $1 and position <= $2 and id <> all($3)`, from, to, idsOf(marks))
	if err == nil && unread > 0 {
		return fmt.Errorf("%d other events up to position %d: %w", unread, to, eventlog.ErrRewound)
	}
	return err
}
