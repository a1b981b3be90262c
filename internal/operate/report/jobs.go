// Package report writes what package inspect found as tables of a terminal: jobs, events, timelines, differences and
// the log. It promises one order of columns and one style of states everywhere. Package terminal writes the tables.
package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Label describes a job in a list.
type Label struct {
	Title  string
	Models []string // files of the models that its graph loads
}

// Jobs writes a listing of jobs. names maps ids of accounts to their names. The last column has a job's title, its models,
// and its error or the nodes that it runs.
func Jobs(p *terminal.Printer, jobs []job.Job, names map[string]string, labels map[job.ID]Label, now time.Time) {
	if len(jobs) == 0 {
		p.Line("no job matches", terminal.Faint)
		return
	}
	rows := make([][]terminal.Cell, len(jobs))
	for i, j := range jobs {
		name := names[j.Account]
		name = cmp.Or(name, j.Account)
		label := labels[j.ID]
		what := []string{publicID(j), label.Title, strings.Join(label.Models, ", "), remark(j)}
		what = slices.DeleteFunc(what, func(text string) bool { return text == "" })
		rows[i] = []terminal.Cell{
			{Text: string(j.ID)},
			{Text: string(j.State), Style: styleOf(string(j.State))},
			{Text: terminal.Clip(terminal.Clean(name), 14)},
			{Text: j.SubmittedAt.UTC().Format("01-02 15:04:05")},
			{Text: runTime(j, now), Right: true},
			{Text: fmt.Sprintf("%d/%d", j.NodesDone, j.NodesTotal), Right: true},
			{Text: strings.Join(what, " · ")},
		}
	}
	p.Table([]string{"JOB", "STATE", "ACCOUNT", "SUBMITTED", "TOOK", "NODES", "WHAT"}, rows)
}

// publicID returns the id by which clients know a job, if it differs from the job's id.
func publicID(j job.Job) string {
	if j.Chosen == "" {
		return ""
	}
	return "public id " + string(j.Chosen)
}

// runTime returns the time from the start of a job to its end or to now, or its wait so far in brackets.
func runTime(j job.Job, now time.Time) string {
	switch {
	case j.StartedAt != nil && j.EndedAt != nil:
		return inspect.Span(j.EndedAt.Sub(*j.StartedAt))
	case j.StartedAt != nil:
		return inspect.Span(now.Sub(*j.StartedAt))
	case j.EndedAt == nil:
		return "(" + inspect.Span(now.Sub(j.SubmittedAt)) + ")"
	}
	return "-"
}

func remark(j job.Job) string {
	if j.Error != nil {
		return inspect.FailureText(*j.Error)
	}
	var at []string
	for _, node := range slices.Sorted(maps.Keys(j.Running)) {
		at = append(at, node+" "+j.Running[node])
	}
	return strings.Join(at, ", ")
}

// State writes the folded state of a job. of is the number of versions in the stream.
func State(p *terminal.Printer, h inspect.History, of int) {
	j := h.State()
	p.Field("job", string(j.ID), terminal.Bold)
	p.Field("public id", string(j.Chosen), terminal.Plain)
	p.Field("state", string(j.State), styleOf(string(j.State)))
	version := fmt.Sprintf("%d of %d", j.Version, of)
	if int(j.Version) < of {
		version += ", as it was at " + terminal.Stamp(h.Events[len(h.Events)-1].At)
	}
	p.Field("version", version, terminal.Plain)
	p.Field("account", j.Account, terminal.Plain)
	p.Field("surface", string(j.Surface), terminal.Plain)
	p.Field("number", fmt.Sprintf("%g", j.Number), terminal.Plain)
	p.Field("submitted", terminal.Stamp(j.SubmittedAt), terminal.Plain)
	timeField(p, "admitted", j.AdmittedAt, j.SubmittedAt)
	timeField(p, "started", j.StartedAt, j.SubmittedAt)
	timeField(p, "ended", j.EndedAt, j.SubmittedAt)
	if j.Run > 0 {
		p.Field("run", strings.TrimSpace(fmt.Sprintf("%d %s", j.Run, j.Execution)), terminal.Plain)
	}
	p.Field("nodes", fmt.Sprintf("%d of %d done, outputs %s", j.NodesDone, j.NodesTotal, inspect.IDs(j.Targets)), terminal.Plain)
	p.Field("cached", strings.Join(j.Cached, " "), terminal.Plain)
	if !j.State.Final() {
		p.Field("at", remark(j), terminal.Notice)
	}
	for _, key := range slices.Sorted(maps.Keys(j.Metadata)) {
		value := j.Metadata[key]
		if inspect.IsSecret(key) {
			value = "[redacted]"
		}
		p.Field("metadata", key+" = "+value, terminal.Plain)
	}
	writeOutputs(p, j)
	writeFailure(p, j)
}

