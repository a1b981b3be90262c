package bucket

import (
	"context"
	"sync"

	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// localLocks implements Locks within one process. The first byte of a Ref selects the lock.
type localLocks struct{ stripes [256]sync.RWMutex }

// NewLocks returns locks for a bucket that only this process writes to.
func NewLocks() Locks { return &localLocks{} }

// Shared implements Locks.
func (l *localLocks) Shared(ctx context.Context, ref blob.Ref, fn func(context.Context) error) error {
	m := &l.stripes[ref[0]]
	m.RLock()
	defer m.RUnlock()
	return fn(ctx)
}

// Exclusive implements Locks.
func (l *localLocks) Exclusive(ctx context.Context, ref blob.Ref, fn func(context.Context) error) error {
	m := &l.stripes[ref[0]]
	m.Lock()
	defer m.Unlock()
	return fn(ctx)
}
