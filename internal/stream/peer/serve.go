package peer

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/stream"
)

// Path is the path at which Handler must be mounted.
const Path = "/internal/frames"

const (
	streamHeader = "X-Millrace-Stream" // identifies a stream in later changes of its accounts
	maxAccounts  = 1 << 20             // bound of a list of accounts, in bytes
	frameQueue   = 256                 // frames that wait for one peer before the oldest is dropped
)

// Handler serves frames to peers: POST opens a stream for the accounts in the body, and PUT with the stream's id
// replaces its accounts.
func (b *Bus) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !b.authorized(r) {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		var accounts []string
		if json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAccounts)).Decode(&accounts) != nil {
			http.Error(w, "the body must be a JSON list of accounts", http.StatusBadRequest)
			return
		}
		switch r.Method {
		case http.MethodPost:
			b.serve(w, r, accounts)
		case http.MethodPut:
			b.change(w, r.Header.Get(streamHeader), accounts)
		default:
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		}
	})
}

func (b *Bus) change(w http.ResponseWriter, id string, accounts []string) {
	b.mu.Lock()
	o := b.streams[id]
	b.mu.Unlock()
	if o == nil {
		http.Error(w, "no such stream", http.StatusNotFound)
		return
	}
	o.subscribe(accounts)
	w.WriteHeader(http.StatusNoContent)
}

// serve writes frames until the peer leaves or stops reading.
func (b *Bus) serve(w http.ResponseWriter, r *http.Request, accounts []string) {
	o, id := newOutgoing(accounts), uuid.NewString()
	b.add(id, o)
	defer b.drop(id)
	out := http.NewResponseController(w)
	w.Header().Set(streamHeader, id)
	w.Header().Set("Content-Type", "application/octet-stream")
	err := out.SetReadDeadline(time.Time{}) // the body is read; the stream stays open
	if err == nil {
		err = out.Flush()
	}
	for err == nil {
		err = o.forward(r.Context(), w, out)
	}
	b.opts.Log.Debug("a peer left", "error", err)
}

func (b *Bus) add(id string, o *outgoing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams[id] = o
}

func (b *Bus) drop(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.streams, id)
}

// outgoing is one peer's stream.
type outgoing struct {
	frames chan stream.Frame

	mu       sync.Mutex // guards accounts
	accounts map[string]bool
}

func newOutgoing(accounts []string) *outgoing {
	o := &outgoing{frames: make(chan stream.Frame, frameQueue)}
	o.subscribe(accounts)
	return o
}

func (o *outgoing) subscribe(accounts []string) {
	set := make(map[string]bool, len(accounts))
	for _, a := range accounts {
		set[a] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.accounts = set
}

// offer queues a frame of a requested account. A full queue drops its oldest frame. Its callers hold the bus's lock,
// so that there is one sender at a time.
func (o *outgoing) offer(f stream.Frame) {
	o.mu.Lock()
	wanted := o.accounts[f.Account]
	o.mu.Unlock()
	for wanted {
		select {
		case o.frames <- f:
			return
		default:
		}
		select {
		case <-o.frames:
		default:
		}
	}
}

// forward writes the queued frames, or a heartbeat if there are none.
func (o *outgoing) forward(ctx context.Context, w http.ResponseWriter, out *http.ResponseController) error {
	quiet := time.NewTimer(heartbeat)
	defer quiet.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-quiet.C:
		return send(out, func() error { return writeHeartbeat(w) })
	case f := <-o.frames:
		return send(out, func() error { return o.writeQueued(w, f) })
	}
}

func (o *outgoing) writeQueued(w http.ResponseWriter, f stream.Frame) error {
	for {
		if err := writeFrame(w, f); err != nil {
			return err
		}
		select {
		case f = <-o.frames:
		default:
			return nil
		}
	}
}

func send(out *http.ResponseController, write func() error) error {
	if err := out.SetWriteDeadline(time.Now().Add(requestTimeout)); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return out.Flush()
}
