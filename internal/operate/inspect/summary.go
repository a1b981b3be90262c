package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// summary describes an event in one line.
func (f Event) summary() string {
	switch e := f.decoded.(type) {
	case job.SubmittedV1:
		return fmt.Sprintf("by %s, number %g, %d nodes, outputs %s", e.Surface, e.Number, e.NodesTotal, list(e.Targets))
	case job.AdmittedV1:
		return fmt.Sprintf("run %d", e.Run)
	case job.StartedV1:
		return fmt.Sprintf("run %d, %d nodes, worker %s", e.Run, e.NodesTotal, e.Worker)
	case job.NodesCachedV1:
		return list(e.Nodes)
	case job.NodeStartedV1:
		return fmt.Sprintf("%s %s%s", e.Node, e.Class, attempt(e.Attempt))
	case job.NodeExecutedV1:
		return fmt.Sprintf("%s %s, %s%s", e.Node, e.Class, Span(time.Duration(e.Millis)*time.Millisecond), files(e.Files))
	case job.NodeFailedV1:
		return failure(e.Failure)
	case job.FailedV1:
		return failure(e.Failure)
	case job.CanceledV1:
		if e.At != nil {
			return fmt.Sprintf("at %s %s", e.At.Node, e.At.Class)
		}
		return "before it ran"
	case job.RequeuedV1:
		return fmt.Sprintf("run %d", e.Run)
	case job.SegmentWaitingV1:
		return fmt.Sprintf("%s: %s", e.Node, Clean(e.Reason))
	case job.SegmentPlacedV1:
		return fmt.Sprintf("%d nodes on %s, attempt %d: %s", e.Count, Clean(e.URL), e.Attempt, Clean(e.Reason))
	case job.SegmentEndedV1:
		return strings.TrimSuffix(fmt.Sprintf("%s on %s, attempt %d, %s: %s", e.Outcome, Clean(e.URL), e.Attempt, Span(time.Duration(e.Millis)*time.Millisecond), Clean(e.Problem)), ": ")
	case nil:
		return string(f.Data)
	}
	return f.ofCall()
}

func list(ids []string) string {
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

func failure(f job.Failure) string {
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

// styleOf returns the style of a job's state, a node's outcome or the status of a check.
func styleOf(state string) Style {
	switch state {
	case "succeeded", NodeExecuted, NodeCached, "live":
		return Good
	case "failed", "expired", "unknown", "rejected":
		return Bad
	case "running", "canceling", "canceled", "dispatching", "answered", NodeInterrupted:
		return Notice
	}
	return Plain
}
