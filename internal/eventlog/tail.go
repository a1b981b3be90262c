package eventlog

import (
	"context"

	"github.com/google/uuid"
)

// Tail is the log in its global order. After Next has passed a position, no event appears at it: Next waits for late
// commits, and a missing position belongs to an append that was rolled back.
type Tail interface {
	// Next returns 1 to limit consecutive events with positions above after, in order. It blocks until there is an
	// event, ctx ends (ctx's error), the tail is closed (ErrTailClosed) or the log cannot be read (Unavailable). The events must
	// not be changed: other readers have them too.
	Next(ctx context.Context, after int64, limit int) ([]Recorded, error)
	// Start returns the end of the log when this process opened the tail. Everything that this process can wait for is recorded
	// after it: a reader that begins there misses nothing.
	Start() int64
	// Recheck makes the tail compare the events that it has returned with the log, after a reader got ErrRewound. It
	// does not wait.
	Recheck()
}

// Mark identifies an event that was read, so that the log can check that it still has the event.
type Mark struct {
	Position int64
	ID       uuid.UUID
	Stream   string
	Version  int64
}

// MarksOf returns the marks of events.
func MarksOf(events []Recorded) []Mark {
	return appendMarks(make([]Mark, 0, len(events)), events)
}

func appendMarks(marks []Mark, events []Recorded) []Mark {
	for _, e := range events {
		marks = append(marks, Mark{e.Position, e.ID, e.Stream, e.Version})
	}
	return marks
}

// Checkpoints has the position of each named consumer group, which its consumer moves, and lets one member at a time consume.
type Checkpoints interface {
	// Lock locks the group for this caller, across all processes. It blocks until the group is free or ctx ends.
	Lock(ctx context.Context, group string) (LockedGroup, error)
}

// LockedGroup is a group that this process has locked.
type LockedGroup interface {
	// Position returns the group's position, 0 for a new group. A checkpoint beyond the end of the log is Conflict,
	// checkpoint_ahead: the log has lost the events before it.
	Position(ctx context.Context) (int64, error)
	// Lost is closed when the lock is lost.
	Lost() <-chan struct{}
	// Release unlocks the group for the next member. It may be called more than once.
	Release()
}
