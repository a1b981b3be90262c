package provider_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/provider"
	"github.com/millrace-dev/millrace/internal/sim"
)

// secret is the value of every credential in these tests. No output may contain it.
const secret = "s3cr3t-credential-of-the-operator"

// world is the catalog with every provider simulated.
type world struct {
	sim    *sim.Server
	base   string
	models *catalog.Snapshot
	client *provider.Client
	logs   *record
}

// record keeps the log.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldOf(t, 20*time.Millisecond)
}

// worldOf returns a world in which a generation takes the given time.
func worldOf(t *testing.T, generation time.Duration) *world {
	t.Helper()
	server := sim.New(sim.Options{Delay: generation})
	t.Cleanup(server.Close)
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	c, err := catalog.Load(catalog.Options{Bases: sim.Bases(listener.URL), Simulator: listener.URL})
	require.NoError(t, err)
	http := outbound.New(outbound.Options{})
	t.Cleanup(http.Close)
	w := &world{sim: server, base: listener.URL, models: c.Snapshot(), logs: &record{}}
	w.client = provider.New(http, environment(t, listener.URL),
		slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})))
	return w
}

// environment returns a credential for every provider. Google's is a service account of the simulator.
func environment(t *testing.T, base string) func(string) (string, bool) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "router@simulated.example", "token_uri": base + "/vertexai/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})),
	})
	require.NoError(t, err)
	return func(name string) (string, bool) {
		switch name {
		case "GOOGLE_APPLICATION_CREDENTIALS":
			return string(account), true
		case "GOOGLE_CLOUD_PROJECT":
			return "simulated-project", true
		default:
			return secret, true
		}
	}
}

func (w *world) model(t *testing.T, id string) *catalog.Model {
	t.Helper()
	m, ok := w.models.Find(id)
	require.True(t, ok, id)
	return m
}

// run runs a call to its end and polls without waiting.
func (w *world) run(t *testing.T, m *catalog.Model, body string) (provider.Outcome, []byte) {
	t.Helper()
	out, answer, _ := w.settle(t, m, body)
	return out, answer
}

// settle runs a call and also returns its final price.
func (w *world) settle(t *testing.T, m *catalog.Model, body string) (provider.Outcome, []byte, int64) {
	t.Helper()
	var sink bytes.Buffer
	out, err := w.client.Dispatch(t.Context(), request(m, body), &sink)
	require.NoError(t, err)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	handle, quoted := out.Handle, m.Quoted([]byte(body), out.Document)
	for out.Phase == provider.Accepted || out.Phase == provider.Pending {
		require.Positive(t, out.PollAfter)
		<-tick.C
		sink.Reset()
		out, err = w.client.Poll(t.Context(), m, handle, &sink)
		if err != nil {
			require.ErrorIs(t, err, provider.ErrUnknown)
			out = provider.Outcome{Phase: provider.Pending, PollAfter: 1}
		}
	}
	return out, sink.Bytes(), m.Settled(catalog.Answer{Body: []byte(body), Document: out.Document, Headers: out.Headers, Quoted: quoted})
}

func request(m *catalog.Model, body string) provider.Request {
	return provider.Request{Model: m, CallID: "call-1", Body: bytes.NewReader([]byte(body)), Size: int64(len(body))}
}

// marked returns the model's example with an instruction for the simulator in its text.
func marked(t *testing.T, m *catalog.Model, marker string) string {
	t.Helper()
	require.NotNil(t, m.Example, "%s has no example", m.ID)
	var body any
	require.NoError(t, json.Unmarshal(m.Example, &body))
	require.True(t, place(body, marker) || placeAnywhere(body, marker), "%s has no text in its example", m.ID)
	encoded, err := json.Marshal(body)
	require.NoError(t, err)
	return string(encoded)
}

// place appends an instruction for the simulator to the first text of a document.
func place(body any, marker string) bool {
	switch v := body.(type) {
	case map[string]any:
		for _, name := range []string{"prompt", "positivePrompt", "text", "content", "promptText", "text_prompt", "texture_prompt"} {
			if s, ok := v[name].(string); ok {
				v[name] = s + " " + marker
				return true
			}
		}
		for _, inner := range v {
			if place(inner, marker) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if place(inner, marker) {
				return true
			}
		}
	}
	return false
}

// placeAnywhere appends an instruction to a member of a request that has no text of its own, such as the name of a format.
func placeAnywhere(body any, marker string) bool {
	object, _ := body.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if s, ok := object[name].(string); ok && !strings.HasPrefix(s, "data:") {
			object[name] = s + marker
			return true
		}
	}
	return false
}
