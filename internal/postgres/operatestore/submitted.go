package operatestore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// Submitted selects jobs by their events in the log.
type Submitted struct {
	Account string    // id; "" = all
	Class   string    // of a node that ran or failed; "" = any
	From    int64     // the lowest position of a submission
	Since   time.Time // the earliest time of a submission
	Before  int64     // only submissions below this position; 0 = all
	Limit   int
}

// Submission is the stream and the position of a job's submission.
type Submission struct {
	Stream   string
	Position int64
}

// submittedSQL reads the log backwards by its primary key. It uses only columns and tables of the base schema.
const submittedSQL = `select stream, position from events s
	where version = 1 and type like 'job.submitted.%' and position >= $1 and recorded_at >= $2
		and ($3 = '' or account = $3) and ($4 = 0 or position < $4)
		and ($5 = '' or exists (select from events e where e.stream = s.stream and (e.data ->> 'class' = $5
			or e.data -> 'failure' ->> 'class' = $5)))
	order by position desc limit $6`

// Submitted returns submissions of jobs, the newest first. It reads the log alone: neither a view nor a table that a
// migration may still have to change.
func (s *Store) Submitted(ctx context.Context, q Submitted) ([]Submission, error) {
	return postgres.Collect(ctx, s.pool, "look for submissions", pgx.RowToStructByPos[Submission],
		submittedSQL, q.From, q.Since, q.Account, q.Before, q.Class, q.Limit)
}

// AccountIDs maps names of accounts to their ids, and each id to itself.
func (s *Store) AccountIDs(ctx context.Context) (map[string]string, error) {
	ids, err := postgres.Map[string, string](ctx, s.pool, "list accounts", `select name, id from accounts`)
	for _, id := range ids {
		ids[id] = id
	}
	return ids, err
}
