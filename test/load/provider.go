//go:build linux

package load

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"sync"

	"github.com/millrace-dev/millrace/internal/sim"
)

// Provider is a model's provider that survives every fault and counts, outside of the service, the generations of
// each request.
type Provider struct {
	sim *sim.Server

	mu     sync.Mutex // guards orders
	orders map[string]int
}

// marker is a text in the prompt of every request of the load.
var marker = regexp.MustCompile(`[a-z]+-(call|job)-\d+`) // compiled once

func NewProvider() *Provider { return &Provider{sim: sim.New(sim.Options{}), orders: map[string]int{}} }

func (p *Provider) Close() { p.sim.Close() }

// ServeHTTP counts a generation and answers like the simulator.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller was killed while it sent the request: no generation was ordered
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if name := marker.Find(body); name != nil {
			p.mu.Lock()
			p.orders[string(name)]++
			p.mu.Unlock()
		}
	}
	p.sim.ServeHTTP(w, r)
}

// Ordered returns how often a generation was ordered.
func (p *Provider) Ordered(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.orders[name]
}
