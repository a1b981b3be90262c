package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Query selects jobs of an account, newest first.
type Query struct {
	States   []job.State       // any of these; empty = all
	Metadata map[string]string // all of these
	Before   int64             // Page.Next of the page before; 0 = from the newest
	Limit    int               // default 20, at most 1,000

	Positions bool // also return the queue positions of the jobs
}

const (
	defaultLimit = 20
	maxLimit     = 1000
)

// Page is a part of a listing.
type Page struct {
	Jobs []job.Job
	Next int64 // Query.Before of the next page; 0 = this is the last

	Positions map[job.ID]int64 // of the queued jobs, with Query.Positions
}

// List returns the account's jobs that q selects. Following the pages returns each job that existed at the start
// once, however many are added meanwhile. A page of very large jobs has fewer jobs than the limit.
func (r *Reader) List(ctx context.Context, account string, q Query) (Page, error) {
	limit := defaultLimit
	if q.Limit > 0 {
		limit = min(q.Limit, maxLimit)
	}
	u, err := r.unfolded(ctx, account)
	if err != nil {
		return Page{}, err
	}
	places, err := r.listed(ctx, account, q, u, limit+1)
	if err != nil {
		return Page{}, err
	}
	more := len(places) > limit
	rows, whole, err := r.load(ctx, account, places[:min(limit, len(places))])
	if err != nil {
		return Page{}, err
	}
	page := Page{Jobs: jobsOf(rows)}
	switch {
	case !whole:
		page.Next = rows[len(rows)-1].submitted
	case more:
		page.Next = places[limit-1].submitted
	}
	if waiting := queuedIn(rows); q.Positions && len(waiting) > 0 {
		page.Positions, err = r.positions(ctx, account, u, waiting)
	}
	return page, err
}

// listed returns the places of the first jobs that q selects, in order.
func (r *Reader) listed(ctx context.Context, account string, q Query, u unfolded, limit int) ([]place, error) {
	if len(q.States) == 0 && len(q.Metadata) == 0 {
		sql, args, err := q.sql(account, nil, limit)
		if err != nil {
			return nil, err
		}
		places, err := r.places(ctx, sql, args...)
		return newestFirst(u.merge(places, q.Before), limit), err
	}
	fresh, err := r.foldAll(ctx, account, u, u.ids)
	if err != nil {
		return nil, err
	}
	sql, args, err := q.sql(account, u.ids, limit)
	if err != nil {
		return nil, err
	}
	places, err := r.places(ctx, sql, args...)
	for _, f := range fresh {
		if q.matches(f) {
			places = append(places, placeOf(f))
		}
	}
	return newestFirst(places, limit), err
}

func newestFirst(places []place, limit int) []place {
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(b.submitted, a.submitted) })
	return places[:min(limit, len(places))]
}

// sql returns the query for the matching rows of the view, without those in except. It contains only the requested
// conditions, so that each form of query keeps the plan of its index.
func (q Query) sql(account string, except []string, limit int) (string, []any, error) {
	args := []any{account}
	bind := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	sql := `select submitted, id from ` + Name + ` where account = $1`
	if q.Before > 0 {
		sql += ` and submitted < ` + bind(q.Before)
	}
	switch len(q.States) {
	case 0:
	case 1:
		sql += ` and state = ` + bind(string(q.States[0]))
	default:
		sql += ` and state = any(` + bind(q.States) + `)`
	}
	if len(q.Metadata) > 0 {
		want, err := searchable(q.Metadata)
		if err != nil {
			return "", nil, err
		}
		sql += ` and metadata @> ` + bind(json.RawMessage(want)) + `::jsonb`
	}
	if len(except) > 0 {
		sql += ` and id not in (select unnest(` + bind(except) + `::text[]))`
	}
	sql += ` order by submitted desc limit ` + bind(limit)
	return sql, args, nil
}

// matches reports whether q selects a job that the view does not have yet.
func (q Query) matches(r row) bool {
	if q.Before > 0 && r.submitted >= q.Before {
		return false
	}
	if len(q.States) > 0 && !slices.Contains(q.States, r.job.State) {
		return false
	}
	for key, value := range q.Metadata {
		if has, ok := r.job.Metadata[key]; !ok || has != value {
			return false
		}
	}
	return true
}
