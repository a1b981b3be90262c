// Package events lets operators read the event log: search it, show one event, count event types and follow it.
package events

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Service answers operators' queries of the event log.
type Service struct {
	Pool     *postgres.Pool
	Registry *eventlog.Registry
	// Follow opens the tail of the log for work, and closes it.
	Follow func(ctx context.Context, work func(context.Context, eventlog.Tail) error) error
}

// maxCounted bounds the positions that a count reads.
const maxCounted = 1_000_000

// page is a part of the log.
type page struct {
	Events []inspect.Entry `json:"events"` // in the order of the log
	Low    int64           `json:"looked_from"`
	High   int64           `json:"looked_to"`
	More   bool            `json:"more"` // more events may match outside the searched positions
	// Where the next page starts: From after a search forward, Before after a search backward with more to search.
	From   int64 `json:"from_position,omitempty"`
	Before int64 `json:"before,omitempty"`

	names map[string]string // of accounts, by their ids
}

// parse returns the search that the parameters select, and the names of accounts by their ids.
func (l Service) parse(ctx context.Context, f listParams) (q eventstore.LogSearch, names map[string]string, err error) {
	switch {
	case f.From < 0 || f.Before < 0:
		return q, nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "a position must be 1 or greater")
	case f.From > 0 && f.Before > 0:
		return q, nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "give from_position or before_position, not both")
	case f.Follow && (f.Until != "" || f.Before > 0):
		return q, nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "--follow cannot be combined with --until or --before")
	case !action.IsText(f.Stream + f.Type):
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

// page returns the events that q selects.
func (l Service) page(ctx context.Context, q eventstore.LogSearch) (page, error) {
	found, err := eventstore.SearchLog(ctx, l.Pool, q)
	if err != nil {
		return page{}, err
	}
	p := page{Events: inspect.EntriesOf(l.Registry, found.Events), Low: found.Low, High: found.High, More: found.More}
	switch {
	case q.From > 0:
		p.From = max(q.From, found.High+1)
	case found.More:
		p.Before = found.Low
	}
	return p, nil
}

// detail is one event with the event that caused it.
type detail struct {
	inspect.Entry
	CausedBy *reference `json:"caused_by,omitempty"`

	cause *inspect.Entry    // the event that CausedBy names
	names map[string]string // of accounts, by their ids
}

// reference names an event.
type reference struct {
	Position int64  `json:"position"`
	Stream   string `json:"stream"`
	Type     string `json:"type"`
}

// lookup returns the event at a position, or NotFound.
func (l Service) lookup(ctx context.Context, position int64) (d detail, err error) {
	rec, err := eventstore.EventAt(ctx, l.Pool, position)
	if fault.Is(err, fault.NotFound) {
		return d, fault.Wrap(err, fault.NotFound, fault.CodeEventNotFound,
			"no event is at position %d: the position was never used, its append was rolled back, or its job was retired", position)
	}
	if err != nil {
		return d, err
	}
	d.Entry = inspect.EntryOf(l.Registry, rec)
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
	d.cause, d.CausedBy = &cause, &reference{cause.Position, cause.Stream, cause.Type}
	return d, nil
}

// counts holds the number of events of each type in a part of the log.
type counts struct {
	Types []inspect.EventType `json:"types"`
	Low   int64               `json:"counted_from"` // the lowest position that was counted
	Whole bool                `json:"whole"`        // no event was recorded before it
}

// count counts the newest events, or all of them, by type. It also lists recorded types that this program does not
// know.
func (l Service) count(ctx context.Context, whole bool) (counts, error) {
	most := int64(maxCounted)
	if whole {
		most = 0
	}
	recorded, low, complete, err := eventstore.CountTypes(ctx, l.Pool, most)
	if err != nil {
		return counts{}, err
	}
	names := l.Registry.Names()
	for name := range recorded {
		if !l.Registry.Knows(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	counted := counts{Types: make([]inspect.EventType, len(names)), Low: low, Whole: complete}
	for i, name := range names {
		counted.Types[i] = inspect.TypeNamed(l.Registry, name)
		if c, ok := recorded[name]; ok {
			counted.Types[i].Recorded, counted.Types[i].Last = c.Count, &c.Last
		}
	}
	return counted, nil
}
