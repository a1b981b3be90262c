package stats

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// Reader reads the view, which may lag behind the log.
type Reader struct{ pool *pgxpool.Pool }

// NewReader returns a reader of the view in pool's database.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// Range contains the statistics between two times.
type Range struct {
	From, To time.Time
	Grain    Grain
	cells    map[cell]sum
}

// cell is a bucket of one account, or of all accounts together.
type cell struct {
	at           int64 // seconds
	measure, key string
}

// finest is the longest range that is read in buckets of a minute.
const finest = 6 * time.Hour

// Between returns the statistics of an account, "" = all accounts, in the buckets that a range overlaps.
func (r *Reader) Between(ctx context.Context, account string, from, to time.Time) (Range, error) {
	g := Minute
	if to.Sub(from) > finest {
		g = Hour
	}
	out := Range{From: from.UTC().Truncate(g.Length()), To: to.UTC(), Grain: g, cells: map[cell]sum{}}
	err := postgres.Each(ctx, r.pool, "read statistics", func(row pgx.CollectableRow) error {
		var when time.Time
		var c cell
		var s sum
		err := row.Scan(&when, &c.measure, &c.key, &s.n, &s.total)
		c.at = when.Unix()
		out.cells[c] = s
		return err
	}, `select bucket, measure, key, n, total from `+Name+`
		where account = $1 and grain = $2 and bucket >= $3 and bucket <= $4`, account, int16(g), out.From, out.To)
	return out, err
}

// Point is one bucket of a series.
type Point struct {
	At       time.Time
	N, Total int64
}

// Series returns the buckets of a measure and a key, oldest first, including empty ones.
func (r Range) Series(measure, key string) []Point {
	var points []Point
	for at := r.From; !at.After(r.To); at = at.Add(r.Grain.Length()) {
		s := r.cells[cell{at.Unix(), measure, key}]
		points = append(points, Point{at, s.n, s.total})
	}
	return points
}

// Total is the total of a measure for one key.
type Total struct {
	Key      string
	N, Total int64
}

// Totals returns the total of a measure for each of its keys, the largest first.
func (r Range) Totals(measure string) []Total {
	sums := map[string]*Total{}
	for c, s := range r.cells {
		if c.measure != measure {
			continue
		}
		if sums[c.key] == nil {
			sums[c.key] = &Total{Key: c.key}
		}
		sums[c.key].N += s.n
		sums[c.key].Total += s.total
	}
	all := make([]Total, 0, len(sums))
	for _, t := range sums {
		all = append(all, *t)
	}
	slices.SortFunc(all, func(a, b Total) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Key, b.Key))
	})
	return all
}

// Sum returns the total of a measure for one key.
func (r Range) Sum(measure, key string) Total {
	for _, t := range r.Totals(measure) {
		if t.Key == key {
			return t
		}
	}
	return Total{Key: key}
}

// Quantile returns a quantile of a measure whose keys are classes of durations, or 0 if it has no values.
func (r Range) Quantile(measure string, q float64) time.Duration {
	return quantile(r.Totals(measure), q)
}

// Quantiles returns the quantile of each bucket, oldest first; 0 for an empty bucket.
func (r Range) Quantiles(measure string, q float64) []time.Duration {
	byBucket := map[int64][]Total{}
	for c, s := range r.cells {
		if c.measure == measure {
			byBucket[c.at] = append(byBucket[c.at], Total{Key: c.key, N: s.n})
		}
	}
	var out []time.Duration
	for at := r.From; !at.After(r.To); at = at.Add(r.Grain.Length()) {
		out = append(out, quantile(byBucket[at.Unix()], q))
	}
	return out
}

func quantile(classes []Total, q float64) time.Duration {
	slices.SortFunc(classes, func(a, b Total) int { return cmp.Compare(a.Key, b.Key) })
	var all, below int64
	for _, c := range classes {
		all += c.N
	}
	for _, c := range classes {
		if below += c.N; float64(below) >= q*float64(all) && below > 0 {
			return Duration(c.Key)
		}
	}
	return 0
}
