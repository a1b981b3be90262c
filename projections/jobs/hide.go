package jobs

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/hidden"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres"
	view "github.com/millrace-dev/millrace/projections/hidden"
)

// notHidden returns the condition that a row of the view, or its substitute, is not hidden. $1 is the account.
func notHidden(h *view.Hiding, submitted, id string, b *postgres.Binder) string {
	cond := `(` + submitted + ` > ` + b.Bind(h.Cleared) + ` or ` + id + ` = any(` + b.Bind(list(h.Kept)) + `))`
	if len(h.Hidden) > 0 {
		cond += ` and ` + id + ` not in (select unnest(` + b.Bind(h.Hidden) + `::text[]))`
	}
	if h.Table {
		cond += ` and not exists (select from ` + view.JobsTable + ` h where h.account = $1 and h.job = ` + id + `)`
	}
	return cond
}

func list(ids []string) []string { return append([]string{}, ids...) }

// Hides reports whether a finished job of the account is hidden.
func (r *Reader) Hides(ctx context.Context, account string, h *view.Hiding, id job.ID) (bool, error) {
	if h == nil {
		return false, nil
	}
	b := &postgres.Binder{Args: []any{account}}
	sql := `select not (` + notHidden(h, "position", b.Bind(string(id))+`::text`, b) + `) from events
		where account = $1 and version = 1 and stream = ` + b.Bind(id.Stream())
	hides, _, err := postgres.One(ctx, r.pool, "check whether a job is hidden", pgx.RowTo[bool], sql, b.Args...)
	return hides, err
}

// visible returns the rows without hidden finished jobs.
func (r *Reader) visible(ctx context.Context, account string, h *view.Hiding, rows []row) ([]row, error) {
	if h == nil {
		return rows, nil
	}
	var kept []row
	for _, candidate := range rows {
		gone := false
		if candidate.State.State.Final() {
			var err error
			if gone, err = r.Hides(ctx, account, h, candidate.State.ID); err != nil {
				return nil, err
			}
		}
		if !gone {
			kept = append(kept, candidate)
		}
	}
	return kept, nil
}

// Ended implements hidden.Jobs.
func (r *Reader) Ended(ctx context.Context, account string, ids []string) ([]string, error) {
	fresh, err := r.fresh(ctx, account)
	if err != nil {
		return nil, err
	}
	rows, err := r.query(ctx, `select submitted, job from `+Name+`
		where id = any($1) and account = $2 and not (`+isActive+`) and id not in (select unnest($3::text[]))`, list(ids), account, fresh.IDs)
	if err != nil {
		return nil, err
	}
	for _, f := range fresh.Rows {
		if f.State.State.Final() && slices.Contains(ids, f.ID) {
			rows = append(rows, f)
		}
	}
	return idsOf(rows), nil
}

// State implements hidden.Jobs. It reads the view's position first, so that jobs that the view folds meanwhile count
// as later ones.
func (r *Reader) State(ctx context.Context, account string) (hidden.State, error) {
	var s hidden.State
	err := r.pool.QueryRow(ctx, `select coalesce(max(position), 0) from checkpoints where name = $1`, Name).Scan(&s.Position)
	if err != nil {
		return s, postgres.Classify(err, "read the position of the view")
	}
	fresh, err := r.fresh(ctx, account)
	if err != nil {
		return s, err
	}
	rows, err := r.query(ctx, `select submitted, job from `+Name+`
		where account = $1 and (`+isActive+` or submitted > $2) and id not in (select unnest($3::text[]))`, account, s.Position, fresh.IDs)
	if err != nil {
		return s, err
	}
	for _, found := range append(rows, fresh.Rows...) {
		switch final := found.State.State.Final(); {
		case final && found.First > s.Position:
			s.Ended = append(s.Ended, found.ID)
		case !final && found.First <= s.Position:
			s.Active = append(s.Active, found.ID)
		}
	}
	return s, nil
}

func idsOf(rows []row) []string {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}

// History reads and changes the histories of accounts: the hidden jobs, and the commands that hide jobs.
type History struct {
	hidden.Service
	Marks *view.Reader
	Jobs  *Reader
}

// Hiding returns the jobs that the account has hidden, or nil.
func (p History) Hiding(ctx context.Context, account string) (*view.Hiding, error) {
	return p.Marks.Hiding(ctx, account)
}

// ListAt is Reader.ListAt without the finished jobs that the account has hidden. They are read in the same round trip.
func (p History) ListAt(ctx context.Context, account string, o Order) ([]job.Job, int64, error) {
	return p.Jobs.listAt(ctx, account, o, p.Marks)
}

// Hides reports whether a job is hidden by h.
func (p History) Hides(ctx context.Context, account string, h *view.Hiding, id job.ID) (bool, error) {
	return p.Jobs.Hides(ctx, account, h, id)
}
