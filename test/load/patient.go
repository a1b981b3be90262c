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

// Seen is what a patient client was answered besides what it asked for.
type Seen struct {
	Later  int      // answers that asked it to come again later
	Away   int      // connections that nobody took, or that broke before the answer
	Errors []string // answers of 500 and above that remained
}

// NewPatientClient returns a client of several processes that serve the same. Like a balancer it asks another process when
// one takes no connection, and for as long as its patience lasts it sends again what it is asked to send again, when
// it is asked to.
func NewPatientClient(patience time.Duration, bases ...string) *Client {
	return &Client{http: &http.Client{Timeout: 30 * time.Second}, patience: patience, bases: bases}
}

// Seen returns what the client has been answered.
func (c *Client) Seen() Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	seen.Errors = slices.Clone(seen.Errors)
	return seen
}

// betweenAttempts is the pause before another process is asked.
const betweenAttempts = 100 * time.Millisecond

// waits waits as long as an answer asks, and reports whether to send the request again.
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

// note counts an answer that the client takes as the last one.
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

// leave asks another process from now on, if base is still the one that is asked.
func (c *Client) leave(base string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bases[0] == base {
		c.bases = append(c.bases[1:len(c.bases):len(c.bases)], base)
	}
}

// retryAfter returns how long an answer asks a client to wait, 0 if it does not.
func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < http.StatusInternalServerError {
		return 0
	}
	return time.Duration(max(seconds, 1)) * time.Second
}
