package jobs

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/folded"
	"github.com/millrace-dev/millrace/projections/hidden"
)

// Order selects a part of a listing by its offset, as the cloud contract requires.
type Order struct {
	States     []job.State // any of these; empty = all
	Workflow   string      // only jobs of the editor's workflow with this id; "" = all
	Media      string      // only jobs with an output whose media type begins with it, such as "image/"; "" = all
	ByDuration bool        // order by execution time instead of age; unfinished jobs count as 0
	Ascending  bool
	Hide       *hidden.Hiding // finished jobs to leave out, or nil
	Offset     int
	Limit      int
}

// maxScanned bounds the jobs that a listing without an index reads: by execution time, by media or by workflow. Older
// jobs are not found in this way.
const maxScanned = 10_000

// ListAt returns the account's jobs that o selects and the number of all of them. Unlike List, a page may repeat or
// miss a job that was submitted meanwhile. A page of very large jobs has fewer jobs than the limit.
func (r *Reader) ListAt(ctx context.Context, account string, o Order) (found []job.Job, total int64, err error) {
	return r.listAt(ctx, account, o, nil)
}

// listAt is ListAt without the jobs that marks says to be hidden; nil = none.
func (r *Reader) listAt(ctx context.Context, account string, o Order, marks *hidden.Reader) (found []job.Job, total int64, err error) {
	places, total, err := r.placesAt(ctx, account, o, marks)
	if err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(places, o.compare)
	places = places[min(o.Offset, len(places)):min(o.Offset+o.Limit, len(places))]
	rows, _, err := r.load(ctx, account, places)
	return jobsOf(rows), total, err
}

// placesAt returns the places up to the end of the page and the number of all jobs that o selects.
func (r *Reader) placesAt(ctx context.Context, account string, o Order, marks *hidden.Reader) (places []place, total int64, err error) {
	var hiding *hidden.Query
	var all *aged
	var base counted
	if r.recent != nil && o.byAge() {
		base = r.counts.of(account)
	}
	u, err := r.view.Unfolded(ctx, r.pool, account, r.recent, func(q *pgx.Batch) {
		if marks != nil {
			hiding = marks.Queue(q, account)
		}
		if o.byAge() {
			all = o.queueAged(q, account, base, r.view)
		}
	})
	if err == nil && hiding != nil {
		o.Hide, err = hiding.Hiding(ctx)
	}
	switch {
	case err != nil:
		return nil, 0, err
	case o.byAge() && !r.completes(base, all, account): // the number of jobs is not base's and the newer ones
		r.counts.forget(account)
		return r.placesAt(ctx, account, o, marks)
	case o.byAge() && !anyRetires(u):
		r.counts.keep(account, base, all)
		places, total = all.with(u)
		return places, total, nil
	}
	return r.foldedAt(ctx, account, o, u)
}

// foldedAt is placesAt of any listing: the jobs that the view has not folded are folded.
func (r *Reader) foldedAt(ctx context.Context, account string, o Order, u folded.Unfolded) ([]place, int64, error) {
	fresh, places, total, err := r.viewAt(ctx, account, o, u)
	if err != nil {
		return nil, 0, err
	}
	candidates, err := r.visible(ctx, account, o.Hide, fresh.Rows)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range candidates {
		if o.matches(f.State) {
			places, total = append(places, placeOf(f)), total+1
		}
	}
	return places, total, nil
}

// byAge reports whether o selects all jobs of an account in the order of their submission.
func (o Order) byAge() bool {
	return len(o.States) == 0 && o.Workflow == "" && o.Media == "" && !o.ByDuration && o.Hide == nil
}

// aged is what the view has of a listing by age, for which no state of a job is read.
type aged struct {
	checkpoint, total int64 // of the same moment
	places            []place
}

// queueAged queues the statements that read the view; of all jobs those are counted that base does not have. The result is
// known when the batch is closed.
func (o Order) queueAged(q *pgx.Batch, account string, base counted, view *folded.View[job.Job]) *aged {
	a := &aged{}
	postgres.ScanInto(q.Queue(`select coalesce((select position from checkpoints where name = $2), 0),
		$4::bigint + (select count(*) from `+Name+` where account = $1 and submitted > $3)`, account, Name, base.checkpoint, base.total),
		&a.checkpoint, &a.total)
	selectionOf(account).queuePlaces(q, o.span(), view, &a.places)
	return a
}

// with returns the places with the jobs that the view does not have, and the number of all jobs. No event of u ends a retention.
func (a *aged) with(u folded.Unfolded) (places []place, total int64) {
	total = a.total
	for _, id := range u.IDs {
		if submitted, born := u.Born(id); born && submitted > a.checkpoint { // it is not among those that were counted
			total++
		}
	}
	return merge(u, a.places, 0), total
}

