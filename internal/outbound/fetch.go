package outbound

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Bounds limit one answer. Zero means the default.
type Bounds struct {
	Bytes int64         // default 1 GiB
	Total time.Duration // from the request to the last byte; default 10 min
	Stall time.Duration // longest time without a byte; default 30 s
}

// Defaults of Bounds. A film of a few minutes from a slow provider fits.
const (
	defaultBytes = 1 << 30
	defaultTotal = 10 * time.Minute
	defaultStall = 30 * time.Second
)

// ErrTooLarge reports an answer above its bound.
var ErrTooLarge = errors.New("the answer is larger than allowed")

// ErrTruncated reports an answer that ended before its declared length.
var ErrTruncated = errors.New("the answer ended before its declared length")

// Content is a fetched answer. Reading it past a bound, or to an end that its declared length
// contradicts, is an error.
type Content struct {
	io.ReadCloser
	ContentType string
	Size        int64 // the declared size; -1 = unknown
}

// Fetch downloads the content of an address. It follows at most five redirects, each checked like the
// first address, and sends no credential. Failures are fault errors: Denied (CodeAddress) for an address
// that may not be reached, Exhausted for content that is too large, Unavailable for the rest. Their
// texts never contain the address.
func (c *Client) Fetch(ctx context.Context, address string, b Bounds, allow []string) (*Content, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fault.New(fault.Denied, fault.CodeAddressNotAllowed,
			"the address cannot be fetched: it is not a URL with a host and without credentials")
	}
	b = b.filled()
	ctx, watch := Watch(ctx, b.Total, b.Stall)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		watch.Stop()
		return nil, fault.New(fault.Denied, fault.CodeAddressNotAllowed,
			"the address cannot be fetched: it is not a URL with a host and without credentials")
	}
	resp, err := c.follow(allow).Do(req)
	if err != nil {
		watch.Stop()
		return nil, classified(watch.Cause(withoutAddress(err)))
	}
	if problem := unusable(resp, b); problem != nil {
		resp.Body.Close() // the answer is refused
		watch.Stop()
		return nil, problem
	}
	return &Content{
		ReadCloser:  &bounded{body: resp.Body, watch: watch, left: b.Bytes, declared: resp.ContentLength},
		ContentType: resp.Header.Get("Content-Type"), Size: resp.ContentLength,
	}, nil
}

func (b Bounds) filled() Bounds {
	b.Bytes = cmp.Or(b.Bytes, defaultBytes)
	b.Total = cmp.Or(b.Total, defaultTotal)
	b.Stall = cmp.Or(b.Stall, defaultStall)
	return b
}

func unusable(resp *http.Response, b Bounds) error {
	switch {
	case resp.StatusCode != http.StatusOK:
		return statusFault(resp.StatusCode)
	case resp.ContentLength > b.Bytes:
		return fault.Wrap(ErrTooLarge, fault.Exhausted, fault.CodeFetchTooLarge, "the answer has more than %d bytes", b.Bytes)
	default:
		return nil
	}
}

func classified(err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	return fault.Wrap(err, fault.Unavailable, fault.CodeFetchFailed, "the address cannot be fetched")
}

// bounded is the body of an answer, under its bounds.
type bounded struct {
	body     io.ReadCloser
	watch    *Watcher
	left     int64
	read     int64
	declared int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.body.Read(p)
	b.watch.Progress()
	b.left, b.read = b.left-int64(n), b.read+int64(n)
	switch {
	case b.left < 0:
		return n, fault.Wrap(ErrTooLarge, fault.Exhausted, fault.CodeFetchTooLarge, "the answer is larger than allowed")
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF) && b.declared >= 0 && b.read < b.declared, errors.Is(err, io.ErrUnexpectedEOF):
		return n, fault.Wrap(ErrTruncated, fault.Unavailable, fault.CodeFetchTruncated, "the answer ended early")
	case errors.Is(err, io.EOF):
		return n, io.EOF
	default:
		return n, classified(b.watch.Cause(err))
	}
}

// Close implements io.Closer.
func (b *bounded) Close() error {
	b.watch.Stop()
	return b.body.Close()
}

// Causes of a Watcher.
var (
	ErrStalled = errors.New("no byte arrived for too long")
	ErrSlow    = errors.New("the answer took too long")
)

// Watcher cancels an exchange that takes too long or makes no progress. Stop releases it.
type Watcher struct {
	ctx    context.Context //nolint:containedctx // lives for one call
	cancel context.CancelCauseFunc
	stall  time.Duration
	mu     sync.Mutex
	still  *time.Timer // guarded by mu
	total  *time.Timer
}

// Watch returns a context that ends after total, or after stall without Progress.
func Watch(ctx context.Context, total, stall time.Duration) (context.Context, *Watcher) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &Watcher{
		ctx: ctx, cancel: cancel, stall: stall,
		still: time.AfterFunc(stall, func() { cancel(ErrStalled) }),
		total: time.AfterFunc(total, func() { cancel(ErrSlow) }),
	}
}

// Progress resets the stall timer; callers call it when data arrives.
func (w *Watcher) Progress() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() == nil {
		w.still.Reset(w.stall)
	}
}

// Cause returns the watcher's reason if the watcher canceled the exchange, otherwise err.
func (w *Watcher) Cause(err error) error {
	if cause := context.Cause(w.ctx); errors.Is(cause, ErrStalled) || errors.Is(cause, ErrSlow) {
		return cause
	}
	return err
}

// Stop ends the watch and its context.
func (w *Watcher) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.still.Stop()
	w.total.Stop()
	w.cancel(context.Canceled)
}
