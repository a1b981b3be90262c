package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	visibility "go.temporal.io/server/schema/postgresql/v12"
)

// keptIndexes are the indexes of the list of workflows that a small server needs: for the order of the list, and for its filters. Every
// other index belongs to a search attribute. A workflow writes twice to each of some seventy indexes, which is most of its writes.
var keptIndexes = []string{"default_idx", "by_workflow_id", "by_workflow_type", "by_status", divisionIndex}

// divisionIndex replaces by_temporal_namespace_division, which finds schedules among thousands of workflows. It has no entries for
// workflows of users.
const divisionIndex = "millrace_by_division"

// dropIndexes keeps the definitions of the indexes that it drops. The next version of the schema may drop or change one
// of them, so restoreIndexes creates them again first.
const dropIndexes = `
create table if not exists millrace_dropped_indexes (name text primary key, definition text not null);
create index if not exists ` + divisionIndex + ` on executions_visibility
	(namespace_id, temporalnamespacedivision, (coalesce(close_time, '9999-12-31 23:59:59')) desc, start_time desc, run_id)
	where temporalnamespacedivision is not null;`

// trimVisibility drops the indexes that nothing reads.
func (o options) trimVisibility(ctx context.Context) error {
	return o.inVisibility(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, dropIndexes); err != nil {
			return err
		}
		found, err := collect(ctx, tx, `select indexname, indexdef from pg_indexes i where schemaname = current_schema()
			and tablename = 'executions_visibility' and not exists (
				select from pg_constraint c join pg_class k on k.oid = c.conindid where k.relname = i.indexname)`)
		if err != nil {
			return err
		}
		for _, index := range found {
			if slices.Contains(keptIndexes, index.Name) {
				continue
			}
			_, err := tx.Exec(ctx, `insert into millrace_dropped_indexes values ($1, $2) on conflict (name) do update
				set definition = excluded.definition`,
				index.Name, index.Definition)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `drop index `+pgx.Identifier{index.Name}.Sanitize()); err != nil {
				return err
			}
		}
		return nil
	})
}

// restoreIndexes makes the dropped indexes again if this server has another version of the schema than the database.
func (o options) restoreIndexes(ctx context.Context) error {
	return o.inVisibility(ctx, func(tx pgx.Tx) error {
		var current bool
		err := tx.QueryRow(ctx, `select to_regclass('millrace_dropped_indexes') is null
			or exists (select from schema_version where curr_version = $1)`, visibility.VisibilityVersion).Scan(&current)
		if err != nil || current {
			return err
		}
		dropped, err := collect(ctx, tx, `select name, definition from millrace_dropped_indexes`)
		if err != nil {
			return err
		}
		for _, index := range dropped {
			if _, err := tx.Exec(ctx, index.Definition); err != nil {
				return fmt.Errorf("index %s: %w", index.Name, err)
			}
		}
		_, err = tx.Exec(ctx, `drop table millrace_dropped_indexes`)
		return err
	})
}

// index is a row of either list.
type index struct{ Name, Definition string }

func collect(ctx context.Context, tx pgx.Tx, query string) ([]index, error) {
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[index])
}

// inVisibility runs a transaction in the database with the list of workflows.
func (o options) inVisibility(ctx context.Context, run func(pgx.Tx) error) error {
	db, err := o.connect(ctx, o.database+"_visibility")
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, db, run)
	return errors.Join(err, db.Close(context.WithoutCancel(ctx)))
}
