package api

import (
	"context"
	"slices"
	"sync"
)

// turns bounds how many pieces of heavy work run at once. Accounts that wait take turns, so that one with
// many requests delays another by one piece of work and not by all of its own.
type turns struct {
	mu      sync.Mutex // guards all below
	free    int
	waiting map[string][]chan struct{} // by account, oldest first
	next    []string                   // accounts that wait, in turn
}

func newTurns(places int) *turns { return &turns{free: places, waiting: map[string][]chan struct{}{}} }

// take waits for a place, which release gives back.
func (t *turns) take(ctx context.Context, account string) (release func(), err error) {
	mine := t.enter(account)
	if mine == nil {
		return t.giveBack, nil
	}
	select {
	case <-mine:
		return t.giveBack, nil
	case <-ctx.Done():
		if !t.leave(account, mine) { // the place was given at this moment
			t.giveBack()
		}
		return nil, ctx.Err()
	}
}

// enter takes a free place, or returns what will be closed when there is one.
func (t *turns) enter(account string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free > 0 {
		t.free--
		return nil
	}
	mine := make(chan struct{})
	if len(t.waiting[account]) == 0 {
		t.next = append(t.next, account)
	}
	t.waiting[account] = append(t.waiting[account], mine)
	return mine
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

func (t *turns) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.next) == 0 {
		t.free++
		return
	}
	account := t.next[0]
	t.next = t.next[1:]
	close(t.waiting[account][0])
	if t.waiting[account] = t.waiting[account][1:]; len(t.waiting[account]) > 0 {
		t.next = append(t.next, account)
	} else {
		delete(t.waiting, account)
	}
}
