package peer_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/internal/stream/peer"
	"github.com/millrace-dev/millrace/internal/stream/streamtest"
)

// directory is a list of processes in memory.
type directory struct {
	mu    sync.Mutex
	peers map[string]peer.Replica
}

func newDirectory() *directory { return &directory{peers: map[string]peer.Replica{}} }

func (d *directory) Announce(ctx context.Context, r peer.Replica) ([]peer.Replica, error) {
	d.mu.Lock()
	d.peers[r.ID] = r
	d.mu.Unlock()
	return d.Peers(ctx)
}

func (d *directory) Peers(context.Context) ([]peer.Replica, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []peer.Replica
	for _, p := range d.peers {
		all = append(all, p)
	}
	return all, nil
}

func (d *directory) Deregister(_ context.Context, r peer.Replica) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.peers, r.ID)
	return nil
}

// process starts a bus; one that serves announces itself.
func process(t *testing.T, d *directory, interest *stream.Hub, serves bool) *peer.Bus {
	self := peer.Replica{ID: uuid.NewString()}
	mux := http.NewServeMux()
	if serves {
		server := httptest.NewServer(mux)
		t.Cleanup(server.CloseClientConnections)
		t.Cleanup(server.Close)
		self.URL = server.URL
	}
	bus, err := peer.New(d, peer.Options{Self: self, Secret: "s", Interest: interest, Refresh: 5 * time.Millisecond})
	require.NoError(t, err)
	mux.Handle(peer.Path, bus.Handler())
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	running.Go(func() { _ = bus.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return bus
}

func watching(t *testing.T, accounts ...string) *stream.Hub {
	hub := stream.NewHub(stream.HubOptions{})
	for _, a := range accounts {
		t.Cleanup(hub.Subscribe(a).Close)
	}
	return hub
}

func TestBusBetweenProcesses(t *testing.T) {
	t.Parallel()
	streamtest.Run(t, func(t *testing.T) (stream.Bus, stream.Bus) {
		d := newDirectory()
		return process(t, d, nil, true), process(t, d, watching(t, streamtest.Account), false)
	})
}

func TestBusWithinOneProcess(t *testing.T) {
	t.Parallel()
	streamtest.Run(t, func(t *testing.T) (stream.Bus, stream.Bus) {
		bus := process(t, newDirectory(), watching(t, streamtest.Account), true)
		return bus, bus
	})
}

func text(account, data string) stream.Frame {
	return stream.Frame{Account: account, Job: job.NewID(), Node: "1", Kind: stream.FrameText, Data: []byte(data)}
}

func TestFramesCrossOnlyToPeersThatWatchTheAccount(t *testing.T) {
	t.Parallel()
	d := newDirectory()
	hub := watching(t, "a")
	worker, replica := process(t, d, nil, true), process(t, d, hub, false)
	frames := make(chan stream.Frame, 4096)
	go func() { _ = replica.Receive(t.Context(), func(f stream.Frame) { frames <- f }) }()

	until(t, worker, frames, "a", "b")
	defer hub.Subscribe("b").Close() // from now on b is watched, and says so
	until(t, worker, frames, "b", "")
}

// until publishes for an account until its frames arrive; none of never may.
func until(t *testing.T, from *peer.Bus, frames <-chan stream.Frame, account, never string) {
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	timeout := time.After(2 * time.Minute)
	for {
		select {
		case <-again.C:
			if never != "" {
				require.NoError(t, from.Publish(t.Context(), text(never, "x")))
			}
			require.NoError(t, from.Publish(t.Context(), text(account, "x")))
		case f := <-frames:
			require.NotEqual(t, never, f.Account)
			if f.Account == account {
				return
			}
		case <-timeout:
			t.Fatalf("no frame of %s arrived", account)
		}
	}
}

func TestUnauthorizedRequestsGetNothing(t *testing.T) {
	t.Parallel()
	bus, err := peer.New(newDirectory(), peer.Options{Self: peer.Replica{ID: "x"}, Secret: "s"})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		method, secret, body string
		status               int
	}{
		"no secret":      {"POST", "", `["a"]`, 401},
		"wrong secret":   {"POST", "Bearer t", `["a"]`, 401},
		"malformed list": {"POST", "Bearer s", `{`, 400},
		"unknown stream": {"PUT", "Bearer s", `["a"]`, 404},
		"wrong method":   {"GET", "Bearer s", `["a"]`, 405},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), c.method, peer.Path, strings.NewReader(c.body))
			r.Header.Set("Authorization", c.secret)
			bus.Handler().ServeHTTP(w, r)
			require.Equal(t, c.status, w.Code)
		})
	}
}

func TestABusWithoutSecretIsRefused(t *testing.T) {
	t.Parallel()
	_, err := peer.New(newDirectory(), peer.Options{Self: peer.Replica{ID: "x"}})
	require.Error(t, err)
}
