package job

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Bounds of a rendered log.
const (
	maxLog      = 256 << 10 // bytes; the beginning of a longer log is dropped
	maxLogLine  = 1 << 10   // bytes of one line
	maxLogged   = 64        // lines that one node logs
	logTime     = "2006-01-02T15:04:05.000Z"
	logOverlong = "…"
)

// Log is the text log of a job.
type Log struct {
	Text      string
	Truncated bool      // the beginning was dropped
	At        time.Time // of the last line
}

// Logs renders the events of jobs as text for their owners. Events contain no secrets, so logs contain none.
type Logs struct {
	Events   eventlog.Store
	Registry *eventlog.Registry
}

// Log returns the log of a job of the account. An unknown job and a job of another account are NotFound. The log is
// empty until the job is admitted.
func (l Logs) Log(ctx context.Context, account string, id ID) (Log, error) {
	var w logWriter
	var calls *Calls
	owned := false
	for rec, err := range eventlog.Read(ctx, l.Events, id.Stream(), 0) {
		if err != nil {
			return Log{}, fmt.Errorf("read the log of job %s: %w", id, err)
		}
		if owned = rec.Account == account; !owned {
			break
		}
		data, err := l.Registry.DecodeKnown(rec)
		if err != nil {
			return Log{}, fmt.Errorf("read the log of job %s: %w", id, err)
		}
		if e, ok := data.(SubmittedV1); ok {
			calls = e.Calls
		}
		if e, ok := data.(NodesCachedV1); ok {
			e.Nodes = calls.Shown(e.Nodes)
			data = e
		}
		w.event(rec.RecordedAt, calls.Place(data))
	}
	if !owned {
		return Log{}, fault.New(fault.NotFound, fault.CodeJobNotFound, "no such job")
	}
	return w.log(), nil
}

// logWriter collects lines and drops the oldest ones when they exceed maxLog.
type logWriter struct {
	text      strings.Builder
	truncated bool
	at        time.Time
}

func (w *logWriter) log() Log { return Log{w.tail(), w.truncated, w.at} }

// tail returns the last lines that fit.
func (w *logWriter) tail() string {
	text := w.text.String()
	if len(text) <= maxLog {
		return text
	}
	w.truncated = true
	text = text[len(text)-maxLog:]
	_, text, _ = strings.Cut(text, "\n")
	return text
}

func (w *logWriter) line(at time.Time, level, format string, args ...any) {
	text := strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD")
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if len(line) > maxLogLine {
			line = cutText(line, maxLogLine) + logOverlong
		}
		fmt.Fprintf(&w.text, "%s %-5s %s\n", at.UTC().Format(logTime), level, line)
	}
	if w.at = at; w.text.Len() > 2*maxLog {
		kept := w.tail()
		w.text.Reset()
		w.text.WriteString(kept)
	}
}

