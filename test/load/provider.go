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

// Provider is a model's provider that outlives every fault and counts, outside of the service, how often it was asked
// for each thing.
type Provider struct {
	sim *sim.Server

	mu     sync.Mutex // guards orders
	orders map[string]int
}

// marker is what every request of the load carries in its prompt.
var marker = regexp.MustCompile(`[a-z]+-(call|job)-\d+`) // a constant

func NewProvider() *Provider { return &Provider{sim: sim.New(sim.Options{}), orders: map[string]int{}} }

func (p *Provider) Close() { p.sim.Close() }

// ServeHTTP counts a generation that is ordered and answers as the simulator does.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller was killed in the middle: nothing was ordered
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
