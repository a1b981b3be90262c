// Package limit bounds the resources of one process that accounts use at the same time: connections and the memory of
// request bodies. It promises that no account keeps the others out. Package load bounds their work, and the stores
// enforce limits across processes, such as the number of running jobs.
package limit

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// Connections bounds the open connections of each account on this process.
type Connections struct {
	limit int

	mu   sync.Mutex // guards open
	open map[string]int
}

// NewConnections returns a bound of limit connections per account.
func NewConnections(limit int) *Connections {
	return &Connections{limit: limit, open: map[string]int{}}
}

// Acquire counts a connection of the account and reports whether it is within the limit. The caller must release an
// acquired connection.
func (c *Connections) Acquire(account string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[account] >= c.limit {
		return false
	}
	c.open[account]++
	return true
}

// Release ends the count of a connection of the account.
func (c *Connections) Release(account string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[account]--; c.open[account] == 0 {
		delete(c.open, account)
	}
}

// The failures of a memory budget.
var (
	// ErrOwnBudget means that the account's own requests use the share of an account.
	ErrOwnBudget = errors.New("the requests of the account use its share of the memory for bodies")
	// ErrBudget means that the requests of all accounts use the whole budget.
	ErrBudget = errors.New("the requests of all accounts use the memory for bodies")
)

// Memory is a memory budget: it bounds the bytes of the bodies that this process reads and checks at the same time.
// Stored bodies do not count: calls that wait for their provider use none of the budget. Bytes are reserved when they
// arrive, not when a header announces them.
type Memory struct {
	share int64         // bytes that one account may use
	wait  time.Duration // for free memory, before a request is refused

	mu    sync.Mutex // guards all below
	free  int64
	used  map[string]int64 // by account
	freed chan struct{}    // closed, and made anew, when memory is freed
}

// budgetWait is how long a request waits for free memory: other bodies are read and stored within milliseconds.
const budgetWait = 2 * time.Second

// NewMemory returns a budget of that many bytes. One account may use half of it, so that a client who sends slowly
// does not keep the others out.
func NewMemory(bytes int64) *Memory {
	return &Memory{share: bytes / 2, wait: budgetWait, free: bytes, used: map[string]int64{}, freed: make(chan struct{})}
}

// Reservation is the part of a budget that one request uses.
type Reservation struct {
	memory  *Memory
	account string
	size    int64 // bytes reserved
}

// Reserve returns an empty reservation for a request of the account. The caller must release it.
func (m *Memory) Reserve(account string) *Reservation {
	return &Reservation{memory: m, account: account}
}

// grow waits until n more bytes are free. It fails with ErrOwnBudget or ErrBudget when the bytes are not free in
// time.
func (r *Reservation) grow(ctx context.Context, n int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.memory.wait, ErrBudget)
	defer cancel()
	for {
		freed, own := r.try(n)
		if freed == nil {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			if own && errors.Is(context.Cause(ctx), ErrBudget) {
				return ErrOwnBudget
			}
			return context.Cause(ctx)
		}
	}
}

// try reserves n bytes, or returns a channel that is closed when memory is freed, and whether the account has used up
// its share.
func (r *Reservation) try(n int64) (freed <-chan struct{}, own bool) {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if own = m.used[r.account]+n > m.share; own || n > m.free {
		return m.freed, own
	}
	m.free -= n
	m.used[r.account] += n
	r.size += n
	return nil, false
}

// shrink frees n bytes.
func (r *Reservation) shrink(n int64) {
	if n == 0 {
		return
	}
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	r.size -= n
	m.free += n
	if m.used[r.account] -= n; m.used[r.account] == 0 {
		delete(m.used, r.account)
	}
	close(m.freed)
	m.freed = make(chan struct{})
}

// Release frees all reserved bytes. Calling it again has no effect.
func (r *Reservation) Release() { r.shrink(r.size) }

// firstBuffer is the number of bytes that are reserved before reading. Most bodies are smaller.
const firstBuffer = 16 << 10

// nextBuffer returns the size of the buffer that replaces a full one of size bytes: twice the size, or most if twice
// the size comes near it. The two buffers together are never larger than 1.75 times most.
func nextBuffer(size, most int64) int64 {
	want := max(firstBuffer, 2*size)
	if want > most/4*3 {
		want = most
	}
	return max(want, size+1)
}

// ReadAll reads from to its end. declared is the announced length, negative if there is none; limit is the most that
// from returns. A larger buffer is reserved before it is allocated, and the smaller one is freed after copying.
func (r *Reservation) ReadAll(ctx context.Context, from io.Reader, declared, limit int64) ([]byte, error) {
	most := limit + 1 // one byte more than the limit, to detect the end
	if declared >= 0 {
		most = min(most, declared+1)
	}
	var body []byte
	for {
		if size := int64(cap(body)); int64(len(body)) == size {
			want := nextBuffer(size, most)
			if err := r.grow(ctx, want); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, want), body...)
			r.shrink(size)
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
