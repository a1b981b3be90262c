package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/call"
)

// bodies bounds the memory that the inputs of models take while they are read and checked, over all
// requests of this process. What is stored is no longer counted: calls that wait for their provider hold
// none. Room is taken as bytes arrive and not as they are announced, so a header alone reserves nothing.
type bodies struct {
	share int64         // that one account may have
	wait  time.Duration // for room, before a request is turned away

	mu    sync.Mutex // guards all below
	free  int64
	held  map[string]int64 // by account
	freed chan struct{}    // closed, and made anew, when room comes back
}

// waitForRoom is how long a request waits for room: others are read and stored within milliseconds.
const waitForRoom = 2 * time.Second

// newBodies returns a bound of that many bytes; one account may have half of it, so that no client who
// sends slowly keeps everybody out.
func newBodies(total int64) *bodies {
	return &bodies{share: total / 2, wait: waitForRoom, free: total, held: map[string]int64{}, freed: make(chan struct{})}
}

// lease is the room of one request.
type lease struct {
	bodies  *bodies
	account string
	size    int64 // bytes taken
}

func (b *bodies) lease(account string) *lease { return &lease{bodies: b, account: account} }

// take waits for room for n more bytes. Where the account's own requests have its share, it is told to
// finish some; where the process has no room, to come back.
func (l *lease) take(ctx context.Context, n int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.bodies.wait, errNoRoom)
	defer cancel()
	for {
		freed, own := l.try(n)
		if freed == nil {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), errNoRoom) {
				return context.Cause(ctx)
			}
			return noRoom(own)
		}
	}
}

var errNoRoom = errors.New("no room for the body of a request")

// try takes n bytes, or returns what is closed when there may be room, and whether the account's own
// share is what is used up.
func (l *lease) try(n int64) (freed <-chan struct{}, own bool) {
	b := l.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	if own = b.held[l.account]+n > b.share; own || n > b.free {
		return b.freed, own
	}
	b.free -= n
	b.held[l.account] += n
	l.size += n
	return nil, false
}

func noRoom(own bool) error {
	if own {
		return call.Refuse(http.StatusTooManyRequests, call.ConcurrencyLimit, "the inputs of the account's calls that are being read are as large as they may be together; try again when one has been taken")
	}
	r := call.Refuse(http.StatusServiceUnavailable, call.ServiceUnavailable, "the service has no room for this input now; send the same request again")
	r.RetryAfter = 1
	return r
}

// give returns n bytes.
func (l *lease) give(n int64) {
	if n == 0 {
		return
	}
	b := l.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	l.size -= n
	b.free += n
	if b.held[l.account] -= n; b.held[l.account] == 0 {
		delete(b.held, l.account)
	}
	close(b.freed)
	b.freed = make(chan struct{})
}

// release returns all of it; a second time there is nothing to return.
func (l *lease) release() { l.give(l.size) }

// firstRoom is what is taken before anything has been read, in bytes: most inputs are smaller.
const firstRoom = 16 << 10

// nextRoom is the size of the buffer behind one of had bytes: twice as much, or the most at once where that
// is near. Old and new together are never more than 1.75 times the most.
func nextRoom(had, most int64) int64 {
	want := max(firstRoom, 2*had)
	if want > most/4*3 {
		want = most
	}
	return max(want, had+1)
}

// read reads r to its end. declared is the length that was announced, negative when none was; limit is the
// most that r gives. The room for a larger buffer is taken before it is made, that of the smaller one
// returned behind it.
func (l *lease) read(ctx context.Context, r io.Reader, declared, limit int64) ([]byte, error) {
	most := limit + 1 // one more than there can be, to see the end
	if declared >= 0 {
		most = min(most, declared+1)
	}
	var body []byte
	for {
		if had := int64(cap(body)); int64(len(body)) == had {
			want := nextRoom(had, most)
			if err := l.take(ctx, want); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, want), body...)
			l.give(had)
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
