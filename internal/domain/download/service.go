package download

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// New is a download to record.
type New struct {
	ID        ID
	Account   string
	Request   Request
	RequestID string
}

// Sealer encrypts the addresses of downloads that are under way, each for its own download.
type Sealer interface {
	Seal(owner, text string) []byte
	Open(owner string, sealed []byte) (string, error)
}

// Store carries out the transactions of downloads that clients ask for. All are scoped to the account.
type Store interface {
	// Create records a download and the intent to begin it, or returns the unfinished one that is the same. An
	// account with too many unfinished ones is Exhausted.
	Create(ctx context.Context, n New) (Download, []outbox.Intent, error)
	// Get returns a download of the account. Another's and an unknown one are NotFound.
	Get(ctx context.Context, account string, id ID) (Download, error)
}

// Service accepts downloads.
type Service struct {
	Store  Store
	Notify func([]outbox.Intent) // wakes the relay for intents that are due now
}

// Create accepts a download, or returns the one under way that is the same.
func (s Service) Create(ctx context.Context, account string, r Request, requestID string) (Download, error) {
	made, intents, err := s.Store.Create(ctx, New{ID: NewID(), Account: account, Request: r, RequestID: requestID})
	if err != nil {
		return Download{}, err
	}
	s.Notify(intents)
	return made, nil
}

// Get returns a download of the account, or NotFound.
func (s Service) Get(ctx context.Context, account string, id ID) (Download, error) {
	return s.Store.Get(ctx, account, id)
}
