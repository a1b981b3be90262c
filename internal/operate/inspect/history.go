// Package inspect turns recorded events into answers for an operator. For a job, call or asset it returns the events
// and their causes, the state at any version or time, the use of time, and the differences from another job, call or
// asset. For the whole log it returns a listing of events. The package does no I/O and shows no secret; callers read
// the log and Temporal.
package inspect

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Event is one recorded event of a job, call or asset, with its actor, its cause and the state after it.
type Event struct {
	Version   int64           `json:"version"`
	Position  int64           `json:"position"`
	ID        uuid.UUID       `json:"id"`
	Type      string          `json:"type"`
	At        time.Time       `json:"recorded_at"`
	State     string          `json:"state,omitempty"` // state of the job, call or asset after the event
	Actor     string          `json:"actor,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
	Cause     string          `json:"cause,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Data      json.RawMessage `json:"data"` // without secrets

	recorded eventlog.Recorded
	decoded  any // nil for a type of a newer program
}

// History holds the events of one job, from the first, without gaps.
type History struct {
	Public job.PublicID `json:"public_id,omitempty"` // where the client chose one
	StreamHistory[job.Job]
}

// jobs describes how to read the streams of jobs. The time of jobs is measured by nodes and not by phases.
var jobs = Kind[job.Job]{
	Noun:   "job",
	Fold:   job.Fold,
	Status: func(j job.Job) (string, bool) { return string(j.State), j.State.Final() },
}

// Read folds the stream of a job.
func Read(registry *eventlog.Registry, recorded []eventlog.Recorded) (History, error) {
	h, err := ReadStream(jobs, registry, recorded)
	if err != nil {
		return History{}, err
	}
	return History{h.final.Chosen, h}, nil
}

// eventOf converts a recorded event to an Event, with secrets redacted.
func eventOf(rec eventlog.Recorded, decoded any, state string) Event {
	return Event{
		Version: rec.Version, Position: rec.Position, ID: rec.ID, Type: rec.Type, At: rec.RecordedAt.UTC(),
		State: state, Actor: rec.Meta.Actor, RequestID: rec.Meta.RequestID, Cause: rec.Meta.Cause,
		Reason: rec.Meta.Reason, Data: Redact(rec.Data), recorded: rec, decoded: decoded,
	}
}

// Job returns the id of the job.
func (h History) Job() job.ID { return h.final.ID }

// Ended reports whether the job has ended.
func (h History) Ended() bool { return h.final.State.Final() }

// Document returns the document that holds the job's submission.
func (h History) Document() (job.Document, bool) {
	if len(h.Events) == 0 {
		return job.Document{}, false
	}
	submitted, ok := h.Events[0].decoded.(job.SubmittedV1)
	return submitted.Document, ok
}

// Executions returns the workflow of each run of the job, with its first execution.
func (h History) Executions() []Execution {
	var runs []Execution
	for _, f := range h.Events {
		switch e := f.decoded.(type) {
		case job.AdmittedV1:
			runs = append(runs, Execution{Run: e.Run, Workflow: h.Job().WorkflowID(e.Run)})
		case job.StartedV1:
			if n := len(runs); n > 0 && runs[n-1].Run == e.Run {
				runs[n-1].ID = e.Execution
			}
		}
	}
	return runs
}

// Execution names a run of a job or a call in Temporal.
type Execution struct {
	Run      int
	Workflow string
	ID       string // "" = its latest execution, or that no worker has started the run
}

// Point is a moment in a history: a version, or a time.
type Point struct {
	Version int64
	Time    time.Time
}

// timeLayouts are the accepted time formats. A time without a zone is in UTC.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04"}

// ParsePoint parses a version (12 or v12) or a time (RFC 3339, or 2026-01-02 15:04:05 in UTC). Other text is Invalid.
func ParsePoint(text string) (Point, error) {
	if n, err := strconv.ParseInt(strings.TrimPrefix(text, "v"), 10, 64); err == nil {
		if n < 1 {
			return Point{}, fault.New(fault.Invalid, fault.CodeInvalidRequest, "a version must be 1 or greater, not %d", n)
		}
		return Point{Version: n}, nil
	}
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return Point{Time: at}, nil
		}
	}
	return Point{}, fault.New(fault.Invalid, fault.CodeInvalidRequest,
		"%q is neither a version such as 12 nor a time such as 2026-01-02T15:04:05Z", terminal.Clean(text))
}

// At returns the history as it was at p. A version beyond the last event, or a time before the first
// event, is NotFound.
func (h History) At(p Point) (History, error) {
	past, err := h.StreamHistory.At(p)
	if err != nil {
		return History{}, err
	}
	return History{h.Public, past}, nil
}

// cut returns the number of events up to p.
func cut(events []Event, p Point) (int, error) {
	n := 0
	for n < len(events) && (p.Version > 0 && events[n].Version <= p.Version || p.Version == 0 && !events[n].At.After(p.Time)) {
		n++
	}
	if n == 0 {
		return 0, fault.New(fault.NotFound, fault.CodeVersionNotFound, "no event was recorded by then; the first was recorded at %s",
			terminal.Stamp(events[0].At))
	}
	if p.Version > events[n-1].Version {
		return 0, fault.New(fault.NotFound, fault.CodeVersionNotFound, "version %d does not exist; the last version is %d", p.Version,
			len(events))
	}
	return n, nil
}