// anyRetires reports whether one of the events ends the retention of a job.
func anyRetires(u folded.Unfolded) bool {
	return slices.ContainsFunc(u.IDs, func(id string) bool {
		return slices.ContainsFunc(u.Events[id], func(rec eventlog.Recorded) bool { return rec.Type == job.TypeRetired })
	})
}

func (o Order) span() span { return span{ascending: o.Ascending, offset: o.Offset, limit: o.Limit} }

// viewAt reads the places up to the end of the page, because jobs that the view has not folded may belong anywhere
// before its beginning, and folds those. PostgreSQL cannot query the stored state, a json that may contain NUL characters;
// conditions on it are evaluated here.
func (r *Reader) viewAt(ctx context.Context, account string, o Order, u folded.Unfolded) (
	f folded.Fresh[job.Job], places []place, total int64, err error,
) {
	s := selectionOf(account)
	s.and(`id not in (select unnest(` + s.Bind(u.IDs) + `::text[]))`)
	if len(o.States) > 0 {
		s.and(`state = any(` + s.Bind(o.States) + `)`)
	}
	if o.Hide != nil {
		s.and(`(` + isActive + ` or ` + notHidden(o.Hide, "submitted", "id", &s.Binder) + `)`)
	}
	if o.Media != "" || o.Workflow != "" || o.ByDuration {
		if f, err = r.view.Fresh(ctx, r.pool, account, u, nil); err == nil {
			places, err = r.scan(ctx, o, s)
		}
		return f, places, int64(len(places)), err
	}
	f, err = r.view.Fresh(ctx, r.pool, account, u, func(q *pgx.Batch) {
		postgres.ScanInto(q.Queue(`select count(*) from `+Name+s.where, s.Args...), &total)
		s.queuePlaces(q, o.span(), r.view, &places)
	})
	return f, places, total, err
}

func (o Order) matches(j job.Job) bool {
	if len(o.States) > 0 && !slices.Contains(o.States, j.State) {
		return false
	}
	if o.Workflow != "" && o.Workflow != j.WorkflowID {
		return false
	}
	return o.Media == "" || slices.ContainsFunc(j.Outputs, func(n job.NodeOutput) bool {
		return slices.ContainsFunc(n.Files, func(f job.OutputFile) bool { return strings.HasPrefix(f.ContentType, o.Media) })
	})
}

func (o Order) compare(a, b place) int {
	c := cmp.Compare(a.submitted, b.submitted)
	if o.ByDuration {
		c = cmp.Or(cmp.Compare(a.took, b.took), c)
	}
	if o.Ascending {
		return c
	}
	return -c
}

func duration(j job.Job) time.Duration {
	if j.StartedAt == nil || j.EndedAt == nil {
		return 0
	}
	return j.EndedAt.Sub(*j.StartedAt)
}

// counted is the number of an account's jobs in the view at a checkpoint. The zero value counts none.
type counted struct{ checkpoint, total int64 }

const (
	maxCounts = 4096        // accounts in memory
	countFor  = time.Second // how long later lists count only the jobs that are newer
)

// counts are the numbers of jobs of accounts that were counted a moment ago: to count a job takes a microsecond.
type counts struct {
	recent *lru.Cache[string, countedAt]
	age    time.Duration // for which one is used
}

type countedAt struct {
	counted
	at time.Time
}

func newCounts() counts {
	recent, err := lru.New[string, countedAt](maxCounts)
	if err != nil {
		panic(err) // only a size below one fails
	}
	return counts{recent, countFor}
}

// of returns the number of an account's jobs that was counted a moment ago, zero if none was.
func (c counts) of(account string) counted {
	if known, ok := c.recent.Get(account); ok && time.Since(known.at) < c.age {
		return known.counted
	}
	return counted{}
}

// keep keeps a number that was counted from the beginning.
func (c counts) keep(account string, base counted, a *aged) {
	if base == (counted{}) {
		c.recent.Add(account, countedAt{counted{a.checkpoint, a.total}, time.Now()})
	}
}

func (c counts) forget(account string) { c.recent.Remove(account) }

// completes reports whether the jobs of base and those submitted after it are all that the view had at the checkpoint of a: it
// was not rebuilt, and no retention ended in between, as far as this process has the events in memory.
func (r *Reader) completes(base counted, a *aged, account string) bool {
	if base == (counted{}) || a.checkpoint == base.checkpoint {
		return true
	}
	if end, ok := r.recent.End(); !ok || end < a.checkpoint || a.checkpoint < base.checkpoint {
		return false
	}
	events, ok := r.recent.Between(base.checkpoint, a.checkpoint)
	for i := range events {
		if events[i].Type == job.TypeRetired && events[i].Account == account {
			return false
		}
	}
	return ok
}
