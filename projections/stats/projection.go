// Package stats is the view of statistics over time: jobs submitted and ended, their durations, failures by cause,
// nodes run and found in the cache, model calls and their charges, and the usage of servers, in buckets of a minute
// and of an hour. It promises that a range is read with a bounded number of rows, for any number of jobs. Buckets of
// a minute are kept for two days, those of an hour for 400 days, counted from the newest event.
package stats

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/jobindex"
)

// Name is the view and its checkpoint, with the version of its fold.
const Name = "stats_v1"

const (
	open = "stats_open_v1" // jobs that have not ended
	at   = "stats_at_v1"   // position up to which the log is counted
)

// Measures of the view. Each has keys of its own.
const (
	Submitted = "submitted" // key: ""
	Ended     = "ended"     // key: the state; total: milliseconds from the submission
	Took      = "took"      // key: a class of durations, see Duration; of jobs that succeeded
	Waited    = "waited"    // key: a class of durations, from the submission to the start
	Failure   = "failure"   // key: the cause, see jobindex.Cause
	Nodes     = "nodes"     // key: executed or cached; total: milliseconds
	Calls     = "calls"     // key: the model; total: USD millionths
	Unknown   = "unknown"   // key: the model; of calls whose outcome is unknown
	Server    = "server"    // key: the address; total: milliseconds of usage
)

// Keys of Nodes.
const (
	Executed = "executed"
	Cached   = "cached"
)

// Retention of buckets.
const (
	keepMinutes = 48 * time.Hour
	keepHours   = 400 * 24 * time.Hour
)

// Grain is the length of buckets.
type Grain int16

// The grains.
const (
	Minute Grain = 0
	Hour   Grain = 1
)

// Length returns the length of a bucket.
func (g Grain) Length() time.Duration {
	if g == Minute {
		return time.Minute
	}
	return time.Hour
}

// perOctave is the number of classes of durations between a duration and its double.
const perOctave = 4

// Class returns the class of a duration as a key. Classes are a quarter of an octave wide, so that a quantile from
// them is accurate to 9 %.
func Class(d time.Duration) string {
	ms := max(float64(d.Milliseconds()), 1)
	return fmt.Sprintf("%03d", int(math.Round(perOctave*math.Log2(ms))))
}

// Duration returns the middle of a class.
func Duration(class string) time.Duration {
	var n int
	if _, err := fmt.Sscanf(class, "%d", &n); err != nil {
		return 0
	}
	return time.Duration(math.Exp2(float64(n)/perOctave) * float64(time.Millisecond))
}

// NewProjection returns the projection, which counts events; registry knows the event types of jobs and calls. Statistics are
// read by people.
func NewProjection(registry *eventlog.Registry) projections.Projection {
	return projections.Projection{
		Name: Name, Tables: []string{Name, open, at}, Linger: time.Second, Wants: wants,
		Fold: func(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
			return fold(ctx, tx, registry, batch)
		},
	}
}

func wants(e eventlog.Recorded) bool {
	switch e.Type {
	case job.TypeSubmitted, job.TypeStarted, job.TypeNodesCached, job.TypeNodeExecuted, job.TypeSegmentEnded,
		job.TypeSucceeded, job.TypeFailed, job.TypeCanceled, job.TypeExpired,
		call.TypeSucceeded, call.TypeFailed, call.TypeCanceled, call.TypeOutcomeUnknown, call.TypeReconciled:
		return true
	}
	return false
}

func fold(ctx context.Context, tx pgx.Tx, registry *eventlog.Registry, batch []eventlog.Recorded) error {
	seen, hour, err := position(ctx, tx)
	if err != nil {
		return err
	}
	var news []eventlog.Recorded
	for _, rec := range batch {
		if rec.Position > seen {
			news, seen = append(news, rec), rec.Position
		}
	}
	if len(news) == 0 {
		return nil
	}
	c := &counter{sums: map[bucket]*sum{}, hour: hour}
	if c.submitted, err = submissions(ctx, tx, news); err != nil {
		return err
	}
	for _, rec := range news {
		data, err := registry.DecodeKnown(rec)
		if err != nil {
			return err
		}
		c.count(rec, data)
	}
	return c.store(ctx, tx, seen, hour)
}

