package operatestore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// chosenSQL reads a range of an index.
var chosenSQL = map[string]string{
	"job":   `select job_id::text from job_public_ids where public_id >= $1::uuid and public_id <= $2::uuid order by 1 limit 2`,
	"asset": `select asset_id::text from asset_public_ids where public_id >= $1::uuid and public_id <= $2::uuid order by 1 limit 2`,
}

// Chosen returns the ids of the first two jobs or assets, of any account, whose clients chose a public id between
// from and to, both inclusive.
func (s *Store) Chosen(ctx context.Context, noun, from, to string) ([]string, error) {
	sql, ok := chosenSQL[noun]
	if !ok {
		return nil, nil
	}
	return postgres.Collect(ctx, s.pool, "look for a public id", pgx.RowTo[string], sql, from, to)
}

// PublicIDs returns the public ids of the jobs whose clients chose one.
func (s *Store) PublicIDs(ctx context.Context, ids []job.ID) (map[job.ID]job.PublicID, error) {
	return postgres.Map[job.ID, job.PublicID](ctx, s.pool, "look up public ids",
		`select job_id::text, public_id::text from job_public_ids where job_id = any($1::uuid[])`, ids)
}
