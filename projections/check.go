package projections

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// maxDifferences bounds the differing rows of a table that a check reports.
const maxDifferences = 20

// Report is the outcome of a check.
type Report struct {
	Position    int64 // at which the two were compared
	Rows        int64 // of the live view
	Differences []Difference
}

// Same reports whether the live view equals its rebuild.
func (r Report) Same() bool { return len(r.Differences) == 0 }

// Difference is a row in which the live view and its rebuild differ.
type Difference struct {
	Table string `json:"table"`
	Key   string `json:"key"`  // the primary key, as a row literal
	Kind  string `json:"kind"` // "changed", "missing" from the live view, or "extra" in it
}

// Check folds the view again from the start of the log into a shadow, compares every row with the live one at the
// same position, byte for byte, and drops the shadow. It does not change the live view.
func Check(ctx context.Context, pool *pgxpool.Pool, p Projection, opts RebuildOptions) (Report, error) {
	s, err := openShadow(ctx, pool, p, opts.Progress)
	if err != nil {
		return Report{}, err
	}
	defer s.close(ctx)
	live, err := s.livePosition(ctx, s.conn)
	if err != nil {
		return Report{}, err
	}
	if err := s.foldTo(ctx, live); err != nil {
		return Report{}, err
	}
	var report Report
	err = write(ctx, s.conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		report = Report{}
		if report.Position, err = s.livePosition(ctx, tx); err != nil { // fixes the snapshot of the live rows
			return err
		}
		if err := s.foldRest(ctx, tx, report.Position); err != nil {
			return err
		}
		for _, table := range p.Tables {
			if err := s.compare(ctx, tx, table, &report); err != nil {
				return fmt.Errorf("compare %s: %w", table, err)
			}
		}
		return nil
	})
	return report, err
}

// compare adds the differences of one table to the report. Rows are compared as text, which
// PostgreSQL renders from every byte of every column.
func (s *shadow) compare(ctx context.Context, tx pgx.Tx, table string, report *Report) error {
	key, err := s.primaryKey(ctx, tx, table)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `set local enable_seqscan = on`); err != nil { // every row is read
		return err
	}
	live, rebuilt := quote(s.live, table), quote(s.schema, table)
	var rows int64
	if err := tx.QueryRow(ctx, "select count(*) from "+live).Scan(&rows); err != nil {
		return err
	}
	report.Rows += rows
	differences, err := postgres.Collect(ctx, tx, "compare rows", func(row pgx.CollectableRow) (Difference, error) {
		d := Difference{Table: table}
		err := row.Scan(&d.Key, &d.Kind)
		return d, err
	}, fmt.Sprintf(`
		select row(%[1]s)::text, case when l is null then 'missing' when r is null then 'extra' else 'changed' end
		from (select %[1]s, t::text as l from %[2]s t) live full join (select %[1]s, t::text as r from %[3]s t) rebuilt using (%[1]s)
		where l is distinct from r order by %[1]s limit $1`, key, live, rebuilt), maxDifferences)
	report.Differences = append(report.Differences, differences...)
	return err
}

// primaryKey returns the key columns of a table, quoted and joined by commas.
func (s *shadow) primaryKey(ctx context.Context, tx pgx.Tx, table string) (string, error) {
	columns, err := postgres.Collect(ctx, tx, "find the primary key of "+table, pgx.RowTo[string], `
		select quote_ident(a.attname) from pg_index i
		cross join unnest(i.indkey) with ordinality as k (attnum, n)
		join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
		where i.indisprimary and i.indrelid = format('%I.%I', $1::text, $2::text)::regclass order by k.n`, s.live, table)
	if err == nil && len(columns) == 0 {
		err = fmt.Errorf("table %s has no primary key", table)
	}
	return strings.Join(columns, ", "), err
}
