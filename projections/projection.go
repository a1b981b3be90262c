// Package projections folds the event log into the views that GETs serve. It promises that a view and its checkpoint
// move together, that one process at a time moves them, and that rebuilding a view to the same position gives the
// same rows. The packages below it define the views, one package for each.
package projections

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Projection folds events into the rows of one view.
type Projection interface {
	// Name returns the view's name with its fold version, such as "jobs_v1". It is also the name of
	// the checkpoint. A change of the fold that changes rows needs a new version.
	Name() string
	// Tables returns the view's tables, which Apply names without a schema. They have a primary key and no default
	// values: a row depends only on events.
	Tables() []string
	// Apply folds events, in order, into the tables. A batch is 1 to 500 events of the log. The rows must not depend
	// on how the log is divided into batches, and an event that is applied twice changes nothing. An error that the
	// event itself causes halts its stream; an error of the database (Unavailable) is retried.
	Apply(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error
}

// Selective is a projection that ignores most events. Wants reports whether Apply uses an
// event; the view's checkpoint moves past the others at least once a second.
type Selective interface {
	Wants(e eventlog.Recorded) bool
}

// Patient is a projection whose view may lag behind. Linger is how long a batch collects events under load.
type Patient interface {
	Linger() time.Duration
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

// errCheckpointMoved means that another runner has moved the checkpoint.
var errCheckpointMoved = errors.New("another runner has moved the checkpoint")

// advance moves the projection's checkpoint in tx past a batch, and returns the halted streams with the position at
// which each halted. The row stays locked until tx ends, which locks out Resume and Rebuild. It fails with
// eventlog.ErrRewound if the database lacks events of the batch.
func advance(ctx context.Context, tx pgx.Tx, name string, b eventlog.Batch) (map[string]int64, error) {
	halted, err := eventstore.AdvanceCheckpoint(ctx, tx, name, b.After, b.UpTo, b.Read)
	if fault.Is(err, fault.Conflict) {
		return nil, fmt.Errorf("%s: %w: %w", name, errCheckpointMoved, err)
	}
	if err != nil || !halted {
		return nil, err
	}
	return haltedIn(ctx, tx, name)
}

// withoutHalted returns the events whose streams are not halted.
func withoutHalted(events []eventlog.Recorded, halted map[string]int64) []eventlog.Recorded {
	if len(halted) == 0 {
		return events
	}
	kept := make([]eventlog.Recorded, 0, len(events))
	for _, e := range events {
		if _, held := halted[e.Stream]; !held {
			kept = append(kept, e)
		}
	}
	return kept
}

// apply calls p.Apply. A panic of Apply is an error that the events caused.
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
	for len(events) > 0 {
		n := min(len(events), batchLimit)
		if err := apply(ctx, tx, p, events[:n]); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

// stepwise folds event by event, each in a savepoint, and skips the streams whose events fail. It returns those.
func stepwise(ctx context.Context, tx pgx.Tx, p Projection, events []eventlog.Recorded) ([]Halted, error) {
	var stopped []Halted
	halted := map[string]int64{}
	for i, e := range events {
		if _, held := halted[e.Stream]; held {
			continue
		}
		cause := pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
			return apply(ctx, savepoint, p, events[i:i+1])
		})
		if cause == nil {
			continue
		}
		if systemic(cause) {
			return nil, cause
		}
		h := Halted{Projection: p.Name(), Stream: e.Stream, Position: e.Position, Error: fault.Sentence(cause), cause: cause}
		halted[e.Stream] = e.Position
		stopped = append(stopped, h)
	}
	return stopped, nil
}
