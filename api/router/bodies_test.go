package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
	apirouter "github.com/millrace-dev/millrace/api/router"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
)

// blockingCalls keeps every call until it is let go, and its body as well unless it learns that it is stored.
type blockingCalls struct {
	apirouter.Calls
	stores bool
	begun  chan string // accounts, as their calls begin
	gate   chan struct{}
}

func newBlockingCalls(stores bool) blockingCalls {
	return blockingCalls{stores: stores, begun: make(chan string, 100), gate: make(chan struct{})}
}

func (h blockingCalls) Run(ctx context.Context, inv call.Invocation) (*call.Result, error) {
	if h.stores {
		inv.OnStored()
	}
	h.begun <- inv.Account
	select {
	case <-h.gate:
	case <-ctx.Done():
	}
	return nil, call.Refuse(fault.Unavailable, call.ProviderError, "let go")
}

const mebibyte = 1 << 20

// bounded has room for three inputs of a mebibyte while they arrive, and gives an account half of it.
var bounded = api.Options{Mode: account.ModeKeys, MaxModelBody: mebibyte, ModelBodies: 3*mebibyte + 16}

func input() string { return `{"prompt":"` + strings.Repeat("x", mebibyte-len(`{"prompt":""}`)) + `"}` }

// The inputs of models take no more memory together than they may, and no account keeps the others out.
func TestInputsThatAreReadAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	calls := newBlockingCalls(false)
	h := startRouter(t, bounded, calls)
	ask := func(key string) reply { return h.do(t, "POST", "/v2/models/sim/echo", input(), "X-API-Key", key) }
	answers := make(chan reply, 2)
	for _, key := range []string{"key-a", "key-b"} {
		go func() { answers <- ask(key) }()
		<-calls.begun
	}
	own := ask("key-a")
	require.Equal(t, []any{429, call.ConcurrencyLimit}, []any{own.status, own.json(t)["error_type"]}, own.body)
	full := ask("lapse") // an account that has nothing in flight
	require.Equal(t, []any{503, call.ServiceUnavailable}, []any{full.status, full.json(t)["error_type"]}, full.body)
	require.Equal(t, "1", full.header.Get("Retry-After"))
	small := make(chan reply, 1)
	go func() { small <- h.do(t, "POST", "/v2/models/sim/echo", `{"prompt":"x"}`, "X-API-Key", "lapse") }()
	require.Equal(t, "c", <-calls.begun, "what is small finds room")

	late := make(chan reply, 1)
	go func() { late <- ask("lapse") }() // waits for the room that comes back now, or finds it
	close(calls.gate)
	for _, got := range []reply{<-answers, <-answers, <-small, <-late} {
		require.Equal(t, 502, got.status, got.body)
	}
	for range 4 { // whatever became of them, nothing of the room is lost
		require.Equal(t, 502, ask("key-a").status)
	}
}

// What is stored takes no room: calls that wait for their provider do not count.
func TestStoredInputsUseNoMemoryBudget(t *testing.T) {
	t.Parallel()
	calls := newBlockingCalls(true)
	h := startRouter(t, bounded, calls)
	const many = 8
	answers := make(chan reply, many)
	for range many {
		go func() { answers <- h.do(t, "POST", "/v2/models/sim/echo", input(), "X-API-Key", "key-a") }()
		<-calls.begun
	}
	close(calls.gate)
	for range many {
		require.Equal(t, 502, (<-answers).status)
	}
}

// A body of exactly the bound is whole, announced or in pieces; one byte more is refused.
func TestInputsArriveWhole(t *testing.T) {
	t.Parallel()
	echo := &echoing{}
	h := startRouter(t, bounded, echo)
	for _, size := range []int{0, 1, 100, 16<<10 - 1, 16 << 10, 16<<10 + 1, 100_000, mebibyte - 1, mebibyte, mebibyte + 1} {
		for _, announced := range []bool{true, false} {
			body := strings.Repeat("x", size)
			var r reply
			if announced {
				r = h.do(t, "POST", "/v2/models/sim/echo", body, "X-API-Key", "key-a")
			} else {
				r = h.chunked(t, "/v2/models/sim/echo", body)
			}
			if size > mebibyte {
				require.Equal(t, 413, r.status, r.body)
				continue
			}
			require.Equal(t, 502, r.status)
			require.Equal(t, body, echo.body, "%d bytes, announced: %t", size, announced)
		}
	}
}

// echoing keeps the body of the last call.
type echoing struct {
	apirouter.Calls
	body string
}

func (e *echoing) Run(_ context.Context, inv call.Invocation) (*call.Result, error) {
	e.body = string(inv.Body)
	return nil, call.Refuse(fault.Unavailable, call.ProviderError, "kept")
}

// chunked sends a body without its length.
func (h *harness) chunked(t *testing.T, path, body string) reply {
	req, err := http.NewRequestWithContext(t.Context(), "POST", h.url+path, struct{ *strings.Reader }{strings.NewReader(body)})
	require.NoError(t, err)
	req.ContentLength = -1
	req.Header.Set("X-API-Key", "key-a")
	return h.send(t, req)
}
