// Package peer is the stream.Bus between processes. Each process that makes frames serves them over HTTP to its
// peers; each process with watchers requests the frames of its watched accounts from every peer. It keeps the
// promises of stream.Bus, and sends no frame to a client without the shared secret. A Directory finds the peers.
package peer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/stream"
)

// Replica is a process that serves frames.
type Replica struct {
	ID  string
	URL string // of its internal listener, such as http://10.0.0.3:8189
}

// Directory lists the processes that serve frames.
type Directory interface {
	// Announce says that this process lives and serves, and returns what Peers would. It is repeated.
	Announce(ctx context.Context, self Replica) ([]Replica, error)
	// Peers returns the processes that announced themselves lately, this one included.
	Peers(ctx context.Context) ([]Replica, error)
	// Deregister removes this process from the directory.
	Deregister(ctx context.Context, self Replica) error
}

// Options tune a Bus. Zero times have defaults.
type Options struct {
	Self     Replica       // if it has a URL, this process announces itself
	Secret   string        // shared by all processes; required
	Interest *stream.Hub   // whose accounts' frames this process needs; nil = this process has no watchers and connects to no peer
	Refresh  time.Duration // interval of reading the directory, default 3 s
	Log      *slog.Logger
}

// Times of a stream between two processes.
const (
	defaultRefresh = 3 * time.Second
	heartbeat      = 5 * time.Second  // between two heartbeats on a quiet stream
	silenceTimeout = 15 * time.Second // after this silence a peer is disconnected
	requestTimeout = 10 * time.Second // bound of one write or one request
)

// Bus is a stream.Bus over several processes.
type Bus struct {
	local     *stream.Local // delivers every frame within this process
	directory Directory
	opts      Options
	client    *http.Client

	mu      sync.Mutex // guards streams
	streams map[string]*outgoing
}

var _ stream.Bus = (*Bus)(nil)

// New returns a bus. Run connects it; Handler serves it.
func New(directory Directory, opts Options) (*Bus, error) {
	if opts.Secret == "" || opts.Self.ID == "" {
		return nil, errors.New("a bus between processes needs an id and a shared secret")
	}
	if opts.Refresh <= 0 {
		opts.Refresh = defaultRefresh
	}
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	return &Bus{
		local: stream.NewLocal(), directory: directory, opts: opts,
		client: &http.Client{}, streams: map[string]*outgoing{},
	}, nil
}

// Publish implements stream.Bus: it delivers to this process and to the peers that requested the account.
func (b *Bus) Publish(ctx context.Context, f stream.Frame) error {
	if err := b.local.Publish(ctx, f); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.streams {
		o.offer(f)
	}
	return nil
}

// Receive implements stream.Bus.
func (b *Bus) Receive(ctx context.Context, handle func(stream.Frame)) error {
	return b.local.Receive(ctx, handle)
}

func (b *Bus) authorized(r *http.Request) bool {
	sum := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	want := sha256.Sum256([]byte(bearer(b.opts.Secret)))
	return subtle.ConstantTimeCompare(sum[:], want[:]) == 1
}

func bearer(secret string) string { return "Bearer " + secret }
