// Package calls lets operators list model calls, add up their usage and settle calls of unknown outcome.
package calls

import (
	"cmp"
	"context"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/projections/calls"
	"github.com/millrace-dev/millrace/projections/usage"
)

// List returns the calls that f selects, the newest first.
func List(ctx context.Context, pool *postgres.Pool, names map[string]string, f Filter) (calls.Page, error) {
	account, err := operate.AccountNamed(f.Account, names)
	if err != nil {
		return calls.Page{}, err
	}
	states, err := callStates(f.States)
	if err != nil {
		return calls.Page{}, err
	}
	return calls.NewReader(pool).List(ctx, calls.Query{Account: account, States: states, Model: f.Model, Before: f.Before, Limit: f.Limit})
}

func callStates(names []string) ([]call.State, error) {
	states := make([]call.State, len(names))
	for i, name := range names {
		states[i] = call.State(name)
		switch states[i] {
		case call.Waiting, call.Admitted, call.Dispatching, call.Running, call.Answered, call.Succeeded, call.Failed, call.Canceled, call.Unknown:
		default:
			return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "%q is not the state of a call", terminal.Clean(name))
		}
	}
	return states, nil
}

// UsageSince is the default period for which usage is added up.
const UsageSince = "720h"

// UsedSince adds up calls and charges by day, account and model, for one account or for all.
func UsedSince(ctx context.Context, pool *postgres.Pool, names map[string]string, account, since string) ([]usage.Day, error) {
	now, err := operate.Now(ctx, pool)
	if err != nil {
		return nil, err
	}
	id, err := operate.AccountNamed(account, names)
	if err != nil {
		return nil, err
	}
	from, err := operate.ParseSince(since, now)
	if err != nil {
		return nil, err
	}
	return usage.NewReader(pool).Between(ctx, id, from, now)
}

// CallsToReplay returns the named calls, or those that q selects.
func CallsToReplay(ctx context.Context, pool *postgres.Pool, ids []string, q calls.Query) ([]call.Call, error) {
	if len(ids) == 0 {
		page, err := calls.NewReader(pool).List(ctx, q)
		if err == nil && len(page.Calls) == 0 {
			err = fault.New(fault.NotFound, fault.CodeNoMatch, "no call matches the filter")
		}
		return page.Calls, err
	}
	found := make([]call.Call, len(ids))
	for i, id := range ids {
		t, err := records.Calls.History(ctx, pool, id)
		if err != nil {
			return nil, err
		}
		found[i] = t.State()
	}
	return found, nil
}

// Service lists model calls for operators, and settles calls of unknown outcome.
type Service struct {
	Pool  *postgres.Pool
	Store *callstore.Store
}

// List implements admin.Calls.
func (a Service) List(ctx context.Context, f Filter) ([]call.Call, int64, error) {
	names, err := operate.AccountNames(ctx, a.Pool)
	if err != nil {
		return nil, 0, err
	}
	page, err := List(ctx, a.Pool, names, f)
	return page.Calls, page.Next, err
}

// Usage implements admin.Calls.
func (a Service) Usage(ctx context.Context, account, since string) ([]usage.Day, error) {
	names, err := operate.AccountNames(ctx, a.Pool)
	if err != nil {
		return nil, err
	}
	since = cmp.Or(since, UsageSince)
	return UsedSince(ctx, a.Pool, names, account, since)
}

// Reconcile implements admin.Calls.
func (a Service) Reconcile(ctx context.Context, id call.ID, micros int64, by operate.Attribution) error {
	_, err := Settle(ctx, a.Pool, a.Store, string(id), micros, eventlog.Meta{Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID})
	return err
}

// Settle settles the call whose id begins with text at the price that the provider charged.
func Settle(ctx context.Context, pool *postgres.Pool, store *callstore.Store, text string, micros int64,
	by eventlog.Meta,
) (call.Call, error) {
	t, err := records.Calls.History(ctx, pool, text)
	if err != nil {
		return call.Call{}, err
	}
	c := t.State()
	return c, store.Reconcile(ctx, c.Account, c.ID, micros, by)
}
