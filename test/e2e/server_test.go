// Package e2e drives the whole service over HTTP: a private PostgreSQL, a real Temporal
// server and all roles in one process, as `millrace dev` starts them, with accounts and keys
// made by its own commands.
package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/openapi/openapitest"
	"github.com/millrace-dev/millrace/test/served"
)

// patience bounds every wait, far above the usual time.
const patience = 5 * time.Minute

// service is the one running service of this package.
type service struct {
	*served.Service
	err error
}

var theService = sync.OnceValue(startService)

var (
	stopMu sync.Mutex
	stops  []func()
)

func TestMain(m *testing.M) {
	code := m.Run()
	stopMu.Lock()
	for _, stop := range stops {
		stop()
	}
	os.Exit(code)
}

// start returns the running service.
func start(t *testing.T) *service {
	t.Helper()
	served.UseTemporal(t)
	s := theService()
	require.NoError(t, s.err)
	return s
}

func startService() *service {
	_, traces := theTraces()
	set := map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": traces, "MILLRACE_PRICE_RUN": "0.004", "MILLRACE_JWT_SECRET": tokenSecret,
		"MILLRACE_ROUTER_CONCURRENCY": "0:1,0.000001:5,100:10", // a call that runs keeps others of its account waiting
		"MILLRACE_NODE_CACHE_FROM":    "1ms",                   // what a node with a picture made is cached on the fastest machine too
	}
	s := &service{}
	s.Service, s.err = served.Dev(served.Options{
		Name: "mr-e2e", Args: []string{"--auth", "keys", "--log", "error", "--admin-token", adminToken},
		Prepare: func(dir string) ([]string, error) {
			editor, err := anEditor(dir)
			return []string{"--editor", editor}, err
		},
		Lookup: func(name string) (string, bool) {
			if value, ok := set[name]; ok {
				return value, true
			}
			return os.LookupEnv(name)
		},
		Patience: 2 * patience,
	})
	stopMu.Lock()
	defer stopMu.Unlock()
	stops = append(stops, s.Stop)
	return s
}

// client calls the service with the key of an account of its own.
type client struct {
	t         *testing.T
	base, key string
	account   string // its name
}

// newClient makes an account of that tier, with a key.
func newClient(t *testing.T, tier string) *client {
	t.Helper()
	s := start(t)
	name := strings.ReplaceAll(t.Name(), "/", "-") + fmt.Sprint(time.Now().UnixNano())
	s.Run(t, "accounts", "create", name, "--tier", tier)
	return &client{t: t, base: s.Base, key: s.Run(t, "keys", "create", "--account", name), account: name}
}

// reply is an answer that was read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request; headers come in pairs.
func (c *client) do(method, path, body string, headers ...string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url(path), strings.NewReader(body))
	require.NoError(c.t, err)
	req.Header.Set("X-API-Key", c.key)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return c.send(req)
}

func (c *client) url(path string) string {
	if strings.HasPrefix(path, "http") {
		return path
	}
	return c.base + path
}

func (c *client) send(req *http.Request) reply {
	c.t.Helper()
	direct := &http.Client{
		Transport:     openapitest.Transport(c.t, http.DefaultTransport),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := direct.Do(req)
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
	return decode(c.t, r.body)
}

func decode(t *testing.T, body string) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &v), body)
	return v
}

// submit sends a graph to POST /api/prompt and returns the job's id.
func (c *client) submit(graph string) string {
	c.t.Helper()
	id, _ := c.json("POST", "/api/prompt", `{"prompt":`+graph+`}`)["prompt_id"].(string)
	require.NotEmpty(c.t, id)
	return id
}

func (c *client) status(id string) string {
	c.t.Helper()
	word, _ := c.json("GET", "/api/job/"+id+"/status", "")["status"].(string)
	return word
}

// await polls until the job has the status. It is patient for as long as the nodes of the job make progress: on a busy machine, a job of
// many nodes takes longer than anything else.
func (c *client) await(id, want string) {
	c.t.Helper()
	deadline, before := time.Now().Add(patience), any(nil)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		got := c.status(id)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			require.Contains(c.t, []string{"pending", "in_progress"}, got, "job %s, which should become %s", id, want)
			done := c.json("GET", "/api/v2/jobs/"+id, "")["progress"]
			require.NotEqual(c.t, before, done, "job %s is %s, not %s", id, got, want)
			deadline, before = time.Now().Add(patience), done
		}
		<-tick.C
	}
}

// ended waits for the end of the job at an address, and returns what is read there then. The service answers after half a minute at
// the latest, which a job may exceed on a busy machine.
func (c *client) ended(address string) reply {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		r := c.do("GET", address, "", "Prefer", "wait=30")
		status := decode(c.t, r.body)["status"]
		if status != "queued" && status != "running" || time.Now().After(deadline) {
			return r
		}
	}
}

// upload sends an image to POST /api/upload/image.
func (c *client) upload(name string, data []byte) reply {
	c.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("image", name)
	require.NoError(c.t, err)
	_, err = part.Write(data)
	require.NoError(c.t, err)
	require.NoError(c.t, form.WriteField("type", "input"))
	require.NoError(c.t, form.Close())
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.base+"/api/upload/image", &body)
	require.NoError(c.t, err)
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("X-API-Key", c.key)
	return c.send(req)
}
