package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rivo/uniseg"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Entry is a recorded event of any stream, for listings of the whole log. Its State is empty, because only
// folding the stream would give one.
type Entry struct {
	Stream  string `json:"stream"`
	Account string `json:"account"`
	Says    string `json:"says,omitempty"` // description of the type; "" for a type unknown to this program
	Event
}

// EntryOf converts a recorded event to an Entry, without secrets. If registry does not have the event's type, or the
// data cannot be decoded, the Entry keeps the stored data, so that one bad event does not fail a listing.
func EntryOf(registry *eventlog.Registry, rec eventlog.Recorded) Entry {
	decoded, err := registry.Decode(rec.Type, rec.Data)
	if err != nil {
		decoded = nil
	}
	return Entry{Stream: rec.Stream, Account: rec.Account, Says: registry.Says(rec.Type), Event: eventOf(rec, decoded, "")}
}

// EntriesOf converts recorded events to entries.
func EntriesOf(registry *eventlog.Registry, recorded []eventlog.Recorded) []Entry {
	entries := make([]Entry, len(recorded))
	for i, rec := range recorded {
		entries[i] = EntryOf(registry, rec)
	}
	return entries
}

// EventType is an event type with the number of its recorded events.
type EventType struct {
	Type     string     `json:"type"`
	Name     string     `json:"name"` // without its version
	Version  string     `json:"version"`
	Says     string     `json:"says,omitempty"`
	Known    bool       `json:"known"` // whether this program has the type
	Recorded int64      `json:"recorded"`
	Last     *time.Time `json:"last_recorded_at,omitempty"`
}

// TypeNamed describes an event type by its name. The counts are left zero.
func TypeNamed(registry *eventlog.Registry, name string) EventType {
	short := shortType(name)
	return EventType{
		Type: name, Name: short, Version: strings.TrimPrefix(strings.TrimPrefix(name, short), "."),
		Says: registry.Says(name), Known: registry.Knows(name),
	}
}

// LogPrinter writes events of many streams as a table that later calls continue.
type LogPrinter struct {
	*Printer
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
func (l *LogPrinter) Entries(entries []Entry) {
	var rows [][]Cell
	if l.widths == nil && len(entries) > 0 {
		l.widths = append([]int{}, logWidths...)
		head := cells(logColumns...)
		for i := range head {
			head[i].Style, head[i].Right = Faint, i == 0
		}
		rows = append(rows, head)
	}
	for _, e := range entries {
		rows = append(rows, l.rows(e)...)
	}
	for _, row := range rows {
		for i := 0; i < len(row)-1; i++ { // the last column fills the line
			l.widths[i] = max(l.widths[i], uniseg.StringWidth(Clean(row[i].Text)))
		}
	}
	for _, row := range rows {
		l.row(row, l.widths)
	}
}

// maxColumn is the widest that one column may be.
const maxColumn = 28

func (l *LogPrinter) rows(e Entry) [][]Cell {
	var rows [][]Cell
	if day := e.At.Format(time.DateOnly); day != l.day {
		l.day = day
		rows = append(rows, []Cell{{Text: day + ", times in UTC", Style: Faint}})
	}
	rows = append(rows, []Cell{
		{Text: fmt.Sprint(e.Position), Right: true},
		{Text: e.At.Format("15:04:05.000")},
		{Text: clip(Clean(shortStream(e.Stream)), maxColumn)},
		{Text: clip(Clean(shortType(e.Type)), maxColumn), Style: Bold},
		{Text: e.Words()},
	})
	if said := "account " + nameOf(e.Account, l.Names) + ", " + e.provenance(); said != l.lastText {
		l.lastText = said
		rows = append(rows, []Cell{{Text: strings.Repeat(" ", 8) + "└ " + said, Style: Faint}})
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

// Words summarizes the event in one line, without secrets. An event without a summary of its own is
// written as its data.
func (e Entry) Words() string {
	if text := e.summary(); text != "" {
		return text
	}
	switch f := e.decoded.(type) {
	case credit.GrantedV1:
		return "$" + credit.Dollars(f.Micros)
	case credit.HeldV1:
		return fmt.Sprintf("$%s, authorization %s", credit.Dollars(f.Micros), f.Hold)
	case credit.SettledV1:
		return fmt.Sprintf("$%s of $%s, authorization %s", credit.Dollars(f.Micros), credit.Dollars(f.Held), f.Hold)
	case credit.ReleasedV1:
		return fmt.Sprintf("$%s, authorization %s", credit.Dollars(f.Micros), f.Hold)
	}
	return compactJSON(e.Data)
}

// compactJSON writes the members of a JSON object on one line.
func compactJSON(raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return string(raw)
	}
	var parts []string
	for dec.More() {
		var value json.RawMessage
		key, err := dec.Token()
		if err != nil || dec.Decode(&value) != nil {
			return string(raw)
		}
		text := string(value)
		var plain string
		if json.Unmarshal(value, &plain) == nil {
			text = plain
		}
		parts = append(parts, fmt.Sprintf("%v %s", key, text))
	}
	return strings.Join(parts, ", ")
}

// Entry writes one event in full. cause is the event that caused it, or nil if none is recorded.
func (p *Printer) Entry(e Entry, names map[string]string, cause *Entry) {
	p.Field("position", fmt.Sprint(e.Position), Bold)
	p.Field("time", stamp(e.At), Plain)
	p.Field("stream", fmt.Sprintf("%s, version %d", e.Stream, e.Version), Plain)
	p.Field("type", e.Type, Bold)
	p.Field("says", e.Says, Plain)
	account := e.Account
	if name := nameOf(account, names); name != account {
		account += "  " + name
	}
	p.Field("account", account, Plain)
	p.Field("id", e.ID.String(), Plain)
	p.Field("actor", e.Actor, Plain)
	p.Field("reason", e.Reason, Plain)
	p.Field("request", e.RequestID, Plain)
	p.Field("cause", e.Cause, Plain)
	if cause != nil {
		p.Field("", fmt.Sprintf("position %d, %s, in %s", cause.Position, cause.Type, cause.Stream), Faint)
	}
	var indented bytes.Buffer
	if json.Indent(&indented, e.Data, "", "  ") != nil {
		return
	}
	p.printf("%s\n", p.paint("data", Faint))
	for line := range strings.Lines(indented.String()) {
		for _, part := range wrap(Clean(strings.TrimRight(line, "\n")), width-2) {
			p.printf("  %s\n", part)
		}
	}
}

// Types writes event types with the number of recorded events of each.
func (p *Printer) Types(types []EventType) {
	rows := make([][]Cell, len(types))
	for i, t := range types {
		says := Cell{Text: t.Says}
		if !t.Known {
			says = Cell{Text: "not known to this version", Style: Notice}
		}
		rows[i] = []Cell{
			{Text: Clean(t.Name), Style: Bold},
			{Text: Clean(t.Version)},
			{Text: fmt.Sprint(t.Recorded), Right: true},
			says,
		}
	}
	p.Table([]string{"EVENT", "VER", "RECORDED", "SAYS"}, rows)
}
