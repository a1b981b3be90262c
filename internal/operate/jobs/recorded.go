package jobs

import (
	"context"
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
)

// recordedPage is the number of submissions that one query reads.
const recordedPage = 500

// submitted returns the histories of the jobs that f selects, in the order of their submission. It reads only the log,
// while search reads a view: before an upgrade, the database has the views and columns of the old version. Jobs whose
// events left the log are skipped.
func (s Service) submitted(ctx context.Context, f filter, limit int) ([]inspect.History, error) {
	q, err := s.submittedQuery(ctx, f)
	if err != nil {
		return nil, err
	}
	states, err := statesOf(f.States)
	if err != nil {
		return nil, err
	}
	var found []inspect.History
	for len(found) < limit {
		page, err := operatestore.New(s.Pool).Submitted(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			q.Before = one.Position
			h, err := history(ctx, s.Pool, one.Stream)
			if fault.CodeOf(err) == fault.CodeJobRetired {
				continue
			}
			if err != nil {
				return nil, err
			}
			if len(states) == 0 || slices.Contains(states, h.State().State) {
				if found = append(found, h); len(found) == limit {
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

func (s Service) submittedQuery(ctx context.Context, f filter) (operatestore.Submitted, error) {
	store := operatestore.New(s.Pool)
	q := operatestore.Submitted{Class: f.Class, Limit: recordedPage}
	now, err := store.Now(ctx)
	if err != nil {
		return q, err
	}
	if q.Since, err = operate.ParseSince(f.Since, now); err != nil {
		return q, err
	}
	if q.From, err = eventstore.PositionAt(ctx, s.Pool, q.Since); err != nil {
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
