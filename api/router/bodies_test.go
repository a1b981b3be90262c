package router_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
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
var bounded = apitest.Options{Mode: account.ModeKeys, MaxModelBody: mebibyte, ModelBodies: 3*mebibyte + 16}

func input() string { return `{"prompt":"` + strings.Repeat("x", mebibyte-len(`{"prompt":""}`)) + `"}` }

// The inputs of models take no more memory together than they may, and no account keeps the others out.
func TestInputsThatAreReadAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	calls := newBlockingCalls(false)
	h := apitest.StartRouter(t, bounded, calls)
	ask := func(key string) apitest.Reply {
		return h.Do(t, "POST", "/v2/models/sim/echo", input(), "X-API-Key", key)
	}
	answers := make(chan apitest.Reply, 2)
	for _, key := range []string{"key-a", "key-b"} {
		go func() { answers <- ask(key) }()
		<-calls.begun
	}
	own := ask("key-a")
	require.Equal(t, []any{429, call.ConcurrencyLimit}, []any{own.Status, own.JSON(t)["error_type"]}, own.Body)
	full := ask("lapse") // an account that has nothing in flight
	require.Equal(t, []any{503, call.ServiceUnavailable}, []any{full.Status, full.JSON(t)["error_type"]}, full.Body)
	require.Equal(t, "1", full.Header.Get("Retry-After"))
	small := make(chan apitest.Reply, 1)
	go func() { small <- h.Do(t, "POST", "/v2/models/sim/echo", `{"prompt":"x"}`, "X-API-Key", "lapse") }()
	require.Equal(t, "c", <-calls.begun, "what is small finds room")

	late := make(chan apitest.Reply, 1)
	go func() { late <- ask("lapse") }() // waits for the room that comes back now, or finds it
	close(calls.gate)
	for _, got := range []apitest.Reply{<-answers, <-answers, <-small, <-late} {
		require.Equal(t, 502, got.Status, got.Body)
	}
	for range 4 { // whatever became of them, nothing of the room is lost
		require.Equal(t, 502, ask("key-a").Status)
	}
}

// What is stored takes no room: calls that wait for their provider do not count.
func TestStoredInputsUseNoMemoryBudget(t *testing.T) {
	t.Parallel()
	calls := newBlockingCalls(true)
	h := apitest.StartRouter(t, bounded, calls)
	const many = 8
	answers := make(chan apitest.Reply, many)
	for range many {
		go func() { answers <- h.Do(t, "POST", "/v2/models/sim/echo", input(), "X-API-Key", "key-a") }()
		<-calls.begun
	}
	close(calls.gate)
	for range many {
		require.Equal(t, 502, (<-answers).Status)
	}
}

// A body of exactly the bound is whole, announced or in pieces; one byte more is refused.
func TestInputsArriveWhole(t *testing.T) {
	t.Parallel()
	echo := &echoing{}
	h := apitest.StartRouter(t, bounded, echo)
	for _, size := range []int{0, 1, 100, 16<<10 - 1, 16 << 10, 16<<10 + 1, 100_000, mebibyte - 1, mebibyte, mebibyte + 1} {
		for _, announced := range []bool{true, false} {
			body := strings.Repeat("x", size)
			var r apitest.Reply
			if announced {
				r = h.Do(t, "POST", "/v2/models/sim/echo", body, "X-API-Key", "key-a")
			} else {
				r = chunked(t, h, "/v2/models/sim/echo", body)
			}
			if size > mebibyte {
				require.Equal(t, 413, r.Status, r.Body)
				continue
			}
			require.Equal(t, 502, r.Status)
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
func chunked(t *testing.T, h *apitest.Harness, path, body string) apitest.Reply {
	req, err := http.NewRequestWithContext(t.Context(), "POST", h.URL+path, struct{ *strings.Reader }{strings.NewReader(body)})
	require.NoError(t, err)
	req.ContentLength = -1
	req.Header.Set("X-API-Key", "key-a")
	return h.Send(t, req)
}
