package live_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
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
	return apitest.StartWith(t, api.Options{Recheck: 10 * time.Millisecond}, func(d *api.Deps) { d.Auth = keys }), keys
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
	done := make(chan apitest.Reply, 1)
	go func() { done <- h.Do(t, http.MethodGet, "/api/v2/jobs/"+string(apitest.JobA)+"/events", "") }()
	keys.set(fault.New(fault.Unauthenticated, fault.CodeUnauthorized, "revoked"))
	select {
	case got := <-done:
		if got.Status == http.StatusUnauthorized { // revoked before the stream began
			return
		}
		require.True(t, strings.HasSuffix(got.Body, "event: error\ndata: {\"error\":{\"code\":\"unauthorized\",\"message\":\"the key is no longer good\"}}\n\n"), got.Body)
	case <-time.After(2 * time.Minute):
		t.Fatal("the stream goes on")
	}
}
