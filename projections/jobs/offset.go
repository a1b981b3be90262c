package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
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
	u, err := r.unfolded(ctx, account)
	if err != nil {
		return nil, 0, err
	}
	places, total, err := r.placesAt(ctx, account, o, u)
	if err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(places, o.compare)
	places = places[min(o.Offset, len(places)):min(o.Offset+o.Limit, len(places))]
	rows, _, err := r.load(ctx, account, places)
	return jobsOf(rows), total, err
}

// placesAt returns the places up to the end of the page and the number of all jobs that o selects.
func (r *Reader) placesAt(ctx context.Context, account string, o Order, u unfolded) ([]place, int64, error) {
	if o.byAge() {
		return r.agedAt(ctx, account, o, u)
	}
	fresh, err := r.foldAll(ctx, account, u, u.ids)
	if err != nil {
		return nil, 0, err
	}
	places, total, err := r.viewAt(ctx, account, o, u.ids)
	if err != nil {
		return nil, 0, err
	}
	candidates, err := r.visible(ctx, account, o.Hide, fresh)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range candidates {
		if o.matches(f.job) {
			places, total = append(places, placeOf(f)), total+1
		}
	}
	return places, total, nil
}

// byAge reports whether o selects all jobs of an account in the order of their submission.
func (o Order) byAge() bool {
	return len(o.States) == 0 && o.Workflow == "" && o.Media == "" && !o.ByDuration && o.Hide == nil
}

// agedAt is placesAt of a listing by age: no state of a job is read.
func (r *Reader) agedAt(ctx context.Context, account string, o Order, u unfolded) ([]place, int64, error) {
	var born, retired []string
	for _, id := range u.ids {
		if _, isBorn := u.born(id); u.retires(id) {
			retired = append(retired, id)
		} else if isBorn {
			born = append(born, id)
		}
	}
	var total int64
	err := r.pool.QueryRow(ctx, `select (select count(*) from `+Name+` where account = $1)
		+ cardinality($2::text[]) - (select count(*) from `+Name+` where account = $1 and id = any($2::text[] || $3::text[]))`,
		account, list(born), list(retired)).Scan(&total)
	if err != nil {
		return nil, 0, postgres.Classify(err, "count jobs")
	}
	places, err := r.places(ctx, fmt.Sprintf(`select submitted, id from `+Name+` where account = $1 order by submitted %s limit %d`, o.direction(), o.Offset+o.Limit+len(retired)), account)
	places = slices.DeleteFunc(u.merge(places, 0), func(p place) bool { return slices.Contains(retired, p.id) })
	return places, total, err
}

// retires reports whether the events of a job say that its retention has ended.
func (u unfolded) retires(id string) bool {
	return slices.ContainsFunc(u.events[id], func(rec eventlog.Recorded) bool { return rec.Type == job.TypeRetired })
}

func (o Order) direction() string {
	if o.Ascending {
		return "asc"
	}
	return "desc"
}

// viewAt reads the places up to the end of the page, because jobs that the view has not folded may belong anywhere
// before its beginning. PostgreSQL cannot query the stored state, a json that may contain NUL characters; conditions
// on it are evaluated here.
func (r *Reader) viewAt(ctx context.Context, account string, o Order, except []string) (places []place, total int64, err error) {
	b := &binder{args: []any{account}}
	where := ` where account = $1 and id not in (select unnest(` + b.bind(except) + `::text[]))`
	if len(o.States) > 0 {
		where += ` and state = any(` + b.bind(o.States) + `)`
	}
	if o.Hide != nil {
		where += ` and (` + isActive + ` or ` + notHidden(o.Hide, "submitted", "id", b) + `)`
	}
	if o.Media != "" || o.Workflow != "" || o.ByDuration {
		places, err = r.scan(ctx, o, where, b)
		return places, int64(len(places)), err
	}
	if err := r.pool.QueryRow(ctx, `select count(*) from `+Name+where, b.args...).Scan(&total); err != nil {
		return nil, 0, postgres.Classify(err, "count jobs")
	}
	places, err = r.places(ctx, fmt.Sprintf(`select submitted, id from `+Name+where+` order by submitted %s limit %d`, o.direction(), o.Offset+o.Limit), b.args...)
	return places, total, err
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
