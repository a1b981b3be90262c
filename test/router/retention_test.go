package router_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/api/edge"
	apirouter "github.com/millrace-dev/millrace/api/router"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/router"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// later is the API over the service's database, with a clock that is ahead.
func (c *client) later(ahead time.Duration) *client {
	c.t.Helper()
	types := eventlog.NewRegistry()
	require.NoError(c.t, errors.Join(call.Register(types), credit.Register(types)))
	pool, err := postgres.Open(c.t.Context(), fmt.Sprintf("host=%s port=5432 user=millrace dbname=millrace",
		filepath.Join(c.data, "postgres", "run")), postgres.PoolOptions{MaxConns: 2})
	require.NoError(c.t, err)
	c.t.Cleanup(pool.Close)
	events := eventstore.New(pool, types, nil)
	models, err := catalog.Load(catalog.Options{Simulator: "http://127.0.0.1:1"})
	require.NoError(c.t, err)
	offers := router.Offers{Catalog: models, Lookup: func(string) (string, bool) { return "", false }}
	e, err := edge.New(edge.Deps{Auth: account.NewKeys(accountstore.New(pool)), Logger: slog.New(slog.DiscardHandler)},
		edge.Options{Mode: account.ModeKeys})
	require.NoError(c.t, err)
	handler, err := api.New(e, apirouter.New(apirouter.Deps{
		Edge: e, Models: &offers, Cursors: catalog.NewCursors(make([]byte, 32), time.Now),
		Calls: call.NewService(call.Deps{
			Store: callstore.New(pool, events, accountstore.NewCredits(pool, events)), Models: offers, Tiers: everything{},
			Now: func() time.Time { return time.Now().Add(ahead) },
		}),
	}, apirouter.Options{MaxModelBody: 1 << 20, ModelBodies: 8 << 20, UploadIdle: time.Minute}))
	require.NoError(c.t, err)
	server := httptest.NewServer(handler)
	c.t.Cleanup(server.Close)
	return &client{service: &service{base: server.URL}, t: c.t, account: c.account, key: c.key}
}

// everything allows everything to all accounts.
type everything struct{}

func (everything) CallLimits(context.Context, string) (call.Limits, error) {
	return call.Limits{Enabled: true}, nil
}

func (everything) CallBounds(string) call.Limits { return call.Limits{Enabled: true} }

func TestRequestExpiresAfterADay(t *testing.T) { // 24 hours after its end
	t.Parallel()
	c := newClient(t)
	const path = "/v2/models/sim/echo/requests/"
	id := decode(t, c.do("POST", path[:len(path)-1], `{"prompt":"x"}`).body)["request_id"].(string)
	require.Eventually(t, func() bool { return c.do("GET", path+id, "").status == 200 }, patience, 20*time.Millisecond)
	require.Equal(t, 200, c.later(23*time.Hour+59*time.Minute).do("GET", path+id+"/status", "").status)
	gone := c.later(24*time.Hour + time.Minute)
	gone.do("GET", path+id+"/status", "").failed(t, 410, "request_not_found")
	gone.do("GET", path+id, "").failed(t, 410, "request_not_found")
	gone.do("PUT", path+id+"/cancel", "").failed(t, 410, "request_not_found")
	stranger := newClient(t).later(24*time.Hour + time.Minute)
	stranger.do("GET", path+id, "").failed(t, 404, "request_not_found")
}
