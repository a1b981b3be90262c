// Package jobs is the view of jobs: the folded state of each, which GET serves. Its Reader promises answers that are
// never older than the log: it folds the events that the view has not folded. The view does not contain submissions;
// job.Sources reads them from the log.
package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Name is the view, its only table and its checkpoint, with the version of its fold.
const Name = "jobs_v1"

// Projection folds the streams of jobs into jobs_v1.
type Projection struct{ registry *eventlog.Registry }

// NewProjection returns the projection; registry knows the event types of jobs.
func NewProjection(registry *eventlog.Registry) *Projection { return &Projection{registry: registry} }

// Name implements projections.Projection.
func (p *Projection) Name() string { return Name }

// Tables implements projections.Projection.
func (p *Projection) Tables() []string { return []string{Name} }

// row is a row of the view.
type row struct {
	job       job.Job
	submitted int64
	retired   bool // past its retention: the view has no row of the job
}

// Wants implements projections.Selective.
func (p *Projection) Wants(e eventlog.Recorded) bool {
	_, ok := job.IDOfStream(e.Stream)
	return ok
}

// Apply implements projections.Projection: it reads the rows that the batch concerns, folds, and
// writes those that changed, in two statements.
func (p *Projection) Apply(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
	var ids []string
	touched := map[string]bool{}
	for _, rec := range batch {
		if id, ok := job.IDOfStream(rec.Stream); ok && !touched[string(id)] {
			touched[string(id)] = true
			ids = append(ids, string(id))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := load(ctx, tx, ids)
	if err != nil {
		return err
	}
	changed := make(map[string]bool, len(ids))
	for _, rec := range batch {
		id, ok := job.IDOfStream(rec.Stream)
		if !ok {
			continue
		}
		next, moved, err := fold(p.registry, rows[string(id)], rec)
		if err != nil {
			return err
		}
		if moved {
			rows[string(id)], changed[string(id)] = next, true
		}
	}
	return store(ctx, tx, ids, rows, changed)
}

// fold applies one event to a row, and reports whether the row changed. An event whose predecessor the row has not
// folded is an error, because the view would miss an event.
func fold(registry *eventlog.Registry, r row, rec eventlog.Recorded) (row, bool, error) {
	if rec.Version <= r.job.Version {
		return r, false, nil
	}
	if rec.Type == job.TypeRetired { // earlier events may have been removed from the log
		r.job.Version, r.retired = rec.Version, true
		return r, true, nil
	}
	if rec.Version != r.job.Version+1 {
		return r, false, fmt.Errorf("%s: event %d follows version %d", rec.Stream, rec.Version, r.job.Version)
	}
	data, err := registry.DecodeKnown(rec)
	if err != nil {
		return r, false, err
	}
	r.job = job.Fold(r.job, rec, data)
	if rec.Version == 1 {
		r.submitted = rec.Position
	}
	return r, true, nil
}

func load(ctx context.Context, tx pgx.Tx, ids []string) (map[string]row, error) {
	found, err := tx.Query(ctx, `select id, submitted, job from `+Name+` where id = any($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("read the rows of a batch: %w", err)
	}
	rows := make(map[string]row, len(ids))
	var id string
	var submitted int64
	var state []byte
	_, err = pgx.ForEachRow(found, []any{&id, &submitted, &state}, func() error {
		r := row{submitted: submitted}
		if err := json.Unmarshal(state, &r.job); err != nil {
			return fmt.Errorf("decode the row of job %s: %w", id, err)
		}
		rows[id] = r
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the rows of a batch: %w", err)
	}
	return rows, nil
}

// upsert writes rows from one JSON array for each column; the columns besides job are for searches.
const upsert = `insert into ` + Name + ` (id, account, state, number, submitted, version, created_at, metadata, job)
	select * from unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::bigint[], $6::bigint[], $7::timestamptz[], $8::jsonb[], $9::json[])
	on conflict (id) do update set state = excluded.state, version = excluded.version, job = excluded.job`

func store(ctx context.Context, tx pgx.Tx, ids []string, rows map[string]row, changed map[string]bool) error {
	var c columns
	var retired []string
	for _, id := range ids {
		if rows[id].retired {
			retired = append(retired, id)
		}
		if !changed[id] || rows[id].retired {
			continue
		}
		if err := c.add(rows[id]); err != nil {
			return fmt.Errorf("encode job %s: %w", id, err)
		}
	}
	if len(retired) > 0 {
		if _, err := tx.Exec(ctx, `delete from `+Name+` where id = any($1)`, retired); err != nil {
			return fmt.Errorf("remove the rows of retired jobs: %w", err)
		}
	}
	if len(c.ids) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, upsert, c.ids, c.accounts, c.states, c.numbers, c.submitted, c.versions, c.created, c.metadata, c.jobs)
	if err != nil {
		return fmt.Errorf("write the rows of a batch: %w", err)
	}
	return nil
}

// searchable returns the metadata of a job in a form that jsonb accepts.
func searchable(metadata map[string]string) (string, error) {
	clean := make(map[string]string, len(metadata))
	for key, value := range metadata {
		clean[strings.ReplaceAll(key, "\x00", "")] = strings.ReplaceAll(value, "\x00", "")
	}
	raw, err := json.Marshal(clean)
	return string(raw), err
}
