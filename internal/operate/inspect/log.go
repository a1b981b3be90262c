package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/engine/ordered"
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

// Text summarizes the event in one line, without secrets. An event without a summary of its own is
// written as its data.
func (e Entry) Text() string {
	if text := e.Summary(); text != "" {
		return text
	}
	switch f := e.decoded.(type) {
	case credit.GrantedV1:
		return "$" + amount.Dollars(f.Micros)
	case credit.HeldV1:
		return fmt.Sprintf("$%s, authorization %s", amount.Dollars(f.Micros), f.Hold)
	case credit.SettledV1:
		return fmt.Sprintf("$%s of $%s, authorization %s", amount.Dollars(f.Micros), amount.Dollars(f.Held), f.Hold)
	case credit.ReleasedV1:
		return fmt.Sprintf("$%s, authorization %s", amount.Dollars(f.Micros), f.Hold)
	}
	return compactJSON(e.Data)
}

// compactJSON writes the members of a JSON object on one line.
func compactJSON(raw json.RawMessage) string {
	members, err := ordered.Members(raw)
	if err != nil {
		return string(raw)
	}
	parts := make([]string, len(members))
	for i, m := range members {
		text := string(m.Raw)
		var plain string
		if json.Unmarshal(m.Raw, &plain) == nil {
			text = plain
		}
		parts[i] = m.Name + " " + text
	}
	return strings.Join(parts, ", ")
}
