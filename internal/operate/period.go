package operate

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// Period selects the events to add up, by account and time.
type Period struct {
	Since   string `name:"since" default:"720h" help:"ended in the last 24h, 720h, …, or after a time (2026-01-02T15:04:05Z)"`
	Account string `name:"account" help:"name or id of an account; default: all"`
}

// Window is a Period as stores know it.
type Window struct {
	Account     string // id; "" = all
	From, Until time.Time
	Names       map[string]string // of accounts, by their ids
}

// Window returns the id of the account and the times of the period.
func (p Period) Window(ctx context.Context, pool *postgres.Pool) (w Window, err error) {
	if w.Account, w.Names, err = Selected(ctx, pool, p.Account); err != nil {
		return w, err
	}
	if w.Until, err = Now(ctx, pool); err != nil {
		return w, err
	}
	w.From, err = ParseSince(p.Since, w.Until)
	return w, err
}
