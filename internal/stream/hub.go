package stream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// CloseReason says why a subscription ended.
type CloseReason string

// The reasons.
const (
	CloseSlow     CloseReason = "slow"     // the watcher fell too far behind; it may come back
	CloseLost     CloseReason = "lost"     // this process could not follow; the watcher may come back
	CloseShutdown CloseReason = "shutdown" // the process stops; another one will serve
	CloseGone     CloseReason = "gone"     // the watcher itself left
)

// Closed is the error of a subscription that ended.
type Closed struct{ Reason CloseReason }

// Error names the reason.
func (c *Closed) Error() string { return fmt.Sprintf("subscription closed: %s", c.Reason) }

// Default bounds of one subscription. Twenty messages a second fill the count in
// most of a minute; sixteen previews of the largest size fill the bytes.
const (
	defaultQueue      = 1024
	defaultQueueBytes = 16 << 20
)

// HubOptions are the bounds of each subscription.
type HubOptions struct {
	Queue      int // messages, default 1024
	QueueBytes int // default 16 MiB
}

// Hub hands messages to the subscriptions of an account, in the order in which they
// are published. The zero value is not usable; see NewHub.
type Hub struct {
	opts    HubOptions
	changed chan struct{} // holds a token when the set of watched accounts may have changed

	mu       sync.Mutex // guards the fields below
	accounts map[string]map[*Subscription]struct{}
	stopped  bool
}

// NewHub returns an empty hub.
func NewHub(opts HubOptions) *Hub {
	if opts.Queue <= 0 {
		opts.Queue = defaultQueue
	}
	if opts.QueueBytes <= 0 {
		opts.QueueBytes = defaultQueueBytes
	}
	return &Hub{opts: opts, changed: make(chan struct{}, 1), accounts: map[string]map[*Subscription]struct{}{}}
}

// Subscribe returns a new subscription to an account. Its owner must Close it.
func (h *Hub) Subscribe(account string) *Subscription {
	s := &Subscription{hub: h, account: account, opts: h.opts, ready: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		s.end(CloseShutdown)
		return s
	}
	if h.accounts[account] == nil {
		h.accounts[account] = map[*Subscription]struct{}{}
		h.signal()
	}
	h.accounts[account][s] = struct{}{}
	return s
}

// Publish queues messages for every subscription of the account and returns at once.
// A subscription without room for them is closed as slow.
func (h *Hub) Publish(account string, messages ...*Message) {
	if len(messages) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.accounts[account] {
		if !s.push(messages) {
			h.remove(s)
		}
	}
}

// Watched returns how many subscriptions the account has.
func (h *Hub) Watched(account string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.accounts[account])
}

// Accounts returns the accounts that are watched, sorted.
func (h *Hub) Accounts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.accounts))
}

// Changed holds a token when Accounts may have changed since it was last drained. It is
// meant for one reader.
func (h *Hub) Changed() <-chan struct{} { return h.changed }

// signal says that the set of watched accounts changed; the caller holds mu.
func (h *Hub) signal() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// Cut closes every subscription of an account for the reason.
func (h *Hub) Cut(account string, reason CloseReason) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.accounts[account] {
		s.end(reason)
	}
	delete(h.accounts, account)
	h.signal()
}

// Stop closes every subscription, and those still to come, with CloseShutdown.
func (h *Hub) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	for _, subs := range h.accounts {
		for s := range subs {
			s.end(CloseShutdown)
		}
	}
	clear(h.accounts)
}

// remove forgets s; the caller holds mu.
func (h *Hub) remove(s *Subscription) {
	subs := h.accounts[s.account]
	delete(subs, s)
	if subs != nil && len(subs) == 0 {
		delete(h.accounts, s.account)
		h.signal()
	}
}

// Subscription is one watcher's bounded queue.
type Subscription struct {
	hub     *Hub
	account string
	opts    HubOptions
	ready   chan struct{} // holds a token while there is something to see

	mu     sync.Mutex // guards the fields below
	queue  []*Message
	bytes  int
	closed *Closed
}

// Next waits for messages and returns all that are queued, oldest first. The error is
// a *Closed once the subscription ended, or the context's.
func (s *Subscription) Next(ctx context.Context) ([]*Message, error) {
	for {
		if queue, err := s.Take(); len(queue) > 0 || err != nil {
			return queue, err
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Ready holds a token when Take may have something to return; it may also be a false alarm.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Take is Next without waiting: nothing queued is no error.
func (s *Subscription) Take() ([]*Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return nil, s.closed
	}
	queue := s.queue
	s.queue, s.bytes = nil, 0
	return queue, nil
}

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	s.hub.remove(s)
	s.hub.mu.Unlock()
	s.end(CloseGone)
}

func (s *Subscription) push(messages []*Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		s.bytes += m.size()
	}
	if len(s.queue)+len(messages) > s.opts.Queue || s.bytes > s.opts.QueueBytes {
		s.endLocked(CloseSlow)
		return false
	}
	s.queue = append(s.queue, messages...)
	s.signal()
	return true
}

func (s *Subscription) end(reason CloseReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(reason)
}

// endLocked drops what is queued: a watcher that was cut off must look again anyway.
func (s *Subscription) endLocked(reason CloseReason) {
	if s.closed == nil {
		s.closed, s.queue = &Closed{Reason: reason}, nil
		s.signal()
	}
}

func (s *Subscription) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}
