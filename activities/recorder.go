package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// flushAfter bounds how long events of nodes wait to be appended together. Watchers see a node at most this much
// later, and a chain of a dozen one-millisecond nodes costs one append instead of twenty-four.
const flushAfter = 50 * time.Millisecond

// recorder appends the events of the nodes of one activity in groups.
type recorder struct {
	g       *Graph
	ref     job.RunRef
	pending []eventlog.Event
	since   time.Time
	version int64 // version of the stream after the last append; 0 = no append yet
	after   int64 // version that the stream must have at the first append; 0 = any
	// lease, if not nil, appends under the lease of a segment: a driver that has lost the lease records nothing.
	lease func(ctx context.Context, a eventlog.Append) ([]eventlog.Recorded, error)
	// confirm, if not nil, returns an error if another attempt of the activity has begun: this one records nothing any more.
	confirm func(context.Context) error
}

func (g *Graph) newRecorder(ref job.RunRef) *recorder { return &recorder{g: g, ref: ref} }

func (r *recorder) add(node, eventType string, data any) { r.addNth(node, 0, eventType, data) }

// addNth adds the nth event of a type for a node, counted from 0.
func (r *recorder) addNth(node string, nth int, eventType string, data any) {
	if len(r.pending) == 0 {
		r.since = time.Now()
	}
	r.pending = append(r.pending, eventlog.Event{
		ID: job.EventID(r.ref.Job, r.ref.Run, node, nth, eventType), Type: eventType, Data: data,
	})
}

// flushIfDue appends the pending events if they have waited for flushAfter, or if soon is set because a slow step
// follows.
func (r *recorder) flushIfDue(ctx context.Context, soon bool) error {
	if !soon && time.Since(r.since) < flushAfter {
		return nil
	}
	return r.flush(ctx)
}

// flush appends the pending events and skips those that are recorded already. If another attempt of the chain
// recorded the first of them, the store returns the recorded ones. Recorded events may also follow new ones, because
// a node whose values were lost runs again in another chain.
func (r *recorder) flush(ctx context.Context) error {
	if len(r.pending) == 0 {
		return nil
	}
	if r.confirm != nil {
		if err := r.confirm(ctx); err != nil {
			return err
		}
	}
	for len(r.pending) > 0 {
		recorded, err := r.append(ctx, r.pending)
		if errors.Is(err, eventlog.ErrDuplicate) { // the first event is new, but a later one is recorded
			recorded, err = r.append(ctx, r.pending[:1])
		}
		if r.after > 0 && (errors.Is(err, eventlog.ErrVersion) || errors.Is(err, eventlog.ErrClosed)) {
			return job.ErrOvertaken
		}
		if err != nil {
			return fmt.Errorf("record nodes of job %s: %w", r.ref.Job, err)
		}
		r.after = 0
		if len(recorded) == 0 {
			return fmt.Errorf("record nodes of job %s: the log recorded none of %d events", r.ref.Job, len(r.pending))
		}
		r.removeRecorded(recorded)
	}
	return nil
}

// removeRecorded removes recorded events from the pending ones.
func (r *recorder) removeRecorded(recorded []eventlog.Recorded) {
	r.version = max(r.version, recorded[len(recorded)-1].Version)
	r.pending = slices.DeleteFunc(r.pending, func(e eventlog.Event) bool {
		return slices.ContainsFunc(recorded, func(rec eventlog.Recorded) bool { return rec.ID == e.ID })
	})
}

func (r *recorder) append(ctx context.Context, events []eventlog.Event) ([]eventlog.Recorded, error) {
	if r.lease != nil {
		return r.lease(ctx, r.appendOf(events))
	}
	return r.g.Events.Append(ctx, r.appendOf(events))
}

func (r *recorder) appendOf(events []eventlog.Event) eventlog.Append {
	expected := eventlog.AnyVersion
	if r.after > 0 {
		expected = r.after
	}
	return eventlog.Append{
		Stream: r.ref.Job.Stream(), Account: r.ref.Account, Expected: expected,
		Events: events, Meta: eventlog.Meta{Actor: r.g.Worker},
	}
}

// checkLog returns plan_changed if the stream is shorter than version seen: the log has lost events of the run, for
// example by a failover to a lagging replica. The run is then planned again, and the nodes whose events are lost run
// again. Otherwise the run would succeed without their outputs.
func (g *Graph) checkLog(ctx context.Context, ref job.RunRef, seen int64) error {
	if seen == 0 {
		return nil
	}
	events, err := g.Events.ReadStream(ctx, ref.Job.Stream(), seen-1, 1)
	if err != nil {
		return fmt.Errorf("look for the events of job %s: %w", ref.Job, err)
	}
	if len(events) == 0 {
		g.Log.Error("the log has lost events of a run; planning the run again", "job_id", ref.Job, "version", seen)
		return planChanged("the log has lost events of the run")
	}
	return nil
}
