//go:build linux

package load

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Seen counts the answers that a patient client received before the final ones.
type Seen struct {
	Later  int      // answers that asked it to retry later
	Away   int      // connections that were refused, or broke before the answer
	Errors []string // answers of 500 and above that remained
}

// NewPatientClient returns a client of several equivalent processes. Like a load balancer, it tries another process
// when a connection is refused. Within its patience, it repeats requests when an answer asks for it, at the requested
// time.
func NewPatientClient(patience time.Duration, bases ...string) *Client {
	return &Client{http: &http.Client{Timeout: 30 * time.Second}, patience: patience, bases: bases}
}

// Seen returns the counts of the client.
func (c *Client) Seen() Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	seen.Errors = slices.Clone(seen.Errors)
	return seen
}

// betweenAttempts is the pause before another process is tried.
const betweenAttempts = 100 * time.Millisecond

// waits waits for the Retry-After of an answer, and reports whether to repeat the request.
func (c *Client) waits(ctx context.Context, after time.Duration, until time.Time) bool {
	if c.patience == 0 || time.Now().Add(after).After(until) {
		return false
	}
	c.mu.Lock()
	if after > 0 {
		c.seen.Later++
	} else {
		c.seen.Away++
	}
	c.mu.Unlock()
	return Pause(ctx, max(after, betweenAttempts))
}

// note counts an answer that the client accepts as final.
func (c *Client) note(status int, request string, answer []byte) {
	if status < http.StatusInternalServerError {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Errors = append(c.seen.Errors, fmt.Sprintf("%s: %d %s", request, status, answer))
}

func (c *Client) base() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bases[0]
}

// leave switches to another process, if base is still the current one.
func (c *Client) leave(base string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bases[0] == base {
		c.bases = append(c.bases[1:len(c.bases):len(c.bases)], base)
	}
}

// retryAfter returns the Retry-After of an answer, or 0.
func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < http.StatusInternalServerError {
		return 0
	}
	return time.Duration(max(seconds, 1)) * time.Second
}
