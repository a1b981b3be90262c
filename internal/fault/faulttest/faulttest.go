// Package faulttest makes one call of a group of dependencies fail. Tests repeat an action and let its first call fail, then its second,
// until all succeed.
package faulttest

import (
	"slices"
	"sync"

	"github.com/millrace-dev/millrace/internal/fault"
)

// ErrAway is the error of a call that fails.
var ErrAway = fault.New(fault.Unavailable, "", "the store is away")

// Calls counts the calls of the dependencies that share it, and makes one of them fail. Goroutines may use it at once.
type Calls struct {
	Fail  int  // number of the call that fails, from 1; 0 = none
	After bool // it fails after it has done its work, as when its answer is lost

	mu    sync.Mutex // guards names
	names []string
}

// Each yields calls of which the first fails, then the second, until none does, and then the same of calls that fail after their work.
func Each(yield func(*Calls) bool) {
	for _, after := range []bool{false, true} {
		for n, failed := 1, true; failed; n++ {
			c := &Calls{Fail: n, After: after}
			if !yield(c) {
				return
			}
			failed = c.Failed()
		}
	}
}

// Reset counts anew. It must not be called while a call is made.
func (c *Calls) Reset(fail int) { c.Fail, c.names = fail, nil }

// Fails counts a call and reports whether it must fail.
func (c *Calls) Fails(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = append(c.names, name)
	return len(c.names) == c.Fail
}

// Made returns the names of the calls so far, in order.
func (c *Calls) Made() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.names)
}

// Failed reports whether the call that fails was made.
func (c *Calls) Failed() bool { return c.Fail > 0 && len(c.Made()) >= c.Fail }

// Try makes a call, or fails if it is its turn. A call that fails has no result.
func Try[T any](c *Calls, name string, call func() (T, error)) (result T, err error) {
	fails := c.Fails(name)
	if !fails || c.After {
		result, err = call()
	}
	if fails && err == nil {
		return *new(T), ErrAway
	}
	return result, err
}

// Do is Try for a call that has no result.
func (c *Calls) Do(name string, call func() error) error {
	_, err := Try(c, name, func() (any, error) { return nil, call() })
	return err
}
