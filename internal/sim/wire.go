package sim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"time"
)

// credential is how a provider expects the credential.
type credential struct {
	header, scheme string
	refusal        func() any // body of its 401
}

var (
	noCredential = credential{}
	bearer       = credential{header: "Authorization", scheme: "Bearer ", refusal: func() any {
		return map[string]any{"error": map[string]any{
			"message": "Incorrect API key provided.", "type": "invalid_request_error",
			"code": "invalid_api_key",
		}}
	}}
)

func headerKey(name string) credential {
	return credential{header: name, refusal: func() any { return map[string]any{"detail": "Not authenticated"} }}
}

func scheme(word string) credential {
	return credential{
		header: "Authorization", scheme: word + " ",
		refusal: func() any { return map[string]any{"detail": "Authentication is required to access this application."} },
	}
}

// check returns the provider's 401, or nil.
func (c credential) check(r *http.Request, wanted string) *reply {
	if c.header == "" {
		return nil
	}
	value, found := strings.CutPrefix(r.Header.Get(c.header), c.scheme)
	if found && value != "" && value != "wrong" && (wanted == "" || value == wanted) {
		return nil
	}
	refused := fail(http.StatusUnauthorized, c.refusal())
	return &refused
}

// charges counts the charges that the simulator would have made.
type charges struct {
	mu     sync.Mutex
	counts map[string]int // guarded by mu
}

func newCharges() *charges { return &charges{counts: map[string]int{}} }

// cancel counts a request to stop a generation. It returns false for a finished or unknown generation.
func (e *exchange) cancel() bool {
	t, found := e.ticket()
	if !found || t.finished(e.now) {
		return false
	}
	e.server.cancels.add(t.id())
	return true
}

// canceled reports a generation whose cancel arrived before it was finished.
func (e *exchange) canceled(t ticket) bool { return e.server.cancels.all()[t.id()] > 0 }

// chargeKey names a call: its idempotency key where the caller sends one, otherwise its body.
func chargeKey(r *http.Request, raw []byte) string {
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		return key
	}
	sum := sha256.Sum256(raw)
	return "body-" + hex.EncodeToString(sum[:8])
}

func (c *charges) add(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[key]++
}

// once counts a charge, unless the key was charged before and names one request. It reports whether the key is new.
func (c *charges) once(key string, oneRequest bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.counts[key] > 0
	if !known || !oneRequest {
		c.counts[key]++
	}
	return !known
}

func (c *charges) list(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(c.all()); err != nil {
		return // the client is gone
	}
}

func (c *charges) reset(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.counts)
	w.WriteHeader(http.StatusNoContent)
}

func (c *charges) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

// Cancels returns how often each generation was cancelled in time, by its id.
func (s *Server) Cancels() map[string]int { return s.cancels.all() }

// Charges returns how often each call was charged, by idempotency key, or by a hash of the body if the request had no
// key.
func (s *Server) Charges() map[string]int { return s.charges.all() }

func seedOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:4])
}

// decodeForm reads a form into a map of its fields; files become their sizes.
func decodeForm(contentType string, raw []byte) (map[string]any, bool) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/form-data" {
		return nil, false
	}
	fields := map[string]any{}
	form := multipart.NewReader(bytes.NewReader(raw), params["boundary"])
	for {
		part, err := form.NextPart()
		if err != nil {
			return fields, true
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return fields, true
		}
		if part.FileName() != "" {
			fields[part.FormName()] = len(value)
			continue
		}
		fields[part.FormName()] = string(value)
	}
}

// callback posts what a status request will be answered once the generation has ended, where the caller asked
// for that. Part takes from the answer what the provider posts; nil stands for all of it.
func (e *exchange) callback(address string, t ticket, status handler, part func(map[string]any) any) {
	if address == "" {
		return
	}
	later := *e
	later.Request = e.Clone(context.WithoutCancel(e.Context()))
	later.SetPathValue("id", t.id())
	later.now = time.UnixMilli(t.Ready)
	e.server.webhook(address, func() any {
		document, ok := status(&later).json.(map[string]any)
		if !ok || part == nil {
			return document
		}
		return part(document)
	}, e, t)
}

// ofData extracts the data member, for providers that post only this part.
func ofData(document map[string]any) any { return document["data"] }

// webhook posts a finished generation to an address of this machine, once it is due. The
// simulator reaches nothing else: it is no way into other networks.
func (s *Server) webhook(address string, after func() any, e *exchange, t ticket) {
	if !loopback(address) {
		return
	}
	s.webhooks.Go(func() {
		if !untilReady(s.ctx, t) {
			return
		}
		body, err := json.Marshal(after())
		if err != nil {
			s.opts.Log.Warn("webhook", "error", err)
			return
		}
		req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, address, bytes.NewReader(body))
		if err != nil {
			return
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			s.opts.Log.Warn("webhook", "error", err)
			return
		}
		resp.Body.Close() // nothing was read
	})
}
