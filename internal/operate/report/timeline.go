package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// barWidth is the width of the bar that shows a node's time within the job's, in columns.
const barWidth = 24

// Timeline writes the waits, nodes and servers of a job with their durations.
func Timeline(p *terminal.Printer, t inspect.Timeline) {
	p.Field("job", string(t.Job), terminal.Bold)
	p.Field("public id", string(t.Public), terminal.Plain)
	p.Field("state", string(t.State), styleOf(string(t.State)))
	p.Field("submitted", terminal.Stamp(t.SubmittedAt), terminal.Plain)
	between := t.Ran - t.InNodes
	rows := [][]terminal.Cell{
		{{Text: "waited for a slot"}, {Text: span(t.WaitedSlot), Right: true}, {}},
		{{Text: "waited for a worker"}, {Text: span(t.WaitedStart), Right: true}, {Text: t.Worker}},
		{
			{Text: "ran"},
			{Text: span(t.Ran), Right: true},
			{Text: fmt.Sprintf("%s in nodes, %s between and around them", span(t.InNodes), span(between))},
		},
		{
			{Text: "nodes"},
			{Text: fmt.Sprint(t.Executed + t.CacheHits), Right: true},
			{Text: fmt.Sprintf("%d ran, %d from the cache", t.Executed, t.CacheHits)},
		},
		{{Text: "in all"}, {Text: span(t.Total), Right: true, Style: terminal.Bold}, {}},
	}
	p.Table([]string{"", "", ""}, rows) // the empty header becomes an empty line
	if len(t.Nodes) > 0 {
		p.Line("", terminal.Plain)
		writeSpans(p, t)
	}
	for _, w := range t.Waiting {
		p.Line(fmt.Sprintf("node %s waits for a server: %s", terminal.Clean(w.Node), terminal.Clean(w.Reason)), terminal.Notice)
	}
	for _, w := range t.Warnings {
		p.Line(fmt.Sprintf("node %s: %s", terminal.Clean(w.Node), w.Message), terminal.Notice)
	}
	if len(t.Servers) > 0 {
		p.Line("", terminal.Plain)
		writeServers(p, t)
	}
}

// writeServers writes the attempts on ComfyUI servers, and the reason for the choice of each server.
func writeServers(p *terminal.Printer, t inspect.Timeline) {
	rows := make([][]terminal.Cell, len(t.Servers))
	for i, s := range t.Servers {
		why := s.Reason
		if s.Problem != "" {
			why += " (" + s.Problem + ")"
		}
		rows[i] = []terminal.Cell{
			{Text: terminal.Clip(terminal.Clean(s.URL), 48)},
			{Text: fmt.Sprint(s.Nodes), Right: true},
			{Text: fmt.Sprintf("%d/%d", s.Run, s.Attempt)},
			{Text: s.Outcome, Style: styleOf(s.Outcome)},
			{Text: span(s.Took), Right: true},
			{Text: costOf(s.Cost), Right: true},
			{Text: terminal.Clip(terminal.Clean(why), 100)},
		}
	}
	p.Table([]string{"SERVER", "NODES", "RUN/TRY", "OUTCOME", "TOOK", "COST", "WHY THERE"}, rows)
}

// costOf formats the cost of time on a server. Free time gives an empty text.
func costOf(micros int64) string {
	if micros == 0 {
		return ""
	}
	return "$" + amount.Dollars(micros)
}

func span(m inspect.Millis) string { return inspect.Span(time.Duration(m)) }

func writeSpans(p *terminal.Printer, t inspect.Timeline) {
	rows := make([][]terminal.Cell, len(t.Nodes))
	for i, n := range t.Nodes {
		state := n.State
		if n.Retried {
			state += ", retried"
		}
		if n.Waited > 0 {
			state += ", waited " + span(n.Waited) + " to call"
		}
		rows[i] = []terminal.Cell{
			{Text: terminal.Clip(terminal.Clean(n.Node), 12)},
			{Text: terminal.Clip(terminal.Clean(n.Class), 22)},
			{Text: state, Style: styleOf(n.State)},
			{Text: span(n.Took), Right: true},
			{Text: "+" + inspect.Span(n.Began.Sub(t.SubmittedAt)), Right: true},
			{Text: fmt.Sprintf("%d/%d", n.Run, max(1, n.Attempt))},
			{Text: bar(t, n), Style: styleOf(n.State)},
			{Text: n.Worker},
		}
	}
	p.Table([]string{"NODE", "CLASS", "STATE", "TOOK", "BEGAN", "RUN/TRY", "0 … " + span(t.Total), "WORKER"}, rows)
}

// bar draws the time in which a node ran.
func bar(t inspect.Timeline, n inspect.NodeSpan) string {
	return barOf(time.Duration(t.Total), n.Began.Sub(t.SubmittedAt), time.Duration(n.Took))
}

// barOf draws a span within a total. A span too short to draw becomes a thin mark.
func barOf(total, began, took time.Duration) string {
	if total <= 0 {
		return ""
	}
	column := func(at time.Duration) int { return min(barWidth, max(0, int(float64(at)/float64(total)*barWidth))) }
	from := min(column(began), barWidth-1)
	mark := strings.Repeat("█", max(0, column(began+took)-from))
	mark = cmp.Or(mark, "▏")
	return strings.Repeat(" ", from) + mark
}
