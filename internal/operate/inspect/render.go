package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Jobs writes a listing of jobs. names maps ids of accounts to their names.
func (p *Printer) Jobs(jobs []job.Job, names map[string]string, now time.Time) {
	if len(jobs) == 0 {
		p.Line("no job matches", Faint)
		return
	}
	rows := make([][]Cell, len(jobs))
	for i, j := range jobs {
		name := names[j.Account]
		name = cmp.Or(name, j.Account)
		rows[i] = []Cell{
			{Text: string(j.ID)},
			{Text: string(j.State), Style: styleOf(string(j.State))},
			{Text: clip(Clean(name), 14)},
			{Text: j.SubmittedAt.UTC().Format("01-02 15:04:05")},
			{Text: runTime(j, now), Right: true},
			{Text: fmt.Sprintf("%d/%d", j.NodesDone, j.NodesTotal), Right: true},
			{Text: strings.TrimSpace(publicID(j) + " " + remark(j))},
		}
	}
	p.Table([]string{"JOB", "STATE", "ACCOUNT", "SUBMITTED", "TOOK", "NODES", ""}, rows)
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
		return Span(j.EndedAt.Sub(*j.StartedAt))
	case j.StartedAt != nil:
		return Span(now.Sub(*j.StartedAt))
	case j.EndedAt == nil:
		return "(" + Span(now.Sub(j.SubmittedAt)) + ")"
	}
	return "-"
}

func remark(j job.Job) string {
	if j.Error != nil {
		return failure(*j.Error)
	}
	var at []string
	for _, node := range slices.Sorted(maps.Keys(j.Running)) {
		at = append(at, node+" "+j.Running[node])
	}
	return strings.Join(at, ", ")
}

// State writes the folded state of a job. of is the number of versions in the stream.
func (p *Printer) State(h History, of int) {
	j := h.final
	p.Field("job", string(j.ID), Bold)
	p.Field("public id", string(j.Chosen), Plain)
	p.Field("state", string(j.State), styleOf(string(j.State)))
	version := fmt.Sprintf("%d of %d", j.Version, of)
	if int(j.Version) < of {
		version += ", as it was at " + stamp(h.Events[len(h.Events)-1].At)
	}
	p.Field("version", version, Plain)
	p.Field("account", j.Account, Plain)
	p.Field("surface", string(j.Surface), Plain)
	p.Field("number", fmt.Sprintf("%g", j.Number), Plain)
	p.Field("submitted", stamp(j.SubmittedAt), Plain)
	p.timeField("admitted", j.AdmittedAt, j.SubmittedAt)
	p.timeField("started", j.StartedAt, j.SubmittedAt)
	p.timeField("ended", j.EndedAt, j.SubmittedAt)
	if j.Run > 0 {
		p.Field("run", strings.TrimSpace(fmt.Sprintf("%d %s", j.Run, j.Execution)), Plain)
	}
	p.Field("nodes", fmt.Sprintf("%d of %d done, outputs %s", j.NodesDone, j.NodesTotal, list(j.Targets)), Plain)
	p.Field("cached", strings.Join(j.Cached, " "), Plain)
	if !j.State.Final() {
		p.Field("at", remark(j), Notice)
	}
	for _, key := range slices.Sorted(maps.Keys(j.Metadata)) {
		value := j.Metadata[key]
		if secretName.MatchString(key) {
			value = "[redacted]"
		}
		p.Field("metadata", key+" = "+value, Plain)
	}
	p.outputs(j)
	p.failed(j)
}

func (p *Printer) timeField(name string, at *time.Time, from time.Time) {
	if at != nil {
		p.Field(name, fmt.Sprintf("%s  +%s", stamp(*at), Span(at.Sub(from))), Plain)
	}
}

func (p *Printer) outputs(j job.Job) {
	for _, out := range j.Outputs {
		if len(out.Files) == 0 {
			p.Field("output", out.Node+" "+out.Class+"  "+string(Redact(out.UI)), Plain)
		}
		for _, f := range out.Files {
			name := strings.TrimPrefix(f.Subfolder+"/"+f.Filename, "/")
			p.Field("output", fmt.Sprintf("%s %s  %s/%s  %s, %d bytes", out.Node, out.Class, f.Folder, name, f.ContentType, f.Size), Plain)
			p.Field("", "asset "+f.Asset, Faint)
		}
	}
}

func (p *Printer) failed(j job.Job) {
	if j.Interrupted != nil {
		p.Field("stopped at", j.Interrupted.Node+" "+j.Interrupted.Class, Notice)
	}
	if j.Error == nil {
		return
	}
	p.Field("error", failure(*j.Error), Bad)
	p.Field("exception", j.Error.ExceptionType, Plain)
	for _, line := range j.Error.Traceback {
		p.Field("", strings.TrimRight(line, "\n"), Faint)
	}
}

// Events writes every event with its time, position, resulting state and cause.
func (p *Printer) Events(h History) {
	if len(h.Events) == 0 {
		return
	}
	p.events("job "+job.Job{ID: h.Job(), Chosen: h.Public}.IDs(), h.Account, h.Events)
}

// events writes the events of one stream.
func (p *Printer) events(whose, account string, events []Event) {
	p.Line(fmt.Sprintf("%s, account %s, times in UTC from %s", whose, account, events[0].At.Format("2006-01-02")), Faint)
	rows := make([][]Cell, 0, len(events))
	said := ""
	for _, f := range events {
		rows = append(rows, []Cell{
			{Text: fmt.Sprint(f.Version), Right: true},
			{Text: fmt.Sprint(f.Position), Right: true},
			{Text: f.At.Format("15:04:05.000")},
			{Text: f.State, Style: styleOf(f.State)},
			{Text: shortType(f.Type), Style: Bold},
			{Text: f.summary()},
		})
		if cause := f.provenance(); cause != said {
			said = cause
			rows = append(rows, []Cell{{Text: strings.Repeat(" ", 6) + "└ " + cause, Style: Faint}})
		}
	}
	p.Table([]string{"VER", "POSITION", "TIME", "STATE", "EVENT", "WHAT"}, rows)
}

// provenance returns the actor, request, cause and reason of an event.
func (f Event) provenance() string {
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
