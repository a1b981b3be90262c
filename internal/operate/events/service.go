// Package events lets operators read the event log: search it, show one event, count event types and follow it.
package events

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Service answers operators' queries of the event log.
type Service struct {
	Pool     *postgres.Pool
	Registry *eventlog.Registry
}

// Bounds of a listing of events.
const (
	DefaultLimit = 50
	maxListed    = 1_000 // one event may be megabytes
	maxCounted   = 1_000_000
)

// Page is a part of the log.
type Page struct {
	Events []inspect.Entry `json:"facts"` // in the order of the log
	Low    int64           `json:"looked_from"`
	High   int64           `json:"looked_to"`
	More   bool            `json:"more"` // more events may match outside the searched positions
	// Where the next page starts: From after a search forward, Before after a search backward with more to search.
	From   int64 `json:"from_position,omitempty"`
	Before int64 `json:"before,omitempty"`
}

// Parse checks a filter and returns the equivalent search, and the names of accounts by their ids.
func (l Service) Parse(ctx context.Context, f Filter) (q eventstore.LogSearch, names map[string]string, err error) {
	f.Limit = cmp.Or(f.Limit, DefaultLimit)
	switch {
	case f.Limit < 1 || f.Limit > maxListed:
		return q, nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "limit must be between 1 and %d, not %d", maxListed, f.Limit)
	case f.From < 0 || f.Before < 0:
		return q, nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "a position must be 1 or greater")
	case f.From > 0 && f.Before > 0:
		return q, nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "give from_position or before_position, not both")
	case !utf8.ValidString(f.Stream+f.Type) || strings.ContainsRune(f.Stream+f.Type, 0):
		return q, nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "a stream and a type are texts without NUL characters")
	}
	q = eventstore.LogSearch{Stream: f.Stream, Type: f.Type, From: f.From, Before: f.Before, Limit: f.Limit}
	now, err := operate.Now(ctx, l.Pool)
	if err != nil {
		return q, nil, err
	}
	if names, err = operate.AccountNames(ctx, l.Pool); err != nil {
		return q, nil, err
	}
	for _, moment := range []struct {
		name, text string
		into       *time.Time
	}{{"since", f.Since, &q.Since}, {"until", f.Until, &q.Until}} {
		if moment.text == "" {
			continue
		}
		if *moment.into, err = operate.ParseTime(moment.name, moment.text, now); err != nil {
			return q, nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", err.Error())
		}
	}
	if q.Account = f.Account; f.Account != gate.All {
		if q.Account, err = operate.AccountNamed(f.Account, names); err != nil {
			return q, nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", err.Error())
		}
	}
	return q, names, nil
}

// Page returns the events that q selects.
func (l Service) Page(ctx context.Context, q eventstore.LogSearch) (Page, error) {
	found, err := eventstore.SearchLog(ctx, l.Pool, q)
	if err != nil {
		return Page{}, err
	}
	page := Page{Events: inspect.EntriesOf(l.Registry, found.Events), Low: found.Low, High: found.High, More: found.More}
	switch {
	case q.From > 0:
		page.From = max(q.From, found.High+1)
	case found.More:
		page.Before = found.Low
	}
	return page, nil
}

// Search implements admin.Events.
func (l Service) Search(ctx context.Context, f Filter) (any, error) {
	q, _, err := l.Parse(ctx, f)
	if err != nil {
		return nil, err
	}
	return l.Page(ctx, q)
}

// Detail is one event with the event that caused it.
type Detail struct {
	inspect.Entry
	CausedBy *Reference `json:"caused_by,omitempty"`

	Causing *inspect.Entry `json:"-"` // the event that CausedBy names
}

// Reference names an event.
type Reference struct {
	Position int64  `json:"position"`
	Stream   string `json:"stream"`
	Type     string `json:"type"`
}

// Event implements admin.Events.
func (l Service) Event(ctx context.Context, position int64) (any, error) {
	return l.Lookup(ctx, position)
}

// Lookup returns the event at a position, or NotFound.
func (l Service) Lookup(ctx context.Context, position int64) (Detail, error) {
	rec, err := eventstore.EventAt(ctx, l.Pool, position)
	if fault.Is(err, fault.NotFound) {
		return Detail{}, fault.Wrap(err, fault.NotFound, fault.CodeEventNotFound,
			"no event is at position %d: the position was never used, its append was rolled back, or its job was retired", position)
	}
	if err != nil {
		return Detail{}, err
	}
	d := Detail{Entry: inspect.EntryOf(l.Registry, rec)}
	if _, err := uuid.Parse(d.Cause); err != nil {
		return d, nil //nolint:nilerr // a cause that is not an event id has no event
	}
	rec, err = eventstore.EventByID(ctx, l.Pool, d.Cause)
	if fault.Is(err, fault.NotFound) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	cause := inspect.EntryOf(l.Registry, rec)
	d.Causing, d.CausedBy = &cause, &Reference{cause.Position, cause.Stream, cause.Type}
	return d, nil
}

// Counts holds the number of events of each type in a part of the log.
type Counts struct {
	Types []inspect.EventType `json:"types"`
	Low   int64               `json:"counted_from"` // the lowest position that was counted
	Whole bool                `json:"whole"`        // no event was recorded before it
}

// Types implements admin.Events.
func (l Service) Types(ctx context.Context, whole bool) (any, error) { return l.Count(ctx, whole) }

// Count counts the newest events, or all of them, by type. It also lists recorded types that this program does not
// know.
func (l Service) Count(ctx context.Context, whole bool) (Counts, error) {
	most := int64(maxCounted)
	if whole {
		most = 0
	}
	recorded, low, complete, err := eventstore.CountTypes(ctx, l.Pool, most)
	if err != nil {
		return Counts{}, err
	}
	names := l.Registry.Names()
	for name := range recorded {
		if !l.Registry.Knows(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	counts := Counts{Types: make([]inspect.EventType, len(names)), Low: low, Whole: complete}
	for i, name := range names {
		counts.Types[i] = inspect.TypeNamed(l.Registry, name)
		if c, ok := recorded[name]; ok {
			counts.Types[i].Recorded, counts.Types[i].Last = c.Count, &c.Last
		}
	}
	return counts, nil
}
