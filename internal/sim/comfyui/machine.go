package comfyui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Machine is a machine that runs a Server at an address of the loopback interface. Its files remain when the server
// dies; queue, history, cache and loaded models do not.
type Machine struct {
	opts    Options
	address string
	files   *fileStore
	faults  *faults
	ledger  *ledger

	mu      sync.Mutex // guards the fields below
	server  *Server    // nil = down
	http    *http.Server
	serving sync.WaitGroup
	gate    chan struct{} // closed while requests are answered; nil = never frozen
	deaths  []time.Time   // when servers ended that ran
	closed  bool
}

// Start runs a server at an address, "127.0.0.1:0" for a port of its own. Close ends it.
func Start(address string, opts Options) (*Machine, error) {
	open := make(chan struct{})
	close(open)
	m := &Machine{opts: opts, address: address, files: newFileStore(), faults: newFaults(), ledger: &ledger{}, gate: open}
	return m, m.Restart()
}

// URL returns the server's address.
func (m *Machine) URL() string { return "http://" + m.address }

// Server returns the server that runs, nil while the machine is down.
func (m *Machine) Server() *Server {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server
}

// Inject makes a fault happen that many times, or Always; it outlives a restart.
func (m *Machine) Inject(f Fault, times int) { m.faults.inject(f, times) }

// Clear ends all faults.
func (m *Machine) Clear() { m.faults.clear() }

// Runs returns every prompt that any server of this machine began, in order.
func (m *Machine) Runs() []Run { return m.ledger.all() }

// Loads returns the name of the checkpoint at every load of one, in order.
func (m *Machine) Loads() []string { return m.ledger.checkpoints() }

// Stops returns every request to cancel a prompt, in order.
func (m *Machine) Stops() []Stop { return m.ledger.stopped() }

// Frees returns how often the server was requested to free its memory.
func (m *Machine) Frees() int { return m.ledger.timesFreed() }

// Change changes the options and restarts the server with them.
func (m *Machine) Change(change func(*Options)) error {
	m.mu.Lock()
	change(&m.opts)
	m.mu.Unlock()
	return m.Restart()
}

// Restart ends the server that runs, if any, as Kill does, and starts another one at the address.
func (m *Machine) Restart() error {
	m.Kill()
	m.mu.Lock()
	defer m.mu.Unlock()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", m.address)
	if err != nil {
		return fmt.Errorf("simulated ComfyUI: %w", err)
	}
	m.address = listener.Addr().String()
	if m.server, err = newServer(m.opts, m.files, m.faults, m.ledger); err != nil {
		return errors.Join(err, listener.Close())
	}
	m.server.crash = m.crashed
	m.http = &http.Server{Handler: m.gated(m.server), ReadHeaderTimeout: 10 * time.Second}
	running := m.http
	m.serving.Go(func() { running.Serve(listener) }) //nolint:errcheck // it always ends with ErrServerClosed
	return nil
}

// gated holds requests back while the machine is frozen.
func (m *Machine) gated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		gate := m.gate
		m.mu.Unlock()
		select {
		case <-gate:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
}

// Kill ends the server at once: connections break, and running prompts are lost.
func (m *Machine) Kill() {
	m.mu.Lock()
	server, web := m.server, m.http
	m.server, m.http = nil, nil
	if server != nil {
		m.deaths = append(m.deaths, time.Now())
	}
	m.mu.Unlock()
	if server == nil {
		return
	}
	web.Close() //nolint:errcheck // connections are to break
	server.Close()
	m.serving.Wait()
}

// Freeze keeps the server from answering anything, and its sockets from any sign of life, without
// breaking a connection.
func (m *Machine) Freeze() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gate = make(chan struct{})
	if m.server != nil {
		m.server.sockets.freeze(m.gate)
	}
}

// Thaw ends Freeze.
func (m *Machine) Thaw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.gate:
	default:
		close(m.gate)
	}
}

// crashed ends the server that runs and starts another one, unless the machine ends.
func (m *Machine) crashed() {
	m.mu.Lock()
	closed := m.closed
	m.mu.Unlock()
	if !closed {
		m.Restart() //nolint:errcheck // a machine that does not come back is one that died
	}
}

// Close ends the machine.
func (m *Machine) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.Thaw()
	m.Clear()
	m.Kill()
}
