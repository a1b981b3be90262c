package projections

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// shadow is a second copy of a view, in a schema of its own, folded from the start of the log over one connection.
// While it exists, no other rebuild or check of the view can run.
type shadow struct {
	conn     *pgx.Conn
	p        Projection
	live     string // schema of the live tables
	schema   string
	position int64
	halted   map[string]int64
	stopped  []Halted
	progress func(done, total int64)
}

// openShadow creates an empty shadow. It drops the shadow of an interrupted rebuild.
func openShadow(ctx context.Context, pool *pgxpool.Pool, p Projection, progress func(done, total int64)) (*shadow, error) {
	cfg := pool.Config().ConnConfig.Copy()
	cfg.RuntimeParams["application_name"] = "millrace rebuild"
	cfg.RuntimeParams["synchronous_commit"] = "off" // a crash loses the shadow anyway; the swap turns it on
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, postgres.Classify(err, "connect for a rebuild")
	}
	s := &shadow{conn: conn, p: p, schema: "shadow_" + p.Name, halted: map[string]int64{}, progress: progress}
	if s.progress == nil {
		s.progress = func(int64, int64) {}
	}
	if err := s.prepare(ctx); err != nil {
		s.close(ctx)
		return nil, err
	}
	return s, nil
}

// close drops the shadow and closes its connection, even if ctx has ended.
func (s *shadow) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	_, _ = s.conn.Exec(ctx, "drop schema if exists "+quote(s.schema)+" cascade") // if this fails, the next shadow drops it
	_ = s.conn.Close(ctx)
}

func quote(names ...string) string { return pgx.Identifier(names).Sanitize() }

func (s *shadow) prepare(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	if s.live != "public" {
		s.schema = s.live + "_" + s.schema
	}
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "drop schema if exists "+quote(s.schema)+" cascade"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "create schema "+quote(s.schema)); err != nil {
			return err
		}
		for _, table := range s.p.Tables {
			if err := s.copyShape(ctx, tx, table); err != nil {
				return fmt.Errorf("copy the shape of %s: %w", table, err)
			}
		}
		return nil
	})
}

// lock locks out other rebuilds and checks of the view while the connection is open. It waits briefly, because the
// server needs a moment to notice that an interrupted one has ended.
func (s *shadow) lock(ctx context.Context) error {
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `set local lock_timeout = '2s'`); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `select current_schema(), pg_advisory_lock(hashtextextended(current_schema() || '/rebuild/' || $1, 0))::text`,
			s.p.Name).Scan(&s.live, nil)
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == lockNotAvailable {
		return fault.Wrap(err, fault.Conflict, fault.CodeRebuildRunning, "another process rebuilds or checks %s", s.p.Name)
	}
	return err
}

const lockNotAvailable = "55P03"

// copyShape creates an empty table like the live one, with its storage parameters, and with its keys under the same
// names. Other indexes are created when the rows are complete.
func (s *shadow) copyShape(ctx context.Context, tx pgx.Tx, table string) error {
	_, err := tx.Exec(ctx, fmt.Sprintf("create table %s (like %s including all excluding indexes)", quote(s.schema, table),
		quote(s.live, table)))
	if err != nil {
		return err
	}
	shape, err := s.statements(ctx, tx, `
		select format('alter table %I.%I set (%s)', $3::text, $2::text, array_to_string(reloptions, ', '))
		from pg_class where oid = format('%I.%I', $1::text, $2::text)::regclass and reloptions is not null
		union all
		(select format('alter table %I.%I add constraint %I %s', $3::text, $2::text, conname, pg_get_constraintdef(oid))
		from pg_constraint where conrelid = format('%I.%I', $1::text, $2::text)::regclass and contype in ('p', 'u') order by conname)`, table)
	if err != nil {
		return err
	}
	return execAll(ctx, tx, shape)
}

// copyIndexes creates the live table's other indexes on the shadow.
func (s *shadow) copyIndexes(ctx context.Context, tx pgx.Tx, table string) error {
	indexes, err := s.statements(ctx, tx, `
		select replace(pg_get_indexdef(i.indexrelid), format(' ON %I.%I ', $1::text, $2::text), format(' ON %I.%I ', $3::text, $2::text))
		from pg_index i where i.indrelid = format('%I.%I', $1::text, $2::text)::regclass
		  and not exists (select from pg_constraint c where c.conindid = i.indexrelid) order by i.indexrelid`, table)
	if err != nil {
		return err
	}
	return execAll(ctx, tx, indexes)
}

// statements returns the DDL that a query generates from (live schema, table, shadow schema).
func (s *shadow) statements(ctx context.Context, tx pgx.Tx, query, table string) ([]string, error) {
	return postgres.Collect(ctx, tx, "read the shape of "+table, pgx.RowTo[string], query, s.live, table, s.schema)
}

func execAll(ctx context.Context, tx pgx.Tx, statements []string) error {
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// inTx runs f in a transaction that sees the live tables.
func (s *shadow) inTx(ctx context.Context, f func(pgx.Tx) error) error {
	return postgres.Classify(write(ctx, s.conn, pgx.TxOptions{}, f), "rebuild "+s.p.Name)
}

// setSearchPath sets the search path of tx so that unqualified names refer to the shadow's tables.
func (s *shadow) setSearchPath(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "set local search_path to "+quote(s.schema)+", "+quote(s.live))
	return err
}

// page is the number of events that one transaction of a rebuild folds.
const page = 4 * batchLimit

// foldTo folds the log into the shadow up to position upTo, a page per transaction.
func (s *shadow) foldTo(ctx context.Context, upTo int64) error {
	return s.foldPages(ctx, s.conn, upTo, func(f func(pgx.Tx) error) error { return s.inTx(ctx, f) })
}

// foldPages folds the events up to upTo, as db has them, a page per part.
func (s *shadow) foldPages(ctx context.Context, db postgres.Queryer, upTo int64, part func(func(pgx.Tx) error) error) error {
	for s.position < upTo {
		events, err := eventstore.ReadLog(ctx, db, s.position, upTo, page)
		if err != nil {
			return err
		}
		if err := s.fold(ctx, events, part); err != nil {
			return err
		}
		if s.position = upTo; len(events) == page {
			s.position = events[page-1].Position
		}
		s.progress(s.position, upTo)
	}
	return nil
}

// fold applies a page in a part of its own: a transaction, or a savepoint. If an event fails, it applies the page again event
// by event.
func (s *shadow) fold(ctx context.Context, events []eventlog.Recorded, part func(func(pgx.Tx) error) error) error {
	err := part(func(tx pgx.Tx) error {
		if err := s.setSearchPath(ctx, tx); err != nil {
			return err
		}
		return applyChunks(ctx, tx, s.p, withoutHalted(events, s.halted))
	})
	if err == nil || systemic(err) {
		return err
	}
	return part(func(tx pgx.Tx) error {
		if err := s.setSearchPath(ctx, tx); err != nil {
			return err
		}
		stopped, err := stepwise(ctx, tx, s.p, withoutHalted(events, s.halted))
		for _, h := range stopped {
			s.halted[h.Stream] = h.Position
		}
		s.stopped = append(s.stopped, stopped...)
		return err
	})
}

// foldRest folds the remaining events up to upTo inside tx, which then sees the shadow under unqualified names.
func (s *shadow) foldRest(ctx context.Context, tx pgx.Tx, upTo int64) error {
	err := s.foldPages(ctx, tx, upTo, func(f func(pgx.Tx) error) error { return postgres.Savepoint(ctx, tx, f) })
	if err != nil {
		return err
	}
	return s.setSearchPath(ctx, tx)
}
