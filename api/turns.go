package api

import (
	"context"
	"slices"
	"sync"
)

// turns bounds how many pieces of heavy work run at once. Accounts that wait take turns, so that one with
// many requests delays another by one piece of work and not by all of its own; where a piece takes long, each
// has a share that leaves places to others.
type turns struct {
	share int // places that one account may have

	mu      sync.Mutex // guards all below
	free    int
	held    map[string]int             // places by account
	waiting map[string][]chan struct{} // by account, oldest first
	next    []string                   // accounts that wait, in turn
}

// newTurns returns that many places, of which an account may have its share.
func newTurns(places, share int) *turns {
	return &turns{share: share, free: places, held: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// take waits for a place, which release gives back.
func (t *turns) take(ctx context.Context, account string) (release func(), err error) {
	release = func() { t.giveBack(account) }
	mine := t.enter(account)
	if mine == nil {
		return release, nil
	}
	select {
	case <-mine:
		return release, nil
	case <-ctx.Done():
		if !t.leave(account, mine) { // the place was given at this moment
			release()
		}
		return nil, ctx.Err()
	}
}

// enter takes a free place, or returns what will be closed when there is one.
func (t *turns) enter(account string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.due(account) {
		t.give(account)
		return nil
	}
	mine := make(chan struct{})
	if len(t.waiting[account]) == 0 {
		t.next = append(t.next, account)
	}
	t.waiting[account] = append(t.waiting[account], mine)
	return mine
}

// due reports whether a place is free that the account may have.
func (t *turns) due(account string) bool { return t.free > 0 && t.held[account] < t.share }

func (t *turns) give(account string) {
	t.free--
	t.held[account]++
}

// leave stops waiting; false when the place is given already.
func (t *turns) leave(account string, mine chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting[account], mine)
	if i < 0 {
		return false
	}
	t.waiting[account] = slices.Delete(t.waiting[account], i, i+1)
	if len(t.waiting[account]) == 0 {
		delete(t.waiting, account)
		t.next = slices.DeleteFunc(t.next, func(a string) bool { return a == account })
	}
	return true
}

// giveBack frees a place of the account and gives it to who is next and may have it.
func (t *turns) giveBack(account string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free++
	if t.held[account]--; t.held[account] == 0 {
		delete(t.held, account)
	}
	i := slices.IndexFunc(t.next, t.due)
	if i < 0 {
		return
	}
	account = t.next[i]
	t.next = slices.Delete(t.next, i, i+1)
	t.give(account)
	close(t.waiting[account][0])
	if t.waiting[account] = t.waiting[account][1:]; len(t.waiting[account]) > 0 {
		t.next = append(t.next, account)
	} else {
		delete(t.waiting, account)
	}
}
