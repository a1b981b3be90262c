package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rivo/uniseg"

	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// LogPrinter writes events of many streams as a table that later calls continue.
type LogPrinter struct {
	*terminal.Printer
	Names map[string]string // of accounts, by id

	widths        []int
	day, lastText string
}

// The columns of a LogPrinter and their minimum widths. Rows that arrive later are rarely wider.
var (
	logColumns = []string{"POSITION", "TIME", "STREAM", "EVENT", "WHAT"}
	logWidths  = []int{8, 12, 15, 20, 4}
)

// Entries writes events, each with its position, time, stream and a summary. The day, the account and the
// cause are written only when they change.
func (l *LogPrinter) Entries(entries []inspect.Entry) {
	var rows [][]terminal.Cell
	if l.widths == nil && len(entries) > 0 {
		l.widths = append([]int{}, logWidths...)
		head := terminal.Cells(logColumns...)
		for i := range head {
			head[i].Style, head[i].Right = terminal.Faint, i == 0
		}
		rows = append(rows, head)
	}
	for _, e := range entries {
		rows = append(rows, l.rows(e)...)
	}
	for _, row := range rows {
		for i := 0; i < len(row)-1; i++ { // the last column fills the line
			l.widths[i] = max(l.widths[i], uniseg.StringWidth(terminal.Clean(row[i].Text)))
		}
	}
	for _, row := range rows {
		l.Row(row, l.widths)
	}
}

// maxColumn is the widest that one column may be.
const maxColumn = 28

func (l *LogPrinter) rows(e inspect.Entry) [][]terminal.Cell {
	var rows [][]terminal.Cell
	if day := e.At.Format(time.DateOnly); day != l.day {
		l.day = day
		rows = append(rows, []terminal.Cell{{Text: day + ", times in UTC", Style: terminal.Faint}})
	}
	rows = append(rows, []terminal.Cell{
		{Text: fmt.Sprint(e.Position), Right: true},
		{Text: e.At.Format("15:04:05.000")},
		{Text: terminal.Clip(terminal.Clean(shortStream(e.Stream)), maxColumn)},
		{Text: terminal.Clip(terminal.Clean(e.Name()), maxColumn), Style: terminal.Bold},
		{Text: e.Text()},
	})
	if said := "account " + nameOf(e.Account, l.Names) + ", " + e.Provenance(); said != l.lastText {
		l.lastText = said
		rows = append(rows, []terminal.Cell{{Text: strings.Repeat(" ", 8) + "└ " + said, Style: terminal.Faint}})
	}
	return rows
}

func nameOf(account string, names map[string]string) string {
	if name := names[account]; name != "" {
		return name
	}
	if account == "*" {
		return "(all)"
	}
	return account
}

// shortStream shortens the id in a stream name to the prefix that commands accept.
func shortStream(stream string) string {
	kind, id, _ := strings.Cut(stream, "-")
	if _, err := uuid.Parse(id); err != nil {
		return stream
	}
	return kind + "-" + id[:8]
}

// Entry writes one event in full. cause is the event that caused it, or nil if none is recorded.
func Entry(p *terminal.Printer, e inspect.Entry, names map[string]string, cause *inspect.Entry) {
	p.Field("position", fmt.Sprint(e.Position), terminal.Bold)
	p.Field("time", terminal.Stamp(e.At), terminal.Plain)
	p.Field("stream", fmt.Sprintf("%s, version %d", e.Stream, e.Version), terminal.Plain)
	p.Field("type", e.Type, terminal.Bold)
	p.Field("says", e.Says, terminal.Plain)
	account := e.Account
	if name := nameOf(account, names); name != account {
		account += "  " + name
	}
	p.Field("account", account, terminal.Plain)
	p.Field("id", e.ID.String(), terminal.Plain)
	p.Field("actor", e.Actor, terminal.Plain)
	p.Field("reason", e.Reason, terminal.Plain)
	p.Field("request", e.RequestID, terminal.Plain)
	p.Field("cause", e.Cause, terminal.Plain)
	if cause != nil {
		p.Field("", fmt.Sprintf("position %d, %s, in %s", cause.Position, cause.Type, cause.Stream), terminal.Faint)
	}
	var indented bytes.Buffer
	if json.Indent(&indented, e.Data, "", "  ") != nil {
		return
	}
	p.Printf("%s\n", p.Paint("data", terminal.Faint))
	for line := range strings.Lines(indented.String()) {
		for _, part := range terminal.Wrap(terminal.Clean(strings.TrimRight(line, "\n")), terminal.Width-2) {
			p.Printf("  %s\n", part)
		}
	}
}

// Types writes event types with the number of recorded events of each.
func Types(p *terminal.Printer, types []inspect.EventType) {
	rows := make([][]terminal.Cell, len(types))
	for i, t := range types {
		says := terminal.Cell{Text: t.Says}
		if !t.Known {
			says = terminal.Cell{Text: "not known to this version", Style: terminal.Notice}
		}
		rows[i] = []terminal.Cell{
			{Text: terminal.Clean(t.Name), Style: terminal.Bold},
			{Text: terminal.Clean(t.Version)},
			{Text: fmt.Sprint(t.Recorded), Right: true},
			says,
		}
	}
	p.Table([]string{"EVENT", "VER", "RECORDED", "SAYS"}, rows)
}
