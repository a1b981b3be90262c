package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Summary describes an event in one line.
func (f Event) Summary() string {
	switch e := f.decoded.(type) {
	case job.SubmittedV1:
		return fmt.Sprintf("by %s, number %g, %d nodes, outputs %s", e.Surface, e.Number, e.NodesTotal, IDs(e.Targets))
	case job.AdmittedV1:
		return fmt.Sprintf("run %d", e.Run)
	case job.StartedV1:
		return fmt.Sprintf("run %d, %d nodes, worker %s", e.Run, e.NodesTotal, e.Worker)
	case job.NodesCachedV1:
		return IDs(e.Nodes)
	case job.NodeStartedV1:
		return fmt.Sprintf("%s %s%s", e.Node, e.Class, attempt(e.Attempt))
	case job.NodeExecutedV1:
		return fmt.Sprintf("%s %s, %s%s", e.Node, e.Class, Span(time.Duration(e.Millis)*time.Millisecond), files(e.Files))
	case job.NodeFailedV1:
		return FailureText(e.Failure)
	case job.FailedV1:
		return FailureText(e.Failure)
	case job.CanceledV1:
		if e.At != nil {
			return fmt.Sprintf("at %s %s", e.At.Node, e.At.Class)
		}
		return "before it ran"
	case job.RequeuedV1:
		return fmt.Sprintf("run %d", e.Run)
	case job.SegmentWaitingV1:
		return fmt.Sprintf("%s: %s", e.Node, terminal.Clean(e.Reason))
	case job.SegmentPlacedV1:
		return fmt.Sprintf("%d nodes on %s, attempt %d: %s", e.Count, terminal.Clean(e.URL), e.Attempt, terminal.Clean(e.Reason))
	case job.SegmentEndedV1:
		return strings.TrimSuffix(fmt.Sprintf("%s on %s, attempt %d, %s: %s", e.Outcome, terminal.Clean(e.URL), e.Attempt,
			Span(time.Duration(e.Millis)*time.Millisecond), terminal.Clean(e.Problem)), ": ")
	case nil:
		return string(f.Data)
	}
	return f.ofCall()
}

// IDs joins ids for a line of text.
func IDs(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, " ")
}

func attempt(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(", attempt %d", n)
}

func files(saved []job.OutputFile) string {
	names := make([]string, len(saved))
	for i, s := range saved {
		names[i] = s.Filename
	}
	if len(names) == 0 {
		return ""
	}
	return ", saved " + strings.Join(names, " ")
}

// FailureText describes a failure in one line.
func FailureText(f job.Failure) string {
	where := strings.TrimSpace(f.Node + " " + f.Class)
	if where != "" {
		where += ", "
	}
	return where + string(f.Code) + ": " + f.Message
}

// shortType is an event's name without its version.
func shortType(name string) string {
	if i := strings.LastIndex(name, ".v"); i > 0 {
		return name[:i]
	}
	return name
}

// Name is the event's type without its version.
func (f Event) Name() string { return shortType(f.Type) }

// Subject describes what the event is about: a node, a failure or an amount; empty for most events.
func (f Event) Subject() string { return subject(f.decoded) }

// Provenance returns the actor, request, cause and reason of an event.
func (f Event) Provenance() string {
	parts := []string{"by " + f.Actor}
	if f.Actor == "" {
		parts[0] = "by an unnamed actor"
	}
	for _, part := range [][2]string{{"request ", f.RequestID}, {"cause ", f.Cause}, {"reason: ", f.Reason}} {
		if part[1] != "" {
			parts = append(parts, part[0]+part[1])
		}
	}
	return strings.Join(parts, ", ")
}
