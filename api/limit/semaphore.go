package limit

import (
	"context"
	"slices"
	"sync"
)

// Semaphore is a fair semaphore: it bounds how many pieces of heavy work run at the same time. Waiting accounts are
// served in turn, so that an account with many requests delays another one by one piece of work. The share of an
// account leaves slots to others while its work takes long.
type Semaphore struct {
	share int // slots that one account may use

	mu      sync.Mutex // guards all below
	free    int
	used    map[string]int             // slots by account
	waiting map[string][]chan struct{} // by account, oldest first
	turn    []string                   // accounts that wait, in turn
}

// NewSemaphore returns a semaphore with that many slots, of which an account may use its share.
func NewSemaphore(slots, share int) *Semaphore {
	return &Semaphore{share: share, free: slots, used: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// Acquire waits for a slot. The caller must call release. Acquire fails if ctx ends first.
func (s *Semaphore) Acquire(ctx context.Context, account string) (release func(), err error) {
	release = func() { s.release(account) }
	granted := s.enter(account)
	if granted == nil {
		return release, nil
	}
	select {
	case <-granted:
		return release, nil
	case <-ctx.Done():
		if !s.stopWaiting(account, granted) { // the slot was granted meanwhile
			release()
		}
		return nil, ctx.Err()
	}
}

// Waiting returns the number of callers that wait for a slot.
func (s *Semaphore) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, w := range s.waiting {
		n += len(w)
	}
	return n
}

// WaitingOf returns the number of callers of the account that wait for a slot.
func (s *Semaphore) WaitingOf(account string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting[account])
}

// enter takes a free slot, or returns a channel that is closed when the account gets one.
func (s *Semaphore) enter(account string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mayHave(account) {
		s.grant(account)
		return nil
	}
	granted := make(chan struct{})
	if len(s.waiting[account]) == 0 {
		s.turn = append(s.turn, account)
	}
	s.waiting[account] = append(s.waiting[account], granted)
	return granted
}

// mayHave reports whether a slot is free for the account.
func (s *Semaphore) mayHave(account string) bool { return s.free > 0 && s.used[account] < s.share }

func (s *Semaphore) grant(account string) {
	s.free--
	s.used[account]++
}

// stopWaiting stops waiting. It returns false if the slot was granted already.
func (s *Semaphore) stopWaiting(account string, granted chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting[account], granted)
	if i < 0 {
		return false
	}
	s.waiting[account] = slices.Delete(s.waiting[account], i, i+1)
	if len(s.waiting[account]) == 0 {
		delete(s.waiting, account)
		s.turn = slices.DeleteFunc(s.turn, func(a string) bool { return a == account })
	}
	return true
}

// release frees a slot of the account and grants it to the next account that may have it.
func (s *Semaphore) release(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.used[account]--; s.used[account] == 0 {
		delete(s.used, account)
	}
	i := slices.IndexFunc(s.turn, s.mayHave)
	if i < 0 {
		return
	}
	account = s.turn[i]
	s.turn = slices.Delete(s.turn, i, i+1)
	s.grant(account)
	close(s.waiting[account][0])
	if s.waiting[account] = s.waiting[account][1:]; len(s.waiting[account]) > 0 {
		s.turn = append(s.turn, account)
	} else {
		delete(s.waiting, account)
	}
}
