package operate

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
)

// Now returns the time of the database's clock, which also stamps events.
func Now(ctx context.Context, pool *postgres.Pool) (time.Time, error) {
	return operatestore.New(pool).Now(ctx)
}

// AccountNames maps ids of accounts to their names.
func AccountNames(ctx context.Context, pool *postgres.Pool) (map[string]string, error) {
	all, err := accountstore.New(pool).Accounts(ctx)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(all))
	for _, a := range all {
		names[a.ID] = a.Name
	}
	return names, nil
}

// AccountNamed returns the id of the account with that name or id. For "" it returns "".
func AccountNamed(text string, names map[string]string) (string, error) {
	if text == "" {
		return "", nil
	}
	if _, ok := names[text]; ok {
		return text, nil
	}
	for id, name := range names {
		if name == text {
			return id, nil
		}
	}
	return "", fault.New(fault.Invalid, fault.CodeInvalidRequest, "account %q does not exist; see `millrace accounts list`",
		terminal.Clean(text))
}

// Selected returns the id of the account that a listing selects by its name or id, "" = all, and the names of all
// accounts by their ids.
func Selected(ctx context.Context, pool *postgres.Pool, text string) (id string, names map[string]string, err error) {
	if names, err = AccountNames(ctx, pool); err != nil {
		return "", nil, err
	}
	id, err = AccountNamed(text, names)
	return id, names, err
}

// ParseSince parses a duration before now or a time. "" is the zero time.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	return ParseTime("--since", text, now)
}

// ParseTime parses a duration before now or a time. what names the parameter in errors.
func ParseTime(what, text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	p, err := inspect.ParsePoint(text)
	if err != nil || p.Version > 0 {
		return time.Time{}, fault.New(fault.Invalid, fault.CodeInvalidRequest,
			"%s takes a duration such as 24h or a time such as 2026-01-02T15:04:05Z, not %q", what, terminal.Clean(text))
	}
	return p.Time, nil
}

// Account returns the account with that id, or else with that name. Ids come first, so that no account can be named
// after the id of another.
func Account(ctx context.Context, pool *postgres.Pool, text string) (account.Account, error) {
	unknown := fault.New(fault.NotFound, fault.CodeAccountNotFound, "account %q does not exist; see `millrace accounts list`",
		terminal.Clean(text))
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) { // PostgreSQL cannot store such text
		return account.Account{}, unknown
	}
	accounts := accountstore.New(pool)
	a, err := accounts.Account(ctx, text)
	if fault.Is(err, fault.NotFound) {
		a, err = accounts.AccountByName(ctx, text)
	}
	if fault.Is(err, fault.NotFound) {
		return account.Account{}, unknown
	}
	return a, err
}
