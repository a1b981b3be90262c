// Package hidden records which finished jobs an account removed from the history that the cloud API shows.
// Hiding a job erases none of its events. It appends an event to the account's stream, and the set of hidden
// jobs is folded from that stream alone. The v2 API, which cannot hide jobs, shows all of them.
package hidden

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Event type names. They are stored; renaming one breaks history.
const (
	TypeJobsHidden = "history.jobs_hidden.v1"
	TypeCleared    = "history.cleared.v1"
)

// JobsHiddenV1 records that finished jobs were hidden.
type JobsHiddenV1 struct {
	Jobs []string `json:"jobs"`
}

// ClearedV1 records that the history was cleared: all jobs submitted up to a position of the log were hidden,
// except those that had not ended.
type ClearedV1 struct {
	Position int64    `json:"position"`
	Kept     []string `json:"kept,omitempty"`
}

// Register adds the event types of histories to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[JobsHiddenV1](TypeJobsHidden).Says("finished jobs were removed from the history of the cloud surface"),
		eventlog.TypeOf[ClearedV1](TypeCleared).Says("the history was cleared of finished jobs submitted up to a position"),
	)
}

const streamPrefix = "history-"

// Stream returns the name of an account's stream.
func Stream(account string) string { return streamPrefix + account }

// AccountOfStream returns the account that the stream belongs to.
func AccountOfStream(stream string) (string, bool) {
	account, ok := strings.CutPrefix(stream, streamPrefix)
	if !ok || account == "" {
		return "", false
	}
	return account, true
}

// Marks is the folded state of a stream: which jobs of an account are hidden as of Version.
type Marks struct {
	Version int64
	Cleared int64    // jobs submitted up to this position are hidden
	Kept    []string // except these
	Hidden  []string // hidden too, whenever they were submitted
}

// Fold applies one event. An event at or below the folded version changes nothing.
func (m Marks) Fold(version int64, data any) Marks {
	if version <= m.Version {
		return m
	}
	m.Version = version
	switch e := data.(type) {
	case JobsHiddenV1:
		m.Hidden = append(slices.Clip(m.Hidden), e.Jobs...)
	case ClearedV1:
		m.Cleared, m.Kept, m.Hidden = e.Position, e.Kept, nil
	}
	return m
}

// Store appends events.
type Store interface {
	// Append records the events.
	Append(ctx context.Context, a eventlog.Append) ([]eventlog.Recorded, error)
}

// State is a consistent snapshot of an account's jobs.
type State struct {
	Position int64    // of the log; every job submitted up to it is in Active or has ended
	Active   []string // jobs submitted up to Position that have not ended
	Ended    []string // jobs submitted after Position that have ended
}

// Jobs reads the jobs of accounts. jobs.Reader implements it.
type Jobs interface {
	// Ended returns the ids that name finished jobs of the account.
	Ended(ctx context.Context, account string, ids []string) ([]string, error)
	// State returns a snapshot of the account's jobs.
	State(ctx context.Context, account string) (State, error)
}

// Service hides finished jobs.
type Service struct {
	Events Store
	Jobs   Jobs
}

// chunk is the most jobs that one event hides; it keeps the event below 64 KiB.
const chunk = 1000

// Hide removes finished jobs from the account's history. Other ids are ignored, as in ComfyUI.
func (s Service) Hide(ctx context.Context, account string, ids []string, requestID string) error {
	ended, err := s.Jobs.Ended(ctx, account, ids)
	if err != nil || len(ended) == 0 {
		return err
	}
	return s.record(ctx, account, requestID, hidden(ended))
}

// Clear removes every finished job from the account's history.
func (s Service) Clear(ctx context.Context, account, requestID string) error {
	state, err := s.Jobs.State(ctx, account)
	if err != nil {
		return err
	}
	events := []eventlog.Event{{ID: uuid.New(), Type: TypeCleared, Data: ClearedV1{Position: state.Position, Kept: state.Active}}}
	return s.record(ctx, account, requestID, append(events, hidden(state.Ended)...))
}

func hidden(jobs []string) []eventlog.Event {
	var events []eventlog.Event
	for part := range slices.Chunk(jobs, chunk) {
		events = append(events, eventlog.Event{ID: uuid.New(), Type: TypeJobsHidden, Data: JobsHiddenV1{Jobs: part}})
	}
	return events
}

func (s Service) record(ctx context.Context, account, requestID string, events []eventlog.Event) error {
	_, err := s.Events.Append(ctx, eventlog.AppendTo(Stream(account), account, eventlog.Meta{Actor: account, RequestID: requestID}, events...))
	if err != nil {
		return fmt.Errorf("change the history of account %s: %w", account, err)
	}
	return nil
}
