// Package webhooks_test tests webhooks over HTTP: a private PostgreSQL, a real Temporal server and all roles in one
// process, with accounts and keys made by the program's own commands, and receivers that answer, refuse, hang and
// check signatures.
package webhooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/openapi/openapitest"
	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/localstack"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/test/served"
)

// patience bounds every wait, far above the usual time.
const patience = 5 * time.Minute

const adminToken = "webhook-tests-admin"

// The policy of the service under test: as in production, with shorter times.
const (
	timeout      = "5s"
	retries      = "200ms,400ms"
	disableAfter = "30s"
)

// service is the one running service of this package.
type service struct {
	base, data, databaseURL, temporal string
	log                               *served.Log
	err                               error
}

var (
	theService = sync.OnceValue(startService)
	stopMu     sync.Mutex
	stops      []func()
	binary     string
)

func TestMain(m *testing.M) {
	code := m.Run()
	stopMu.Lock()
	for _, stop := range stops {
		stop()
	}
	os.Exit(code)
}

func start(t *testing.T) *service {
	t.Helper()
	stopMu.Lock()
	binary = temporaltest.Binary(t)
	stopMu.Unlock()
	s := theService()
	require.NoError(t, s.err)
	return s
}

func atEnd(stop func()) {
	stopMu.Lock()
	defer stopMu.Unlock()
	stops = append([]func(){stop}, stops...) // the service before its servers
}

func startService() *service {
	s := &service{log: &served.Log{}}
	s.err = s.start()
	return s
}

func (s *service) start() error {
	dir, err := scratch.NewIn("/var/tmp", "mr-webhooks")
	if err != nil {
		return err
	}
	atEnd(func() { dir.Remove() }) // if this fails, the next run removes the directory
	if err := ports.ForServers(dir.Path); err != nil {
		return err
	}
	stack, err := localstack.Start(context.Background(), localstack.Options{
		DataDir: dir.Path, TemporalBinary: binary, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return err
	}
	atEnd(func() { stack.Close(context.Background()) })
	s.databaseURL, s.temporal, s.data = stack.DatabaseURL, stack.TemporalAddress, filepath.Join(dir.Path, "data")
	addr, err := ports.Address()
	if err != nil {
		return err
	}
	s.base = "http://" + addr
	env := map[string]string{
		"DATABASE_URL": stack.DatabaseURL, "TEMPORAL_ADDRESS": stack.TemporalAddress, "MILLRACE_DATA": s.data,
		"MILLRACE_WEBHOOK_ALLOW": theReceivers().addr, "MILLRACE_WEBHOOK_TIMEOUT": timeout, "MILLRACE_WEBHOOK_RETRIES": retries,
		"MILLRACE_WEBHOOK_DISABLE_AFTER": disableAfter,
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		cmd := cli.Command(s.log, s.log, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		cmd.SetArgs([]string{"serve", "--addr", addr, "--auth", "keys", "--log", "debug", "--admin-token", adminToken})
		ended <- cmd.ExecuteContext(ctx)
	}()
	atEnd(func() { cancel(); <-ended })
	return served.AwaitReady(s.base, 2*patience, ended)
}

// run executes a command of the program's own command line and returns its output.
func (s *service) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.try(t, args...)
	require.NoError(t, err, out)
	return out
}

func (s *service) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	env := map[string]string{"DATABASE_URL": s.databaseURL, "TEMPORAL_ADDRESS": s.temporal}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	return served.Command(t.Context(), lookup, append(args, "--data", s.data)...)
}

// client calls the service with the key of an account of its own.
type client struct {
	t                       *testing.T
	s                       *service
	base, key, name, number string
}

func newClient(t *testing.T) *client {
	t.Helper()
	s := start(t)
	name := strings.ReplaceAll(t.Name(), "/", "-") + fmt.Sprint(time.Now().UnixNano())
	id := served.LastLine(s.run(t, "accounts", "create", name, "--tier", "pro"))
	return &client{t: t, s: s, base: s.base, name: name, number: id, key: served.LastLine(s.run(t, "keys", "create", "--account", name))}
}

