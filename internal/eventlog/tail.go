package eventlog

import (
	"context"

	"github.com/google/uuid"
)

// Tail is the log in its global order. A position that Next has passed never gets an event
// later: late commits are waited for, and a missing position is an append that was rolled back.
type Tail interface {
	// Next returns 1 to limit consecutive events with positions above after, in order. It blocks
	// until there is one, ctx ends (ctx's error) or the tail is closed (Unavailable).
	Next(ctx context.Context, after int64, limit int) ([]Recorded, error)
	// Settled returns the position up to which the log is final: following "from now" starts there.
	Settled(ctx context.Context) (int64, error)
	// Recheck makes the tail compare what it has handed out with the log, after a reader was refused with
	// ErrRewound. It does not wait.
	Recheck()
}

// Mark names an event that was read, so that the log can be asked whether it has that event.
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

// Checkpoints keeps the position of each named consumer group, and lets one member at a time consume.
type Checkpoints interface {
	// Lock locks the group for this caller, across all processes. It blocks until then, or until ctx ends.
	Lock(ctx context.Context, group string) (LockedGroup, error)
}

// LockedGroup is a group that this process has locked.
type LockedGroup interface {
	// Position returns the group's position, 0 for a new group. A checkpoint behind the end of the log is
	// Conflict, checkpoint_ahead: it was written of events that the log does not have.
	Position(ctx context.Context) (int64, error)
	// Save moves the group from one position to a later one; read marks every event that was read between
	// them. Conflict means that another member moved it meanwhile: the group is lost. ErrRewound
	// means that the log lacks one of the marked events: nothing is saved.
	Save(ctx context.Context, from, to int64, read []Mark) error
	// Lost is closed when the lock is lost.
	Lost() <-chan struct{}
	// Release unlocks the group for the next member. It may be called twice.
	Release()
}
