package eventlog

import (
	"context"
	"errors"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Follower hands the events of a log to one reader, in order, beginning behind After. It is the only loop over a Tail: the
// subscribers and the waits of a process each have a Follower of their own, so that a slow reader delays no other.
type Follower struct {
	Tail  Tail
	After int64         // the position of the last event that was handed over
	Limit int           // the most events that are handed over at once; default 500
	Idle  time.Duration // the time without events after which take is called with none; 0 = never. take may change it.
}

// Run hands events to take until ctx ends, the tail is closed or take fails, and returns the error. If take fails, After stays
// before its events.
func (f *Follower) Run(ctx context.Context, take func(context.Context, []Recorded) error) error {
	for {
		events, err := f.next(ctx)
		if err != nil {
			return err
		}
		if err := take(ctx, events); err != nil {
			return err
		}
		if len(events) > 0 {
			f.After = events[len(events)-1].Position
		}
	}
}

// defaultLimit is the usual number of events that are handed over at once.
const defaultLimit = 500

func (f *Follower) next(ctx context.Context) ([]Recorded, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	if f.Idle <= 0 {
		return f.Tail.Next(ctx, f.After, limit)
	}
	waiting, cancel := context.WithTimeout(ctx, f.Idle)
	defer cancel()
	events, err := f.Tail.Next(waiting, f.After, limit)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil, nil
	}
	return events, err
}

// resumeAfter is the pause before Follow resumes after an error.
const resumeAfter = time.Second

// Follow hands the events above a position to take, in order, until ctx ends or the tail is closed, and returns the reason. While
// the log cannot be read (Unavailable), it tries again, and no event is missed.
func Follow(ctx context.Context, tail Tail, after int64, take func([]Recorded)) error {
	f := Follower{Tail: tail, After: after}
	for {
		err := f.Run(ctx, func(_ context.Context, events []Recorded) error { take(events); return nil })
		if ctx.Err() != nil || errors.Is(err, ErrTailClosed) || !fault.Is(err, fault.Unavailable) {
			return err
		}
		if err := pause.For(ctx, resumeAfter); err != nil {
			return err
		}
	}
}
