package stream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// CloseReason is the reason why a subscription ended.
type CloseReason string

// The reasons.
const (
	CloseSlow     CloseReason = "slow"     // the watcher fell too far behind; it may reconnect
	CloseLost     CloseReason = "lost"     // this process could not follow the log; the watcher may reconnect
	CloseShutdown CloseReason = "shutdown" // the process stops; the watcher may connect to another one
	CloseGone     CloseReason = "gone"     // the watcher itself left
)

// Closed is the error of a subscription that ended.
type Closed struct{ Reason CloseReason }

// Error returns a text with the reason.
func (c *Closed) Error() string { return fmt.Sprintf("subscription closed: %s", c.Reason) }

// Default bounds of one subscription. A burst of events of twenty graphs, each of 200 fast nodes, stays within the count; sixteen
// previews of the largest size reach the bytes.
const (
	defaultQueue      = 16 << 10
	defaultQueueBytes = 16 << 20
)

// HubOptions are the bounds of each subscription.
type HubOptions struct {
	Queue      int // messages, default 16,384
	QueueBytes int // default 16 MiB
}

// Hub passes messages to the subscriptions of an account, in the order in which they are published. Use NewHub to
// create one.
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

// Publish queues messages for every subscription of the account and returns at once. A subscription whose queue is
// full loses the messages that later ones replace; if the others are too many, it is closed as slow.
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

// Watched returns the number of subscriptions of the account.
func (h *Hub) Watched(account string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.accounts[account])
}

// Accounts returns the accounts with subscriptions, sorted.
func (h *Hub) Accounts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.accounts))
}

// Changed holds a token when Accounts may have changed since the channel was last drained. It is meant for one
// reader.
func (h *Hub) Changed() <-chan struct{} { return h.changed }

// signal marks the set of watched accounts as changed. The caller must hold mu.
func (h *Hub) signal() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// Cut closes every subscription of an account with the reason.
func (h *Hub) Cut(account string, reason CloseReason) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.accounts[account] {
		s.end(reason)
	}
	delete(h.accounts, account)
	h.signal()
}

// Stop closes every subscription, and every later one, with CloseShutdown.
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

// remove removes s. The caller must hold mu.
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
	ready   chan struct{} // holds a token while messages are queued or the subscription has ended

	mu     sync.Mutex // guards the fields below
	queue  []*Message
	bytes  int
	closed *Closed
}

// Next waits for messages and returns all queued ones, oldest first. The error is a *Closed after the subscription
// has ended, or the context's.
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

// Ready holds a token when Take may return messages or an error. A token may be left over.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Take is Next without waiting. It returns nil if no message is queued.
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
		s.bytes += m.Size()
	}
	s.queue = append(s.queue, messages...)
	if s.full() {
		s.thin()
	}
	if s.full() {
		s.endLocked(CloseSlow)
		return false
	}
	s.signal()
	return true
}

func (s *Subscription) full() bool { return len(s.queue) > s.opts.Queue || s.bytes > s.opts.QueueBytes }

// thin drops the queued messages that a later one of the job replaces, unless they have its last state.
func (s *Subscription) thin() {
	replaced, stated, kept := map[job.ID]bool{}, map[job.ID]bool{}, []*Message{}
	for _, m := range slices.Backward(s.queue) {
		if m.Whole && replaced[m.Job] && (m.State == nil || stated[m.Job]) {
			s.bytes -= m.Size()
			continue
		}
		replaced[m.Job] = replaced[m.Job] || m.Whole
		stated[m.Job] = stated[m.Job] || m.State != nil
		kept = append(kept, m)
	}
	slices.Reverse(kept)
	s.queue = kept
}

func (s *Subscription) end(reason CloseReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(reason)
}

// endLocked drops the queued messages: a watcher whose subscription ended must read the state again anyway.
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
