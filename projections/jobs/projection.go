// Package jobs is the view of jobs: the folded state of each, which GET serves. Its Reader promises answers that are
// never older than the log: it folds the events that the view has not folded. The view does not contain submissions;
// job.Sources reads them from the log.
package jobs

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/folded"
)

// Name is the view, its only table and its checkpoint, with the version of its fold.
const Name = "jobs_v1"

// row is a row of the view.
type row = folded.Row[job.Job]

func newView(registry *eventlog.Registry) *folded.View[job.Job] {
	return folded.New(registry, folded.Kind[job.Job]{
		Name: Name, Noun: "job", First: "submitted", Fold: job.Fold, Retires: job.TypeRetired,
		Of: func(j job.Job) (string, int64) { return string(j.ID), j.Version },
	})
}

// NewProjection returns the projection, which folds the streams of jobs into jobs_v1; registry knows the event types of jobs.
func NewProjection(registry *eventlog.Registry) projections.Projection {
	return newView(registry).Projection(func(ctx context.Context, tx pgx.Tx, b folded.Batch[job.Job]) error {
		return b.Write(ctx, tx, Name, upsert, func(r row, state string) ([]any, error) {
			j := r.State
			metadata, err := searchable(j.Metadata)
			var called *string
			if j.Deployment != nil {
				called = &j.Deployment.ID
			}
			return []any{r.ID, j.Account, string(j.State), j.Number, r.First, r.Version, j.SubmittedAt, metadata, called, state}, err
		})
	})
}

// upsert writes rows from one array for each column; the columns besides job are for searches.
const upsert = `insert into ` + Name + ` (id, account, state, number, submitted, version, created_at, metadata, deployment, job)
	select * from unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::bigint[], $6::bigint[], $7::timestamptz[],` +
	` $8::jsonb[], $9::text[], $10::json[])
	on conflict (id) do update set state = excluded.state, version = excluded.version, job = excluded.job`

// searchable returns the metadata of a job in a form that jsonb accepts.
func searchable(metadata map[string]string) (string, error) {
	clean := make(map[string]string, len(metadata))
	for key, value := range metadata {
		clean[strings.ReplaceAll(key, "\x00", "")] = strings.ReplaceAll(value, "\x00", "")
	}
	raw, err := json.Marshal(clean)
	return string(raw), err
}
