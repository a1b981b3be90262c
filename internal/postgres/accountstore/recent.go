package accountstore

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Recent answers from memory what every model call asks about its account. A change of the account counts as soon as
// See was shown its event, and within recentAge in any case.
type Recent struct {
	store   *Store
	credits *Credits

	mu    sync.Mutex // guards known
	known map[string]recent
}

// recent is what is known of an account.
type recent struct {
	account   account.Account
	unmetered bool // the account has no credit ledger
	until     time.Time
}

const (
	recentAge  = time.Second
	recentMost = 10_000 // accounts known at once; beyond, all are asked for anew
)

// NewRecent returns a Recent of the accounts in pool's database.
func NewRecent(pool *pgxpool.Pool) *Recent {
	return &Recent{store: New(pool), credits: NewCredits(pool, nil), known: map[string]recent{}}
}

// Account returns the account with that id.
func (r *Recent) Account(ctx context.Context, id string) (account.Account, error) {
	k, err := r.of(ctx, id)
	return k.account, err
}

// Funded reports whether the account can pay anything. An account without a ledger need not pay.
func (r *Recent) Funded(ctx context.Context, id string) (bool, error) {
	if k, ok := r.remembered(id); ok && k.unmetered {
		return true, nil
	}
	b, err := r.credits.Balance(ctx, id)
	return b.Covers(), err
}

func (r *Recent) of(ctx context.Context, id string) (recent, error) {
	if k, ok := r.remembered(id); ok {
		return k, nil
	}
	k := recent{until: time.Now().Add(recentAge)} // of the moment before it is read
	var err error
	if k.account, err = r.store.Account(ctx, id); err != nil {
		return k, err
	}
	balance, err := r.credits.Balance(ctx, id)
	if err != nil {
		return k, err
	}
	k.unmetered = !balance.Metered
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= recentMost {
		clear(r.known)
	}
	r.known[id] = k
	return k, nil
}

func (r *Recent) remembered(id string) (recent, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.known[id]
	return k, ok && time.Now().Before(k.until)
}

// See forgets the accounts that events are about.
func (r *Recent) See(events []eventlog.Recorded) {
	for _, rec := range events {
		if rec.Type == credit.TypeGranted || strings.HasPrefix(rec.Type, accountEvents) {
			r.forget(rec.Account)
		}
	}
}

// accountEvents begins the types of the events that change an account.
const accountEvents = "account."

func (r *Recent) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, id)
}