// cutText returns the beginning of a text, at most most bytes.
func cutText(text string, most int) string {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// event writes the line of one event, if the event concerns the run.
func (w *logWriter) event(at time.Time, data any) {
	switch e := data.(type) {
	case AdmittedV1:
		w.line(at, "INFO", "run %d: admitted", e.Run)
	case StartedV1:
		w.line(at, "INFO", "run %d: started, %d nodes", e.Run, e.NodesTotal)
	case NodesCachedV1:
		if len(e.Nodes) > 0 {
			w.line(at, "INFO", "%d nodes are cached: %s", len(e.Nodes), strings.Join(e.Nodes, ", "))
		}
	case CancelRequestedV1:
		w.line(at, "INFO", "cancellation was requested")
	case SucceededV1:
		w.line(at, "INFO", "run %d: succeeded", e.Run)
	case FailedV1:
		w.line(at, "ERROR", "run %d: failed: %s", e.Run, e.Failure.Message)
	case CanceledV1:
		w.canceled(at, e)
	case ExpiredV1:
		w.line(at, "ERROR", "expired before it ended")
	default:
		w.node(at, data)
	}
}

func (w *logWriter) canceled(at time.Time, e CanceledV1) {
	if e.At == nil {
		w.line(at, "INFO", "cancelled")
		return
	}
	w.line(at, "INFO", "cancelled at node %s (%s)", e.At.Node, e.At.Class)
}

// node writes the lines of an event about a node.
func (w *logWriter) node(at time.Time, data any) {
	switch e := data.(type) {
	case NodeStartedV1:
		e.Node, e.Class = e.Within.Shown(e.Node, e.Class)
		again := ""
		if e.Attempt > 1 {
			again = fmt.Sprintf(", attempt %d", e.Attempt)
		}
		w.line(at, "INFO", "node %s (%s): started%s", e.Node, e.Class, again)
	case NodeExecutedV1:
		w.executed(at, e)
	case SegmentWaitingV1:
		w.line(at, "INFO", "node %s: waits for a %s: %s", e.Node, map[bool]string{false: "server", true: "slot"}[e.Slot], e.Reason)
	case SlotReleasedV1:
		w.line(at, "INFO", "the slot of the job was given back while it waits for a server")
	case SlotTakenV1:
		w.line(at, "INFO", "the job has a slot again")
	case SegmentPlacedV1:
		w.line(at, "INFO", "%d nodes run on server %s, attempt %d: %s", e.Count, e.URL, e.Attempt, e.Reason)
	case SegmentEndedV1:
		w.segmentEnded(at, e)
	case NodeFailedV1:
		f := e.Failure
		kind := f.ExceptionType
		if f.RuntimeType != "" {
			kind += " (" + f.RuntimeType + ")"
		}
		w.line(at, "ERROR", "node %s (%s): failed: %s: %s", f.Node, f.Class, kind, f.Message)
		for _, entry := range f.Traceback {
			w.line(at, "ERROR", "%s", entry)
		}
	}
}

func (w *logWriter) segmentEnded(at time.Time, e SegmentEndedV1) {
	level, problem := "INFO", ""
	if e.Problem != "" {
		level, problem = "WARN", ": "+e.Problem
	}
	w.line(at, level, "server %s, attempt %d: %s after %d ms%s", e.URL, e.Attempt, e.Outcome, e.Millis, problem)
}

func (w *logWriter) executed(at time.Time, e NodeExecutedV1) {
	e.Node, e.Class = e.Within.Shown(e.Node, e.Class)
	if e.Blocked != "" {
		w.line(at, "WARN", "node %s (%s): did not run: %s", e.Node, e.Class, e.Blocked)
	}
	for _, text := range e.Log {
		w.line(at, "INFO", "node %s (%s): %s", e.Node, e.Class, text)
	}
	var shown struct {
		Text []string `json:"text"`
	}
	if json.Unmarshal(e.UI, &shown) == nil { // UI output of another shape is not text
		for _, text := range shown.Text[:min(len(shown.Text), maxLogged)] {
			w.line(at, "INFO", "node %s (%s): %s", e.Node, e.Class, text)
		}
	}
	for _, f := range e.Files {
		w.line(at, "INFO", "node %s (%s): saved %s, %d bytes", e.Node, e.Class, f.Filename, f.Size)
	}
	if e.Cached {
		w.line(at, "INFO", "node %s (%s): cached", e.Node, e.Class)
		return
	}
	w.line(at, "INFO", "node %s (%s): finished in %d ms", e.Node, e.Class, e.Millis)
}

// LogLines returns the texts that a node logged, cut to fit into its event.
func LogLines(texts []string) []string {
	if len(texts) > maxLogged {
		texts = texts[len(texts)-maxLogged:]
	}
	lines := make([]string, 0, len(texts))
	for _, text := range texts {
		if len(text) > maxLogLine {
			text = cutText(text, maxLogLine)
		}
		lines = append(lines, text)
	}
	return lines
}