func timeField(p *terminal.Printer, name string, at *time.Time, from time.Time) {
	if at != nil {
		p.Field(name, fmt.Sprintf("%s  +%s", terminal.Stamp(*at), inspect.Span(at.Sub(from))), terminal.Plain)
	}
}

func writeOutputs(p *terminal.Printer, j job.Job) {
	for _, out := range j.Outputs {
		if len(out.Files) == 0 {
			p.Field("output", out.Node+" "+out.Class+"  "+string(inspect.Redact(out.UI)), terminal.Plain)
		}
		for _, f := range out.Files {
			name := strings.TrimPrefix(f.Subfolder+"/"+f.Filename, "/")
			p.Field("output", fmt.Sprintf("%s %s  %s/%s  %s, %d bytes", out.Node, out.Class, f.Folder, name, f.ContentType, f.Size), terminal.Plain)
			p.Field("", "asset "+f.Asset, terminal.Faint)
		}
	}
}

func writeFailure(p *terminal.Printer, j job.Job) {
	if j.Interrupted != nil {
		p.Field("stopped at", j.Interrupted.Node+" "+j.Interrupted.Class, terminal.Notice)
	}
	if j.Error == nil {
		return
	}
	p.Field("error", inspect.FailureText(*j.Error), terminal.Bad)
	p.Field("exception", j.Error.ExceptionType, terminal.Plain)
	for _, line := range j.Error.Traceback {
		p.Field("", strings.TrimRight(line, "\n"), terminal.Faint)
	}
}

// Events writes every event with its time, position, resulting state and cause.
func Events(p *terminal.Printer, h inspect.History) {
	if len(h.Events) == 0 {
		return
	}
	writeEvents(p, "job "+job.Job{ID: h.Job(), Chosen: h.Public}.IDs(), h.Account, h.Events)
}

// writeEvents writes the events of one stream.
func writeEvents(p *terminal.Printer, whose, account string, events []inspect.Event) {
	p.Line(fmt.Sprintf("%s, account %s, times in UTC from %s", whose, account, events[0].At.Format("2006-01-02")), terminal.Faint)
	rows := make([][]terminal.Cell, 0, len(events))
	said := ""
	for _, f := range events {
		rows = append(rows, []terminal.Cell{
			{Text: fmt.Sprint(f.Version), Right: true},
			{Text: fmt.Sprint(f.Position), Right: true},
			{Text: f.At.Format("15:04:05.000")},
			{Text: f.State, Style: styleOf(f.State)},
			{Text: f.Name(), Style: terminal.Bold},
			{Text: f.Summary()},
		})
		if cause := f.Provenance(); cause != said {
			said = cause
			rows = append(rows, []terminal.Cell{{Text: strings.Repeat(" ", 6) + "└ " + cause, Style: terminal.Faint}})
		}
	}
	p.Table([]string{"VER", "POSITION", "TIME", "STATE", "EVENT", "WHAT"}, rows)
}

// styleOf returns the style of a job's state, a node's outcome or the status of a check.
func styleOf(state string) terminal.Style {
	switch state {
	case "succeeded", inspect.NodeExecuted, inspect.NodeCached, "live":
		return terminal.Good
	case "failed", "expired", "unknown", "rejected":
		return terminal.Bad
	case "running", "canceling", "canceled", "dispatching", "answered", inspect.NodeInterrupted:
		return terminal.Notice
	}
	return terminal.Plain
}
