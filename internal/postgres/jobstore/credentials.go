package jobstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Sealed returns the encrypted credential of a job that has not ended, or NotFound if it has none.
func (j *Store) Sealed(ctx context.Context, id job.ID) ([]byte, error) {
	sealed, ok, err := postgres.One(ctx, j.pool, "read the credential of job "+string(id), pgx.RowTo[[]byte],
		`select sealed from sealed_credentials where job_id = $1`, id)
	if err == nil && !ok {
		err = fault.New(fault.NotFound, "", "job %s has no credential", id)
	}
	return sealed, err
}
