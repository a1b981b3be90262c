package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Platform is the service from the point of view of clients: submissions over HTTP, ends over one WebSocket.
type Platform struct {
	base   string
	http   *http.Client
	socket *websocket.Conn

	mu    sync.Mutex // guards the three below
	ended map[string]bool
	wait  map[string]chan struct{}
	err   error
}

// NewPlatform connects to the service at base.
func NewPlatform(ctx context.Context, base string) (*Platform, error) {
	// the dialer closes it
	socket, _, err := websocket.DefaultDialer.DialContext(ctx, "ws"+strings.TrimPrefix(base, "http")+"/ws?clientId=bench", nil)
	if err != nil {
		return nil, err
	}
	p := &Platform{
		base: base, socket: socket, ended: map[string]bool{}, wait: map[string]chan struct{}{},
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	go p.listen()
	return p, nil
}

// listen notes the jobs that end.
func (p *Platform) listen() {
	for {
		_, raw, err := p.socket.ReadMessage()
		if err != nil {
			p.fail(err)
			return
		}
		if !bytes.HasPrefix(raw, []byte(`{"type":"execution_`)) { // most messages are about nodes
			continue
		}
		var m struct {
			Type string
			Data struct {
				PromptID string `json:"prompt_id"`
			}
		}
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		switch m.Type {
		case "execution_success":
			p.end(m.Data.PromptID)
		case "execution_error", "execution_interrupted":
			p.fail(fmt.Errorf("job %s: %s", m.Data.PromptID, raw))
		}
	}
}

func (p *Platform) end(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.wait[id]; ok {
		close(c)
		delete(p.wait, id)
		return
	}
	p.ended[id] = true
}

func (p *Platform) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(p.err, err)
	for id, c := range p.wait {
		close(c)
		delete(p.wait, id)
	}
}

// One submits a graph and waits for the message of its end.
func (p *Platform) One(ctx context.Context, graph string) error {
	id, err := p.submit(ctx, graph)
	if err != nil {
		return err
	}
	p.mu.Lock()
	if p.ended[id] || p.err != nil {
		delete(p.ended, id)
		defer p.mu.Unlock()
		return p.err
	}
	c := make(chan struct{})
	p.wait[id] = c
	p.mu.Unlock()
	select {
	case <-c:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Polled returns the time from POST to a GET that answers with the terminal state.
func (p *Platform) Polled(ctx context.Context, graph string) (time.Duration, error) {
	began := time.Now()
	id, err := p.submit(ctx, graph)
	if err != nil {
		return 0, err
	}
	for {
		var status struct{ Status string }
		if err := p.call(ctx, http.MethodGet, "/api/job/"+id+"/status", "", &status); err != nil {
			return 0, err
		}
		switch status.Status {
		case "pending", "in_progress":
			time.Sleep(time.Millisecond) // like a client that polls fast
		case "completed":
			return time.Since(began), nil
		default:
			return 0, fmt.Errorf("job %s is %s", id, status.Status)
		}
	}
}

func (p *Platform) submit(ctx context.Context, graph string) (string, error) {
	var answer struct {
		PromptID string `json:"prompt_id"`
	}
	err := p.call(ctx, http.MethodPost, "/api/prompt", graph, &answer)
	return answer.PromptID, err
}

func (p *Platform) call(ctx context.Context, method, path, body string, into any) error {
	return Call(ctx, p.http, method, p.base+path, body, into)
}

// Close ends the connection.
func (p *Platform) Close() { p.socket.Close() }
