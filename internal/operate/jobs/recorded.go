package jobs

import (
	"context"
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
)

// recordedPage is the number of submissions that one query reads.
const recordedPage = 500

// Recorded returns the histories of the jobs that f selects, in the order of their submission. It reads only the log,
// while Search reads a view: before an upgrade, the database has the views and columns of the old version. Jobs whose
// events left the log are skipped.
func Recorded(ctx context.Context, pool *postgres.Pool, f Filter) ([]inspect.History, error) {
	q, err := recordedQuery(ctx, pool, f)
	if err != nil {
		return nil, err
	}
	states, err := statesOf(f.States)
	if err != nil {
		return nil, err
	}
	var found []inspect.History
	for len(found) < f.Limit {
		page, err := operatestore.New(pool).Submitted(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			q.Before = s.Position
			h, err := History(ctx, pool, s.Stream)
			if fault.CodeOf(err) == fault.CodeJobRetired {
				continue
			}
			if err != nil {
				return nil, err
			}
			if len(states) == 0 || slices.Contains(states, h.State().State) {
				if found = append(found, h); len(found) == f.Limit {
					break
				}
			}
		}
		if len(page) < recordedPage {
			break
		}
	}
	slices.Reverse(found)
	return found, nil
}

func recordedQuery(ctx context.Context, pool *postgres.Pool, f Filter) (operatestore.Submitted, error) {
	store := operatestore.New(pool)
	q := operatestore.Submitted{Class: f.Class, Limit: recordedPage}
	if f.Limit < 1 || f.Limit > MaxListed {
		return q, fault.New(fault.Invalid, fault.CodeInvalidRequest, "--limit must be between 1 and %d, not %d", MaxListed, f.Limit)
	}
	now, err := store.Now(ctx)
	if err != nil {
		return q, err
	}
	if q.Since, err = operate.ParseSince(f.Since, now); err != nil {
		return q, err
	}
	if q.From, err = eventstore.PositionAt(ctx, pool, q.Since); err != nil {
		return q, err
	}
	if f.Account == "" || f.Account == account.LocalID {
		q.Account = f.Account
		return q, nil
	}
	ids, err := store.AccountIDs(ctx)
	if err != nil {
		return q, err
	}
	var known bool
	if q.Account, known = ids[f.Account]; !known {
		return q, fault.New(fault.Invalid, fault.CodeInvalidRequest, "account %q does not exist; see `millrace accounts list`",
			terminal.Clean(f.Account))
	}
	return q, nil
}

// RecordedByID returns the histories of named jobs.
func RecordedByID(ctx context.Context, pool *postgres.Pool, texts []string) ([]inspect.History, error) {
	found := make([]inspect.History, len(texts))
	for i, text := range texts {
		var err error
		if found[i], err = History(ctx, pool, text); err != nil {
			return nil, err
		}
	}
	return found, nil
}
