package events

import (
	"context"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Follow passes the events that q selects to print: first the recorded ones, then new ones as they are appended, in
// the order of the log.
func (l Service) Follow(ctx context.Context, tail eventlog.Tail, q eventstore.LogSearch, print func([]inspect.Entry) error) error {
	after := int64(0)
	for more := true; more; {
		page, err := l.Page(ctx, q)
		if err != nil {
			return err
		}
		if err := print(page.Events); err != nil {
			return err
		}
		after = max(page.High, q.From-1)
		more, q.From = page.More && q.From > 0, page.From
	}
	wanted := q.Matcher()
	follower := eventlog.Follower{Tail: tail, After: after}
	return follower.Run(ctx, func(_ context.Context, recorded []eventlog.Recorded) error {
		var entries []inspect.Entry
		for _, rec := range recorded {
			if wanted(rec) {
				entries = append(entries, inspect.EntryOf(l.Registry, rec))
			}
		}
		return print(entries)
	})
}
