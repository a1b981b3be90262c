package export

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Store runs the transactions of clients' exports. Every method is limited to the given account.
type Store interface {
	// Create records an export and the intent to start it, or returns an equal unfinished export. Too many unfinished
	// exports of the account are Exhausted.
	Create(ctx context.Context, account string, id task.ID, requested RequestedV1, requestID string) (Export, error)
	// Get returns an export of the account. An unknown export and an export of another account are NotFound.
	Get(ctx context.Context, account string, id task.ID) (Export, error)
}

// Storage checks the storage limits of accounts.
type Storage interface {
	// Fits fails unless the account may store that many more bytes.
	Fits(ctx context.Context, account string, bytes int64) error
}

// Service accepts exports.
type Service struct {
	Store   Store
	Chooser Chooser
	Storage Storage          // nil = no limit
	Now     func() time.Time // nil = time.Now
}

// Create accepts an export of the files that the request selects. It refuses a request without files, beyond the
// limits of an archive, or beyond the storage limit of the account.
func (s Service) Create(ctx context.Context, account string, r Request, requestID string) (Export, error) {
	r, err := r.Normalize()
	if err != nil {
		return Export{}, err
	}
	choice, err := s.Chooser.Choose(ctx, account, r)
	if err != nil {
		return Export{}, err
	}
	if s.Storage != nil {
		if err := s.Storage.Fits(ctx, account, choice.Bytes); err != nil {
			return Export{}, err
		}
	}
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	id := task.NewID()
	requested := RequestedV1{Name: nameOf(id, now()), Request: r, Files: choice.Total(), Bytes: choice.Bytes}
	return s.Store.Create(ctx, account, id, requested, requestID)
}

// Get returns an export of the account, or NotFound.
func (s Service) Get(ctx context.Context, account string, id task.ID) (Export, error) {
	return s.Store.Get(ctx, account, id)
}

// Named returns the export of the account whose archive has a name.
func (s Service) Named(ctx context.Context, account, name string) (Export, error) {
	absent := fault.New(fault.NotFound, fault.CodeNotFound, "there is no such export")
	id, ok := IDOfName(name)
	if !ok {
		return Export{}, absent
	}
	e, err := s.Store.Get(ctx, account, id)
	if err == nil && e.Requested.Name != name {
		err = absent
	}
	return e, err
}
