package records

import (
	"context"
	"strings"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
)

// Found is what a text names in all accounts: a job, a call, an asset or an account.
type Found struct {
	Noun    string // job, call, asset or account
	ID      string // of a job, the public one
	Account string // that owns it; of an account, its id
}

// Index finds what a text names.
type Index struct{ Pool *postgres.Pool }

// Account returns the account with that id or name.
func (x Index) Account(ctx context.Context, text string) (account.Account, error) {
	return operate.Account(ctx, x.Pool, text)
}

// Names returns the names of all accounts by their ids.
func (x Index) Names(ctx context.Context) (map[string]string, error) {
	return operate.AccountNames(ctx, x.Pool)
}

// Locate returns the job, call or asset whose id begins with text, or else the account with that id or name. It is
// NotFound if there is none, and Conflict if several ids of one kind begin with text.
func (x Index) Locate(ctx context.Context, text string) (Found, error) {
	for _, noun := range []string{"job", "call", "asset"} {
		stream, err := FindStream(ctx, x.Pool, noun, text)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return Found{}, err
		}
		return x.found(ctx, noun, stream)
	}
	a, err := x.Account(ctx, text)
	if fault.Is(err, fault.NotFound) {
		return Found{}, fault.New(fault.NotFound, fault.CodeNotFound,
			"no job, call, file or account has the id or name %q", terminal.Clean(text))
	}
	return Found{Noun: "account", ID: a.ID, Account: a.ID}, err
}

// found returns what the stream of a kind belongs to.
func (x Index) found(ctx context.Context, noun, stream string) (Found, error) {
	f := Found{Noun: noun, ID: strings.TrimPrefix(stream, noun+"-")}
	recorded, err := eventstore.ReadStream(ctx, x.Pool, stream, 0, 1)
	if err != nil || len(recorded) == 0 {
		return f, err
	}
	f.Account = recorded[0].Account
	if noun != "job" {
		return f, nil
	}
	id, err := job.ParseID(f.ID)
	if err != nil {
		return f, err
	}
	public, err := operatestore.New(x.Pool).PublicIDs(ctx, []job.ID{id})
	if chosen, ok := public[id]; ok {
		f.ID = string(chosen)
	}
	return f, err
}
