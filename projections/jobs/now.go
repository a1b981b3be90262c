package jobs

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// Now contains the numbers of waiting and running jobs.
type Now struct {
	Queued  int64
	Running int64
	Oldest  *time.Time // submission of the oldest queued job, or nil
}

// Now returns the numbers of waiting and running jobs of an account, "" = of all accounts, from the view, which may
// lag behind.
func (r *Reader) Now(ctx context.Context, account string) (Now, error) {
	var n Now
	err := r.pool.QueryRow(ctx, `select count(*) filter (where state = 'queued'), count(*) filter (where state <> 'queued'),
		min(created_at) filter (where state = 'queued') from `+Name+` where `+isActive+` and ($1 = '' or account = $1)`, account).
		Scan(&n.Queued, &n.Running, &n.Oldest)
	return n, postgres.Classify(err, "count the unfinished jobs")
}
