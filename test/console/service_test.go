package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/test/served"
)

const (
	patience   = 3 * time.Minute
	adminToken = "operators-only-operators-only"
)

// service is the running service that the tests of this package share.
type service struct {
	base, data string
	log        served.Log
	stop       func()
	err        error
}

var (
	theService = sync.OnceValue(func() *service { return startService() })
	theEditor  = sync.OnceValue(func() *service { return startService("--editor", editorDir) })
	editorDir  string // directory of a published editor; set before theEditor is called
)

func TestMain(m *testing.M) {
	code := m.Run()
	if begun {
		theService().stop()
	}
	if editorDir != "" {
		theEditor().stop()
	}
	os.Exit(code)
}

var begun bool // whether theService was called; set before tests run in parallel

func start(t *testing.T) *service {
	t.Helper()
	startMu.Lock()
	defer startMu.Unlock()
	require.NoError(t, os.Setenv(temporal.BinaryEnv, temporaltest.Binary(t)))
	require.NoError(t, os.Setenv("MILLRACE_WEBHOOK_ALLOW", "127.0.0.1:"+receiverPort(t))) // allows messages to this machine
	begun = true
	s := theService()
	require.NoError(t, s.err, s.log.String())
	return s
}

var startMu sync.Mutex // guards begun and the environment

var theReceiver = sync.OnceValue(func() *receiver {
	r := &receiver{}
	r.server = httptest.NewServer(r)
	return r
})

// receiver is the application of an account. It answers messages with the status in the last part of their path.
type receiver struct{ server *httptest.Server }

// ServeHTTP implements http.Handler.
func (*receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, err := strconv.Atoi(path.Base(r.URL.Path))
	if err != nil {
		status = http.StatusOK
	}
	w.WriteHeader(status)
}

func receiverPort(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(theReceiver().server.URL)
	require.NoError(t, err)
	return u.Port()
}

func startService(more ...string) *service {
	s := &service{stop: func() {}}
	dir, err := scratch.New("mr-console")
	if err != nil {
		s.err = err
		return s
	}
	addr, err := ports.Address()
	s.base, s.data = "http://"+addr, filepath.Join(dir.Path, "data")
	if s.err = errors.Join(err, ports.ForServers(s.data)); s.err != nil {
		return s
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		cmd := cli.Command(io.Discard, &s.log, os.LookupEnv)
		cmd.SetArgs(append([]string{"dev", "--data", s.data, "--addr", addr, "--auth", "keys", "--admin-token", adminToken}, more...))
		ended <- cmd.ExecuteContext(ctx)
	}()
	s.stop = func() { cancel(); <-ended; dir.Remove() }  // if this fails, the next run removes the directory
	s.err = served.AwaitReady(s.base, 2*patience, ended) // several services start together
	return s
}

// person has an account and a browser's cookie.
type person struct {
	t               *testing.T
	s               *service
	account, key    string
	cookie          *http.Cookie
	withoutRedirect *http.Client
}

// newPerson makes an account with a key, and signs in.
func newPerson(t *testing.T) *person {
	t.Helper()
	return start(t).newPerson(t)
}

func (s *service) newPerson(t *testing.T) *person {
	t.Helper()
	p := &person{t: t, s: s, account: fmt.Sprintf("%s-%d", strings.ToLower(t.Name()), time.Now().UnixNano())}
	s.command(t, "accounts", "create", p.account, "--tier", "pro")
	p.key = s.command(t, "keys", "create", "--account", p.account)
	p.signIn(p.key)
	return p
}

// newOperator signs in with the operators' credential.
func newOperator(t *testing.T) *person {
	t.Helper()
	p := &person{t: t, s: start(t)}
	p.signIn(adminToken)
	return p
}

func (s *service) command(t *testing.T, args ...string) string {
	t.Helper()
	out, err := served.Command(t.Context(), os.LookupEnv, append(args, "--data", s.data)...)
	require.NoError(t, err, out)
	return served.LastLine(out)
}

func (p *person) signIn(key string) {
	p.t.Helper()
	p.withoutRedirect = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res := p.send(http.MethodPost, "/console/signin", url.Values{"key": {key}}.Encode())
	require.Equal(p.t, http.StatusSeeOther, res.status, res.body)
	p.cookie = res.cookies[0]
}

type reply struct {
	status  int
	header  http.Header
	body    string
	cookies []*http.Cookie
}

// send sends a form, or requests a page.
func (p *person) send(method, path, form string, headers ...string) reply {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.s.base+path, strings.NewReader(form))
	require.NoError(p.t, err)
	if p.cookie != nil {
		req.AddCookie(p.cookie)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := p.withoutRedirect.Do(req)
	require.NoError(p.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(p.t, err)
	return reply{res.StatusCode, res.Header, string(raw), res.Cookies()}
}

func (p *person) get(path string) reply { p.t.Helper(); return p.send(http.MethodGet, path, "") }

func (p *person) post(path string, form url.Values, headers ...string) reply {
	p.t.Helper()
	return p.send(http.MethodPost, path, form.Encode(), headers...)
}

// page returns a page, which must exist.
func (p *person) page(path string) string {
	p.t.Helper()
	r := p.get(path)
	require.Equal(p.t, http.StatusOK, r.status, r.body)
	return r.body
}

// wire returns the number of bytes that a browser reads for a page.
func (p *person) wire(path string) int {
	p.t.Helper()
	r := p.send(http.MethodGet, path, "", "Accept-Encoding", "gzip")
	require.Equal(p.t, http.StatusOK, r.status, path)
	require.Equal(p.t, "gzip", r.header.Get("Content-Encoding"), path)
	return len(r.body)
}

// api calls the API with the person's key.
func (p *person) api(method, path, body string) map[string]any {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.s.base+path, strings.NewReader(body))
	require.NoError(p.t, err)
	req.Header.Set("X-API-Key", p.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(p.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(p.t, err)
	require.Less(p.t, res.StatusCode, 300, string(raw))
	answer := map[string]any{}
	require.NoError(p.t, json.Unmarshal(raw, &answer), string(raw))
	return answer
}

// submit sends a submission and returns the id of its job.
func (p *person) submit(body string) string {
	p.t.Helper()
	id, _ := p.api(http.MethodPost, "/api/prompt", body)["prompt_id"].(string)
	require.NotEmpty(p.t, id)
	return id
}

// run submits a graph and waits for its end.
func (p *person) run(graph string) string {
	p.t.Helper()
	id := p.submit(`{"prompt":` + graph + `}`)
	p.ended(id)
	return id
}

// ended waits for the end of a job.
func (p *person) ended(id string) {
	p.t.Helper()
	p.await("the end of the job", func() bool {
		word, _ := p.api(http.MethodGet, "/api/job/"+id+"/status", "")["status"].(string)
		return word == "completed" || word == "failed" || word == "cancelled" || word == "error"
	})
}

// await waits until a condition holds.
func (p *person) await(what string, so func() bool) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		require.True(p.t, time.Now().Before(deadline), "waited for %s", what)
		<-tick.C
	}
}

// picture returns a graph that makes a picture of one colour and saves it.
func picture(prefix string, colour int) string {
	return fmt.Sprintf(`{"1":{"class_type":"EmptyImage","inputs":{"width":320,"height":200,"batch_size":1,"color":%d},"_meta":{"title":"The `+
		`colour"}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":%q}}}`, colour, prefix)
}

func itoa(n int) string { return fmt.Sprint(n) }
