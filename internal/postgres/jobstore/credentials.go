package jobstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Sealed returns the encrypted credential of a job that has not ended, or NotFound if it has none.
func (j *Store) Sealed(ctx context.Context, id job.ID) ([]byte, error) {
	var sealed []byte
	err := j.pool.QueryRow(ctx, `select sealed from sealed_credentials where job_id = $1`, id).Scan(&sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "", "job %s has no credential", id)
	}
	return sealed, postgres.Classify(err, "read the credential of job "+string(id))
}