// bucket is the key of a row, and sum the values to add to it.
type (
	bucket struct {
		account      string
		grain        Grain
		at           time.Time
		measure, key string
	}
	sum struct{ n, total int64 }
)

// counter adds up a batch.
type counter struct {
	sums      map[bucket]*sum
	order     []bucket
	submitted map[string]time.Time // jobs that have not ended
	begun     []string             // those of them that were submitted in this batch
	ended     []string
	hour      time.Time // of the newest event
}

func (c *counter) add(rec eventlog.Recorded, measure, key string, n, total int64) {
	for _, grain := range []Grain{Minute, Hour} {
		when := rec.RecordedAt.UTC().Truncate(grain.Length())
		if grain == Hour && when.After(c.hour) {
			c.hour = when
		}
		for _, account := range []string{rec.Account, ""} {
			b := bucket{account, grain, when, measure, key}
			s := c.sums[b]
			if s == nil {
				s = &sum{}
				c.sums[b] = s
				c.order = append(c.order, b)
			}
			s.n, s.total = s.n+n, s.total+total
		}
	}
}

// count adds one event.
func (c *counter) count(rec eventlog.Recorded, data any) {
	switch e := data.(type) {
	case job.SubmittedV1:
		c.add(rec, Submitted, "", 1, 0)
		c.submitted[rec.Stream] = rec.RecordedAt
		c.begun = append(c.begun, rec.Stream)
	case job.StartedV1:
		if at, ok := c.submitted[rec.Stream]; ok && e.Run == 1 {
			c.add(rec, Waited, Class(rec.RecordedAt.Sub(at)), 1, rec.RecordedAt.Sub(at).Milliseconds())
		}
	case job.NodesCachedV1:
		if len(e.Nodes) > 0 {
			c.add(rec, Nodes, Cached, int64(len(e.Nodes)), 0)
		}
	case job.NodeExecutedV1:
		key := Executed
		if e.Cached {
			key = Cached
		}
		c.add(rec, Nodes, key, 1, e.Millis)
	case job.SegmentEndedV1:
		c.add(rec, Server, e.URL, 1, e.Millis)
	case job.SucceededV1:
		c.end(rec, job.Succeeded)
	case job.FailedV1:
		c.end(rec, job.Failed)
		c.add(rec, Failure, jobindex.Cause(e.Failure), 1, 0)
	case job.CanceledV1:
		c.end(rec, job.Canceled)
	case job.ExpiredV1:
		c.end(rec, job.Expired)
	default:
		c.call(rec, data)
	}
}

// end counts the end of a job.
func (c *counter) end(rec eventlog.Recorded, state job.State) {
	var took time.Duration
	if at, ok := c.submitted[rec.Stream]; ok {
		took = rec.RecordedAt.Sub(at)
		if state == job.Succeeded {
			c.add(rec, Took, Class(took), 1, took.Milliseconds())
		}
		delete(c.submitted, rec.Stream)
		c.ended = append(c.ended, rec.Stream)
	}
	c.add(rec, Ended, string(state), 1, took.Milliseconds())
}

// call counts the end of a model call.
func (c *counter) call(rec eventlog.Recorded, data any) {
	switch e := data.(type) {
	case call.SucceededV1:
		c.add(rec, Calls, e.Model, 1, e.Charged)
	case call.FailedV1:
		c.add(rec, Calls, e.Model, 1, e.Charged)
	case call.CanceledV1:
		c.add(rec, Calls, e.Model, 1, e.Charged)
	case call.OutcomeUnknownV1:
		c.add(rec, Unknown, e.Model, 1, 0)
	case call.ReconciledV1:
		c.add(rec, Calls, e.Model, 0, e.Charged)
	}
}
