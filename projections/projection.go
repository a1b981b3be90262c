// Package projections folds the event log into the views that GETs serve. It promises that a view and its checkpoint
// move together, that one process at a time moves them, and that rebuilding a view to the same position gives the
// same rows. The packages below it define the views, one package for each.
package projections

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Projection folds events into the rows of one view.
type Projection struct {
	// Name is the view's name with its fold version, such as "jobs_v1". It is also the name of
	// the checkpoint. A change of the fold that changes rows needs a new version.
	Name string
	// Tables are the view's tables, which Fold names without a schema. They have a primary key and no default
	// values: a row depends only on events. A reader of the log that keeps no view has none, and cannot be rebuilt.
	Tables []string
	// Wants reports whether Fold uses an event; nil = every event. The view's checkpoint moves past the others at
	// least once a second.
	Wants func(eventlog.Recorded) bool
	// Linger is how long a batch collects events under load, for a view that may lag behind; 0 = the runner's.
	Linger time.Duration
	// Fold folds events that it wants, in order, into the tables. A batch is 1 to 500 events of the log. The rows must
	// not depend on how the log is divided into batches, and an event that is folded twice changes nothing. An error
	// that the event itself causes halts its stream; an error of the database (Unavailable) is retried.
	Fold func(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error
}

// Apply folds the events of a batch that the projection wants.
func (p Projection) Apply(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
	if p.Wants != nil {
		batch = slices.DeleteFunc(slices.Clone(batch), func(e eventlog.Recorded) bool { return !p.Wants(e) })
	}
	if len(batch) == 0 {
		return nil
	}
	return p.Fold(ctx, tx, batch)
}

// batchLimit bounds the events of one batch: large enough to share a commit, small enough to take tens of
// milliseconds.
const batchLimit = 500

// systemic reports whether an error has another cause than the events: it is temporary, or an operator must act, and
// the same events can be retried afterwards.
func systemic(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return !dataClass(pg.Code)
	}
	switch fault.KindOf(postgres.Classify(err, "apply")) {
	case fault.Unavailable, fault.Canceled, fault.Exhausted:
		return true
	default:
		return errors.Is(err, errCheckpointMoved) || errors.Is(err, eventlog.ErrRewound)
	}
}

// dataClass reports whether an SQLSTATE concerns the values of a statement: data exception or constraint violation.
func dataClass(code string) bool { return len(code) == 5 && (code[:2] == "22" || code[:2] == "23") }

// withoutHalted returns the events whose streams are not halted.
func withoutHalted(events []eventlog.Recorded, halted map[string]int64) []eventlog.Recorded {
	if len(halted) == 0 {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e eventlog.Recorded) bool {
		_, stopped := halted[e.Stream]
		return stopped
	})
}

// apply calls p.Apply. A panic is an error that the events caused.
func apply(ctx context.Context, tx pgx.Tx, p Projection, events []eventlog.Recorded) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("apply panicked: %v\n%s", r, debug.Stack())
		}
	}()
	return p.Apply(ctx, tx, events)
}

// applyChunks folds any number of events in batches.
func applyChunks(ctx context.Context, tx pgx.Tx, p Projection, events []eventlog.Recorded) error {
	for batch := range slices.Chunk(events, batchLimit) {
		if err := apply(ctx, tx, p, batch); err != nil {
			return err
		}
	}
	return nil
}

// stepwise folds event by event, each in a savepoint, and skips the streams whose events fail. It returns those.
func stepwise(ctx context.Context, tx pgx.Tx, p Projection, events []eventlog.Recorded) ([]Halted, error) {
	var stopped []Halted
	halted := map[string]bool{}
	for i, e := range events {
		if halted[e.Stream] {
			continue
		}
		cause := postgres.Savepoint(ctx, tx, func(savepoint pgx.Tx) error { return apply(ctx, savepoint, p, events[i:i+1]) })
		if cause == nil {
			continue
		}
		if systemic(cause) {
			return nil, cause
		}
		halted[e.Stream] = true
		stopped = append(stopped, Halted{
			Projection: p.Name, Stream: e.Stream, Position: e.Position, Error: fault.Sentence(cause), cause: cause,
		})
	}
	return stopped, nil
}
