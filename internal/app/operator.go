package app

import (
	"context"
	"os"
	"os/user"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// operator names who runs a command, for the facts that it records: user and machine.
func operator() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return "operator:" + name + "@" + host
}

// eventStore is the log of a command that records facts. Other processes learn of them by their poll.
func eventStore(pool *pgxpool.Pool) (*postgres.EventStore, error) {
	types, err := eventTypes()
	if err != nil {
		return nil, err
	}
	return postgres.NewEventStore(pool, types, nil), nil
}

// findAccount returns the account of that id, or else of that name: an id is never taken for another's name.
func findAccount(ctx context.Context, pool *pgxpool.Pool, text string) (account.Account, error) {
	unknown := fault.New(fault.NotFound, "account_not_found", "there is no account %q; see `millrace accounts list`", inspect.Clean(text))
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) { // no text of the database
		return account.Account{}, unknown
	}
	accounts := postgres.NewAccounts(pool)
	a, err := accounts.Account(ctx, text)
	if fault.Is(err, fault.NotFound) {
		a, err = accounts.AccountByName(ctx, text)
	}
	if fault.Is(err, fault.NotFound) {
		return account.Account{}, unknown
	}
	return a, err
}
