package operatestore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// Head returns the highest position of the log, 0 for an empty one.
func (s *Store) Head(ctx context.Context) (head int64, err error) {
	err = s.pool.QueryRow(ctx, `select coalesce(max(position), 0) from events`).Scan(&head)
	return head, postgres.Classify(err, "read the head of the log")
}

// JobsBehind reports whether a view lacks events of jobs up to a position.
func (s *Store) JobsBehind(ctx context.Context, view string, head int64) (behind bool, err error) {
	err = s.pool.QueryRow(ctx, `select exists (select from events where stream like 'job-%' and position <= $2
		and position > (select coalesce(max(position), 0) from checkpoints where name = $1))`, view, head).Scan(&behind)
	return behind, postgres.Classify(err, "compare the view of jobs with the log")
}

// StreamsSQL reads a range of the primary key.
const StreamsSQL = `select id from streams where id >= $1 and id <= $2 order by id limit 2`

// Streams returns the first two streams whose ids are between from and to, both inclusive.
func (s *Store) Streams(ctx context.Context, from, to string) ([]string, error) {
	return postgres.Collect(ctx, s.pool, "look for a stream", pgx.RowTo[string],
		StreamsSQL, from, to)
}

// HasStream reports whether the log has a stream.
func (s *Store) HasStream(ctx context.Context, id string) (has bool, err error) {
	err = s.pool.QueryRow(ctx, `select exists (select from streams where id = $1)`, id).Scan(&has)
	return has, postgres.Classify(err, "look for the stream "+id)
}
