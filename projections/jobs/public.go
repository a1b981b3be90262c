package jobs

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// ByPublicID returns the job of the account with a public id. Its errors are those of Job and do not reveal whether
// another account has a job with that id.
func (r *Reader) ByPublicID(ctx context.Context, account string, id job.PublicID) (job.Job, error) {
	found, ok, err := r.view.ReadPublic(ctx, r.pool, account, string(id))
	if err == nil && (!ok || found.State.PublicID() != id) { // its client chose another public id
		return job.Job{}, notFound()
	}
	return found.State, err
}

// IDs returns the ids of the account's jobs with some public ids, in their order. An unknown public id is left out or
// returned unchanged.
func (r *Reader) IDs(ctx context.Context, account string, public []job.PublicID) ([]job.ID, error) {
	if len(public) == 0 {
		return nil, nil
	}
	return postgres.Collect(ctx, r.pool, "look up the ids of jobs", pgx.RowTo[job.ID], `select coalesce(m.job_id, a.id)::text
		from unnest($2::uuid[]) with ordinality a (id, n) left join job_public_ids m on m.account = $1 and m.public_id = a.id
		where m.job_id is not null or not exists (select from job_public_ids o where o.job_id = a.id)
		order by a.n`, account, public)
}

// PublicIDs returns the public ids of some jobs, in the order of ids.
func (r *Reader) PublicIDs(ctx context.Context, ids []job.ID) ([]job.PublicID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return postgres.Collect(ctx, r.pool, "look up the public ids of jobs", pgx.RowTo[job.PublicID], `select coalesce(m.public_id, a.id)::text
		from unnest($1::uuid[]) with ordinality a (id, n) left join job_public_ids m on m.job_id = a.id order by a.n`, ids)
}
