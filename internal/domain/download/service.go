package download

import "context"

// New is a download to record.
type New struct {
	ID        ID
	Account   string
	Request   Request
	RequestID string
}

// Sealer encrypts the URLs of unfinished downloads, each bound to its download.
type Sealer interface {
	Seal(owner, text string) []byte
	Open(owner string, sealed []byte) (string, error)
}

// Store runs the transactions of clients' downloads. Every method is limited to the given account.
type Store interface {
	// Create records a download and the intent to start it, or returns an equal unfinished download. Too many
	// unfinished downloads of the account are Exhausted.
	Create(ctx context.Context, n New) (Download, error)
	// Get returns a download of the account. An unknown download and a download of another account are NotFound.
	Get(ctx context.Context, account string, id ID) (Download, error)
}

// Service accepts downloads.
type Service struct{ Store Store }

// Create accepts a download, or returns an equal unfinished download.
func (s Service) Create(ctx context.Context, account string, r Request, requestID string) (Download, error) {
	return s.Store.Create(ctx, New{ID: NewID(), Account: account, Request: r, RequestID: requestID})
}

// Get returns a download of the account, or NotFound.
func (s Service) Get(ctx context.Context, account string, id ID) (Download, error) {
	return s.Store.Get(ctx, account, id)
}
