package live_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

// turnable accepts everybody until an error is set.
type turnable struct {
	err   atomic.Pointer[error]
	asked chan struct{} // one for each look that failed
}

func (r *turnable) set(err error) { r.err.Store(&err) }

func (r *turnable) Authenticate(context.Context, string) (account.Identity, error) {
	if err := r.err.Load(); err != nil {
		select {
		case r.asked <- struct{}{}:
		default:
		}
		return account.Identity{}, *err
	}
	return account.Local(), nil
}

func startTurnable(t *testing.T) (*apitest.Harness, *turnable) {
	t.Helper()
	keys := &turnable{asked: make(chan struct{}, 1)}
	return apitest.StartWith(t, apitest.Options{Recheck: 10 * time.Millisecond}, func(d *apitest.Deps) { d.Auth = keys }), keys
}

func TestARevokedKeyEndsItsSockets(t *testing.T) {
	t.Parallel()
	h, keys := startTurnable(t)
	conn := h.Dial(t, "token=x")

	keys.set(errors.New("the database is away"))
	for range 3 {
		<-keys.asked // looked, and went on
	}
	h.Hub.Publish(account.LocalID, apitest.Text(`{"type":"still here"}`))
	require.Contains(t, apitest.Next(t, conn), "still here", "an outage cuts nobody off")

	keys.set(fault.New(fault.Unauthenticated, fault.CodeUnauthorized, "revoked"))
	_, _, err := conn.ReadMessage()
	require.True(t, websocket.IsCloseError(err, websocket.ClosePolicyViolation), "%v", err)
	require.ErrorContains(t, err, "unauthorized")
}

func TestARevokedKeyEndsItsEventStreams(t *testing.T) {
	t.Parallel()
	h, keys := startTurnable(t)
	h.Jobs.Put(job.Job{ID: apitest.JobA, Account: account.LocalID, State: job.Running, SubmittedAt: apitest.Then, Version: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // the stream might go on
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL+"/api/v2/jobs/"+string(apitest.JobA)+"/events", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req) // returns when the stream has begun
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)

	keys.set(fault.New(fault.Unauthenticated, fault.CodeUnauthorized, "revoked"))
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err, "%s", body)
	const end = "event: error\ndata: {\"error\":{\"code\":\"unauthorized\",\"message\":\"the key is no longer valid\"}}\n\n"
	require.True(t, strings.HasSuffix(string(body), end), "%s", body)
}
