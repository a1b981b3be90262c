package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Query selects jobs of an account, newest first.
type Query struct {
	States   []job.State       // any of these; empty = all
	Metadata map[string]string // all of these
	Deployed string            // id of a deployment: only its calls; "" = all
	Before   int64             // Page.Next of the page before; 0 = from the newest
	Limit    int               // default 20, at most 1,000
}

const (
	defaultLimit = 20
	maxLimit     = 1000
)

// newest bounds the jobs among which JustEnded looks.
const newest = 32

// JustEnded returns those of the account's newest jobs that have ended since a time, oldest first.
func (r *Reader) JustEnded(ctx context.Context, account string, since time.Time) ([]job.Job, error) {
	page, err := r.List(ctx, account, Query{
		States: job.FinalStates(), Limit: newest,
	})
	slices.Reverse(page.Jobs)
	return slices.DeleteFunc(page.Jobs, func(j job.Job) bool { return j.EndedAt == nil || j.EndedAt.Before(since) }), err
}

// Page is a part of a listing.
type Page struct {
	Jobs []job.Job
	Next int64 // Query.Before of the next page; 0 = this is the last
}

// List returns the account's jobs that q selects. Following the pages returns each job that existed at the start
// once, however many are added meanwhile. A page of very large jobs has fewer jobs than the limit.
func (r *Reader) List(ctx context.Context, account string, q Query) (Page, error) {
	limit := defaultLimit
	if q.Limit > 0 {
		limit = min(q.Limit, maxLimit)
	}
	places, err := r.listed(ctx, account, q, limit+1)
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
		page.Next = rows[len(rows)-1].First
	case more:
		page.Next = places[limit-1].submitted
	}
	return page, nil
}

// listed returns the places of the first jobs that q selects, in order.
func (r *Reader) listed(ctx context.Context, account string, q Query, limit int) (places []place, err error) {
	if len(q.States) == 0 && len(q.Metadata) == 0 && q.Deployed == "" {
		rows, err := q.rows(account, nil)
		if err != nil {
			return nil, err
		}
		u, err := r.view.Unfolded(ctx, r.pool, account, r.recent, func(b *pgx.Batch) { rows.queuePlaces(b, span{limit: limit}, r.view, &places) })
		return newestFirst(merge(u, places, q.Before), limit), err
	}
	u, err := r.unfolded(ctx, account)
	if err != nil {
		return nil, err
	}
	rows, err := q.rows(account, u.IDs)
	if err != nil {
		return nil, err
	}
	fresh, err := r.view.Fresh(ctx, r.pool, account, u, func(b *pgx.Batch) { rows.queuePlaces(b, span{limit: limit}, r.view, &places) })
	for _, f := range fresh.Rows {
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

// rows returns the matching rows of the view, without those in except. It contains only the requested conditions, so that
// each form of query keeps the plan of its index.
func (q Query) rows(account string, except []string) (*selection, error) {
	s := selectionOf(account)
	if q.Before > 0 {
		s.and(`submitted < ` + s.Bind(q.Before))
	}
	switch len(q.States) {
	case 0:
	case 1:
		s.and(`state = ` + s.Bind(string(q.States[0])))
	default:
		s.and(`state = any(` + s.Bind(q.States) + `)`)
	}
	if len(q.Metadata) > 0 {
		want, err := searchable(q.Metadata)
		if err != nil {
			return nil, err
		}
		s.and(`metadata @> ` + s.Bind(json.RawMessage(want)) + `::jsonb`)
	}
	if q.Deployed != "" {
		s.and(`deployment = ` + s.Bind(q.Deployed))
	}
	if len(except) > 0 {
		s.and(`id not in (select unnest(` + s.Bind(except) + `::text[]))`)
	}
	return s, nil
}

// matches reports whether q selects a job that the view does not have yet.
func (q Query) matches(r row) bool {
	if q.Before > 0 && r.First >= q.Before {
		return false
	}
	if len(q.States) > 0 && !slices.Contains(q.States, r.State.State) {
		return false
	}
	if q.Deployed != "" && (r.State.Deployment == nil || r.State.Deployment.ID != q.Deployed) {
		return false
	}
	for key, value := range q.Metadata {
		if has, ok := r.State.Metadata[key]; !ok || has != value {
			return false
		}
	}
	return true
}