// reply is a complete answer.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.body), &v), r.body)
	return v
}

// do sends a request; headers come in pairs. Answers are checked against the OpenAPI document.
func (c *client) do(method, path, body string, headers ...string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	require.NoError(c.t, err)
	req.Header.Set("X-API-Key", c.key)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := (&http.Client{Transport: openapitest.Transport(c.t, http.DefaultTransport)}).Do(req)
	require.NoError(c.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	return reply{res.StatusCode, res.Header, string(raw)}
}

func (c *client) json(method, path, body string) map[string]any {
	c.t.Helper()
	r := c.do(method, path, body)
	require.Less(c.t, r.status, 300, r.body)
	return r.json(c.t)
}

// admin calls the admin API.
func (c *client) admin(method, path, body string) reply {
	c.t.Helper()
	return c.do(method, "/admin"+path, body, "Authorization", "Bearer "+adminToken, "X-API-Key", "")
}

// endpoint is a registered webhook.
type endpoint struct{ id, secret string }

func (c *client) register(url string, events ...string) endpoint {
	c.t.Helper()
	body, err := json.Marshal(map[string]any{"url": url, "events": events})
	require.NoError(c.t, err)
	r := c.do("POST", "/api/v2/webhooks", string(body))
	require.Equal(c.t, http.StatusCreated, r.status, r.body)
	made := r.json(c.t)
	id, _ := made["id"].(string)
	secret, _ := made["secret"].(string)
	require.NotEmpty(c.t, secret)
	return endpoint{id, secret}
}

func (e endpoint) path() string { return "/api/v2/webhooks/" + e.id }

const graph = `{"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":COLOR}},
	"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"hook"}}}`

// submit runs a small graph and returns the job's id.
func (c *client) submit() string {
	c.t.Helper()
	colour := fmt.Sprint(time.Now().UnixNano() % 0xffffff)
	id, _ := c.json("POST", "/api/v2/jobs", `{"workflow":`+strings.ReplaceAll(graph, "COLOR", colour)+`}`)["id"].(string)
	require.NotEmpty(c.t, id)
	return id
}

// until polls a condition for which there is no notification.
func (c *client) until(what string, done func() bool) {
	c.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			c.t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

func (c *client) deliveries(e endpoint, query string) []map[string]any {
	c.t.Helper()
	var all []map[string]any
	list, _ := c.json("GET", e.path()+"/deliveries"+query, "")["deliveries"].([]any)
	for _, d := range list {
		all = append(all, d.(map[string]any))
	}
	return all
}

// awaitDelivery polls the newest delivery of an endpoint until it has a status.
func (c *client) awaitDelivery(e endpoint, status string) map[string]any {
	c.t.Helper()
	var found map[string]any
	c.until("a delivery is "+status, func() bool {
		if all := c.deliveries(e, "?limit=1"); len(all) == 1 {
			found = all[0]
		}
		return found != nil && found["status"] == status
	})
	return found
}

// recorded returns the stored events of an account's webhooks.
func (s *service) recorded(t *testing.T, account string) string {
	t.Helper()
	return s.query(t, `select coalesce(string_agg(type || ' ' || data::text || ' ' || meta::text, E'\n' order by position), '') from events
		where stream = 'webhooks-' || $1`, account)
}

// dump returns every event, view, delivery and outcome in the database, as text.
func (s *service) dump(t *testing.T) string {
	t.Helper()
	return s.query(t, `select (select string_agg(e::text, E'\n') from events e) || (select string_agg(v::text, E'\n') from webhooks_v1 v)
		|| (select string_agg(d::text, E'\n') from webhook_deliveries d)|| (select string_agg(encode(sealed, 'escape'), E'\n')
			from webhook_endpoints)`)
}

func (s *service) query(t *testing.T, sql string, args ...any) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.databaseURL)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var text string
	require.NoError(t, conn.QueryRow(t.Context(), sql, args...).Scan(&text))
	return text
}
