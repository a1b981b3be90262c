package bucket

import (
	"context"
	"sync"

	"github.com/millrace-dev/millrace/internal/blob"
)

// localLocks are Locks within one process: a blob's first byte picks its lock.
type localLocks struct{ stripes [256]sync.RWMutex }

// NewLocks returns locks for a bucket that only this process writes to.
func NewLocks() Locks { return &localLocks{} }

// Shared implements Locks.
func (l *localLocks) Shared(_ context.Context, ref blob.Ref, fn func() error) error {
	m := &l.stripes[ref[0]]
	m.RLock()
	defer m.RUnlock()
	return fn()
}

// Exclusive implements Locks.
func (l *localLocks) Exclusive(_ context.Context, ref blob.Ref, fn func() error) error {
	m := &l.stripes[ref[0]]
	m.Lock()
	defer m.Unlock()
	return fn()
}
