package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/millrace-dev/millrace/bench/harness"
)

// client speaks ComfyUI's interface, which servers and Millrace have in common: both sides are measured with the same code.
type client struct {
	base   string
	id     string
	http   *http.Client
	socket *websocket.Conn

	mu    sync.Mutex // guards the two below
	ends  map[string]chan struct{}
	broke error         // why the socket ended
	over  chan struct{} // closed then
}

// dial connects to a server, or to Millrace.
func dial(ctx context.Context, base string) (*client, error) {
	c := &client{
		base: base, id: uuid.NewString(), ends: map[string]chan struct{}{}, over: make(chan struct{}),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	socket, _, err := websocket.DefaultDialer.DialContext(ctx, "ws"+strings.TrimPrefix(base, "http")+"/ws?clientId="+c.id, nil)
	if err != nil {
		return nil, err
	}
	c.socket = socket
	go c.listen()
	return c, nil
}

func (c *client) close() { c.socket.Close() }

// listen takes the ends of prompts from the socket.
func (c *client) listen() {
	for {
		_, raw, err := c.socket.ReadMessage()
		if err != nil {
			c.fail(err)
			return
		}
		var m struct {
			Type string
			Data struct {
				Node     *string
				PromptID string `json:"prompt_id"`
			}
		}
		if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &m) != nil || m.Data.PromptID == "" {
			continue
		}
		if m.Type == "executing" && m.Data.Node == nil || m.Type == "execution_error" || m.Type == "execution_interrupted" {
			c.ended(m.Data.PromptID)
		}
	}
}

func (c *client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broke == nil {
		c.broke = err
		close(c.over)
	}
}

// ended records the end of a prompt, which may arrive before the answer that names the prompt.
func (c *client) ended(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.end(id): // the end was recorded before
	default:
		close(c.ends[id])
	}
}

// end returns the channel that is closed at the end of a prompt. c.mu is locked.
func (c *client) end(id string) <-chan struct{} {
	if c.ends[id] == nil {
		c.ends[id] = make(chan struct{})
	}
	return c.ends[id]
}

// submit queues a graph and returns the id of its prompt.
func (c *client) submit(ctx context.Context, g graph) (string, error) {
	body, err := json.Marshal(map[string]any{"prompt": g, "client_id": c.id})
	if err != nil {
		return "", err
	}
	var answer struct {
		ID string `json:"prompt_id"`
	}
	err = harness.Call(ctx, c.http, http.MethodPost, c.base+"/api/prompt", string(body), &answer)
	return answer.ID, err
}

// await waits for the end of a prompt.
func (c *client) await(ctx context.Context, id string) error {
	c.mu.Lock()
	end := c.end(id)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.ends, id)
	}()
	select {
	case <-end:
		return nil
	case <-c.over:
		return c.broke
	case <-ctx.Done():
		return ctx.Err()
	}
}

// promptWithin bounds the duration of a measured prompt.
const promptWithin = 2 * time.Minute

// picture queues a graph, waits for its end, and fetches the one picture that it saves.
func (c *client) picture(ctx context.Context, g graph) error {
	ctx, cancel := context.WithTimeout(ctx, promptWithin)
	defer cancel()
	id, err := c.submit(ctx, g)
	if err != nil {
		return err
	}
	if err := c.await(ctx, id); err != nil {
		return fmt.Errorf("prompt %s at %s: %w", id, c.base, err)
	}
	files, err := c.files(ctx, id)
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return fmt.Errorf("prompt %s put out %d files, not 1", id, len(files))
	}
	return c.fetch(ctx, files[0])
}

// file is a saved file in the form that both sides use.
type file struct{ Filename, Subfolder, Type string }

// files returns the files that a prompt saved, from its history.
func (c *client) files(ctx context.Context, id string) ([]file, error) {
	var history map[string]struct {
		Outputs map[string]struct{ Images []file }
		Status  struct {
			Status   string `json:"status_str"`
			Messages json.RawMessage
		}
	}
	if err := harness.Call(ctx, c.http, http.MethodGet, c.base+"/api/history/"+id, "", &history); err != nil {
		return nil, err
	}
	entry, ok := history[id]
	if !ok || entry.Status.Status != "success" {
		return nil, fmt.Errorf("prompt %s did not succeed: %s %s", id, entry.Status.Status, entry.Status.Messages)
	}
	var all []file
	for _, out := range entry.Outputs {
		all = append(all, out.Images...)
	}
	return all, nil
}

func (c *client) fetch(ctx context.Context, f file) error {
	query := url.Values{"filename": {f.Filename}, "subfolder": {f.Subfolder}, "type": {f.Type}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/api/view?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode != http.StatusOK || !bytes.HasPrefix(raw, []byte("\x89PNG"))) {
		err = errors.New("the picture is not there: " + res.Status)
	}
	return err
}
