package machines_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui/machines/machinestest"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// The variable has the key of the signatures that the tests check.
const (
	variable = "POOL_TEST_KEY"
	key      = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
)

func TestMain(m *testing.M) {
	for _, name := range []string{variable, "MILLRACE_KEY"} {
		if err := os.Setenv(name, key); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// cloud has the machines of a pool behind one kind of provider.
type cloud interface {
	provider(t *testing.T) pool.Provider
	alive() []string
	stray(name string) // somebody starts a machine
	breaks(calls bool) // calls fail; a start makes a machine all the same
}

// directory is a cloud whose machines are files, made and removed by commands.
type directory struct{ dir string }

func (d directory) provider(*testing.T) pool.Provider {
	guard := "cd " + d.dir + "; "
	return pool.Provider{
		Start: guard + "touch pod-$$; test ! -e broken && echo pod-$$",
		Stop:  guard + "test ! -e broken && rm {machine}",
		List:  guard + "test ! -e broken && ls",
	}
}

func (d directory) alive() (all []string) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		if e.Name() != "broken" {
			all = append(all, e.Name())
		}
	}
	return all
}

func (d directory) touch(name string) {
	if err := os.WriteFile(filepath.Join(d.dir, name), nil, 0o600); err != nil {
		panic(err)
	}
}

func (d directory) stray(name string) { d.touch(name) }

func (d directory) breaks(calls bool) {
	if calls {
		d.touch("broken")
	} else if err := os.Remove(filepath.Join(d.dir, "broken")); err != nil {
		panic(err)
	}
}

// hooks is a cloud behind webhooks, whose signatures it checks.
type hooks struct {
	mu       sync.Mutex
	machines map[string]bool
	broken   bool
	server   *httptest.Server
}

func newHooks(t *testing.T) *hooks {
	t.Helper()
	h := &hooks{machines: map[string]bool{}}
	h.server = httptest.NewServer(h)
	t.Cleanup(h.server.Close)
	return h
}

func (h *hooks) provider(*testing.T) pool.Provider {
	return pool.Provider{
		Kind: pool.Webhook, Start: h.server.URL + "/start", Stop: h.server.URL + "/stop", List: h.server.URL + "/list", Secret: variable,
	}
}

// ServeHTTP implements http.Handler.
func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	var m struct{ Pool, Machine, Token string }
	if err != nil || !signed(r.Header, body) || json.Unmarshal(body, &m) != nil || m.Pool != "p" {
		http.Error(w, "password: hunter2", http.StatusForbidden)
		return
	}
	if r.URL.Path == "/start" {
		if m.Machine == "" || !strings.HasPrefix(m.Token, "millrace-server-") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		m.Machine = fmt.Sprintf("pod-of-%s", m.Machine)
		h.machines[m.Machine] = true
	}
	if h.broken {
		http.Error(w, "password: hunter2", http.StatusInternalServerError)
		return
	}
	switch r.URL.Path {
	case "/start":
		fmt.Fprintf(w, `{"machine":%q}`, m.Machine)
	case "/stop":
		delete(h.machines, m.Machine)
	case "/list":
		_ = json.NewEncoder(w).Encode(slices.AppendSeq([]string{}, maps.Keys(h.machines)))
	}
}

func signed(h http.Header, body []byte) bool {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, raw)
	fmt.Fprintf(mac, "%s.%s.%s", h.Get("webhook-id"), h.Get("webhook-timestamp"), body)
	return h.Get("webhook-signature") == "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func (h *hooks) alive() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.machines))
}

func (h *hooks) stray(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.machines[name] = true
}

func (h *hooks) breaks(calls bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = calls
}

// pods is a cloud of pods of a Deployment.
type pods struct{ *machinestest.Cluster }

func (p pods) provider(*testing.T) pool.Provider { return p.Provider(8188, "") }
func (p pods) stray(string)                      { p.Resize(1) }

func (p pods) alive() []string {
	names, _, _ := p.Pods()
	return names
}

func (p pods) breaks(calls bool) {
	if !calls {
		p.Refuse(0)
		return
	}
	p.Resize(1) // an earlier call was broken off
	p.Refuse(http.StatusServiceUnavailable)
}

// onClouds runs a test with each kind of provider.
func onClouds(t *testing.T, test func(t *testing.T, c cloud, b *bench)) {
	t.Helper()
	for kind, open := range map[pool.Kind]func(*testing.T) cloud{
		pool.Command: func(t *testing.T) cloud { return directory{t.TempDir()} },
		pool.Webhook: func(t *testing.T) cloud { return newHooks(t) },
		pool.Kubernetes: func(t *testing.T) cloud {
			p := pods{machinestest.New(t)}
			p.Started = func(string) string { return "10.0.0.9" }
			return p
		},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := open(t)
			b := keep(t, c.provider(t))
			if h, ok := c.(*hooks); ok {
				b.allow(t, h.server.URL)
			}
			spec := pool.Spec{Provider: b.p.Provider}
			spec.Max = 1
			require.NoError(t, spec.Check())
			test(t, c, b)
		})
	}
}

func (b *bench) allow(t *testing.T, address string) {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	b.Allow = []string{u.Host}
}

func TestMachinesAreStopped(t *testing.T) {
	t.Parallel()
	onClouds(t, func(t *testing.T, c cloud, b *bench) {
		require.NoError(t, b.Start(t.Context(), "p", "p-1"))
		require.Equal(t, []string{b.p.Machine("p-1").Handle}, c.alive())
		require.NoError(t, b.Change(t.Context(), "p", server.By{}, func(pool.Pool) []any {
			return []any{pool.JoinedV1{Machine: "p-1", Server: "s"}}
		}))
		b.work = []pool.Work{{Machine: "p-1", Server: "s", Segments: 2, Seconds: 7}}
		b.servers = []*server.Server{{ID: "s", Leases: []server.Lease{{}}}}
		require.NoError(t, b.Stop(t.Context(), "p", "p-1"))
		require.Len(t, c.alive(), 1, "a machine that works is not stopped")

		b.servers[0].Leases = nil
		c.breaks(true)
		before := c.alive()
		require.ErrorContains(t, b.Stop(t.Context(), "p", "p-1"), "failed: ")
		require.NotNil(t, b.p.Machine("p-1"), "it may exist")
		require.Equal(t, before, c.alive())
		c.breaks(false)
		require.NoError(t, b.Stop(t.Context(), "p", "p-1"))
		require.Nil(t, b.p.Machine("p-1"))
		require.Len(t, c.alive(), len(before)-1)
		require.Empty(t, b.servers)
		last, ok := b.events[len(b.events)-1].(pool.StoppedV1)
		require.True(t, ok)
		require.Equal(t, int64(2), last.Segments)
		require.Equal(t, int64(7), last.Work)
		require.Equal(t, server.ID("s"), last.Server)
		require.NoError(t, b.Stop(t.Context(), "p", "p-1"), "again changes nothing")
		require.NotContains(t, b.log.String(), "hunter2")
	})
}

// A machine that its provider does not list any more has ended, whatever its stop says.
func TestAMachineThatIsGoneHasStopped(t *testing.T) {
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "list")
	b := keep(t, pool.Provider{Start: "echo pod-7", Stop: "echo {machine}; exit 4", List: "cat " + trace})
	require.NoError(t, b.Start(t.Context(), "p", "p-1"))
	require.ErrorContains(t, b.Stop(t.Context(), "p", "p-1"), "exit status 4", "what exists is not known")
	require.NoError(t, os.WriteFile(trace, []byte("pod-7\n"), 0o600))
	require.Error(t, b.Stop(t.Context(), "p", "p-1"), "it is still listed")
	require.NoError(t, os.WriteFile(trace, []byte("pod-8\n"), 0o600))
	require.NoError(t, b.Stop(t.Context(), "p", "p-1"), "it is not listed any more")
	require.Nil(t, b.p.Machine("p-1"))
}

// A pool of two machines: what others start and what failing starts leave behind is found and stopped, there are never more than two
// machines of its own, and none is left at the end.
func TestPoolsKeepTheirPromises(t *testing.T) {
	t.Parallel()
	onClouds(t, func(t *testing.T, c cloud, b *bench) {
		b.p.State = pool.State{}.After(pool.AppliedV1{Terms: pool.Terms{Min: 2, Max: 2, Join: 3600e9, Idle: 3600e9}, Classes: "c"}, time.Now())
		round := func() (over bool) { // one decision, whose orders are carried out at once
			b.ListAgain()
			orders, over, err := b.Next(t.Context(), "p", nil)
			require.NoError(t, err)
			var group sync.WaitGroup
			for _, m := range orders.Start {
				group.Go(func() { require.NoError(t, b.Start(t.Context(), "p", m)) })
			}
			for _, m := range orders.Stop {
				group.Go(func() { _ = b.Stop(t.Context(), "p", m) }) // it is tried again
			}
			group.Wait()
			return over
		}
		c.stray("stray-1")
		settled := func() bool {
			for _, m := range b.p.Machines {
				if m.Phase != pool.Starting || !slices.Contains(c.alive(), m.Handle) {
					return false
				}
			}
			return len(b.p.Machines) == 2 && len(c.alive()) == 2
		}
		for n := 0; !settled(); n++ {
			require.Less(t, n, 20, "%+v %v", b.p.State, c.alive())
			round()
			require.LessOrEqual(t, len(c.alive()), 3, "two, and the one of somebody else")
		}
		require.True(t, slices.ContainsFunc(b.events, func(e any) bool { _, found := e.(pool.FoundV1); return found }))

		require.NoError(t, b.Change(t.Context(), "p", server.By{}, func(pool.Pool) []any { // one is lost, and every call fails
			return []any{pool.LostV1{Machine: b.p.Machines[0].ID, Cause: "test"}}
		}))
		c.breaks(true)
		for range 3 {
			round()
		}
		require.LessOrEqual(t, len(c.alive()), 2+3, "what failing starts leave behind")
		c.breaks(false)
		for n := 0; !settled(); n++ {
			require.Less(t, n, 20, "%+v %v", b.p.State, c.alive())
			round()
		}
		if _, ok := c.(pods); ok {
			_, _, most := c.(pods).Pods()
			require.LessOrEqual(t, most, 2+2, "two, and those of others")
			require.Contains(t, strings.Join(b.joined, "\n"), b.p.Machines[0].ID+" http://10.0.0.9:8188", "pods do not register themselves")
		} else {
			require.Empty(t, b.joined)
		}

		require.NoError(t, b.Change(t.Context(), "p", server.By{}, func(pool.Pool) []any { return []any{pool.RemovedV1{}} }))
		c.stray("stray-2")
		for n := 0; !round(); n++ {
			require.Less(t, n, 20, "%+v %v", b.p.State, c.alive())
		}
		require.Empty(t, c.alive())
	})
}

func TestWebhooksThatStartMachines(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status                int
		answer, cause, handle string
		secret                string
		public                bool
	}{
		"answers with an id":    {answer: `{"machine":"pod-7","password":"hunter2"}`, handle: "pod-7"},
		"hangs":                 {status: -1, cause: "its start request took longer than 5s"},
		"fails":                 {status: 500, answer: "hunter2", cause: "its start request failed: status 500"},
		"goes elsewhere":        {status: 307, cause: "its start request failed: status 307"},
		"starts two":            {answer: `["pod-7","pod-8"]`, cause: "its start request gave no JSON of the form that is needed"},
		"answers nothing":       {cause: "its start request gave no JSON of the form that is needed"},
		"answers with no id":    {answer: `{"id":"pod-7"}`, cause: "its start request gave a text that is no id of a machine"},
		"answers a password":    {answer: `{"machine":"password: hunter2"}`, cause: "its start request gave a text that is no id of a machine"},
		"answers its token":     {answer: `TOKEN`, cause: "its start request gave a text that is no id of a machine"},
		"answers without end":   {answer: `"` + strings.Repeat("hunter2", 1e5), cause: "its start request gave more than 262144 bytes"},
		"closes the connection": {status: -2, cause: "its start request got no answer"},
		"has no key": {
			secret: "POOL_TEST_NONE",
			cause:  "its start request cannot be signed: the workers need a key such as whsec_… in the variable POOL_TEST_NONE",
		},
		"has a key of Millrace": {
			secret: "MILLRACE_KEY",
			cause:  "its start request cannot be signed: the workers need a key such as whsec_… in the variable MILLRACE_KEY",
		},
		"is not allowed": {
			public: true, cause: "its start request was not sent: only public https addresses are reached, and those of MILLRACE_WEBHOOK_ALLOW",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			over := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var m struct{ Token string }
				_ = json.NewDecoder(r.Body).Decode(&m)
				switch test.status {
				case -1:
					<-over
				case -2:
					panic(http.ErrAbortHandler)
				case 0:
				default:
					w.Header().Set("Location", "http://127.0.0.1:1/hunter2")
					w.WriteHeader(test.status)
				}
				_, _ = io.WriteString(w, strings.ReplaceAll(test.answer, "TOKEN", `{"machine":"`+m.Token+`"}`))
			}))
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(over) })
			b := keep(t, pool.Provider{Kind: pool.Webhook, Start: server.URL, Stop: server.URL, List: server.URL, Secret: test.secret})
			b.Allowed = false // it is for programs
			if !test.public {
				b.allow(t, server.URL)
			}
			b.starts(t, test.handle, test.cause)
		})
	}
}

func TestDeploymentsThatStartMachines(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wrong         string // appended to the token
		prepare       func(*machinestest.Cluster, *bench)
		handle, cause string
		replicas      int // afterwards
	}{
		"scales up":         {handle: "comfy-1", replicas: 1},
		"has another's pod": {prepare: func(c *machinestest.Cluster, _ *bench) { c.Resize(1) }, handle: "comfy-1 or comfy-2", replicas: 2},
		"a wrong token":     {wrong: "x", cause: "its start request failed: status 401"},
		"fails":             {prepare: func(c *machinestest.Cluster, _ *bench) { c.Refuse(403) }, cause: "its start request failed: status 403"},
		"no pod comes":      {prepare: func(c *machinestest.Cluster, _ *bench) { c.Fill() }, cause: "its start request took longer than 5s"},
		"has max replicas": {
			prepare: func(c *machinestest.Cluster, _ *bench) { c.Resize(3) }, replicas: 3,
			cause: "its start request was not sent: the Deployment has 3 replicas already",
		},
		"an API that is away": {
			prepare: func(_ *machinestest.Cluster, b *bench) { b.p.Provider.Server = "https://127.0.0.1:1" },
			cause:   "its start request got no answer",
		},
		"another certificate": {
			prepare: func(_ *machinestest.Cluster, b *bench) { b.p.CAFile = "" }, cause: "its start request got no answer",
		},
		"no token": {
			prepare: func(_ *machinestest.Cluster, b *bench) { b.p.TokenFile = "/nowhere" },
			cause:   "the token of Kubernetes cannot be read from token_file",
		},
		"not allowed": {
			prepare: func(_ *machinestest.Cluster, b *bench) { b.Allowed = false },
			cause:   "pools of the kind kubernetes are switched off: set MILLRACE_POOL_COMMANDS=true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := machinestest.New(t)
			b := keep(t, c.Provider(8188, test.wrong))
			if test.prepare != nil {
				test.prepare(c, b)
			}
			if first, other, ok := strings.Cut(test.handle, " or "); ok {
				require.NoError(t, b.Start(t.Context(), "p", "p-1"))
				require.Contains(t, []string{first, other}, b.p.Machine("p-1").Handle)
			} else {
				b.starts(t, test.handle, test.cause)
			}
			_, replicas, _ := c.Pods()
			require.Equal(t, test.replicas, replicas)
		})
	}
}

// A machine whose pod was evicted ends without a change of the replicas: the pod that replaces it is stopped as one that nobody knows.
// The Deployment has a pod too many while a machine ends. When it is scaled down, the pod that a machine has just taken stays.
func TestAPodThatIsTakenIsNotScaledDown(t *testing.T) {
	t.Parallel()
	c := machinestest.New(t)
	b := keep(t, c.Provider(8188, ""))
	b.p.Spec.Max = 2
	c.Resize(1)
	require.NoError(t, b.Start(t.Context(), "p", "p-1"))
	c.Resize(-1)
	alive, _, _ := c.Pods()
	require.Equal(t, []string{b.p.Machine("p-1").Handle}, alive)
}

func TestAnEvictedPodIsNotScaledDown(t *testing.T) {
	t.Parallel()
	c := machinestest.New(t)
	b := keep(t, c.Provider(8188, ""))
	require.NoError(t, b.Start(t.Context(), "p", "p-1"))
	c.Evict("comfy-1")
	require.NoError(t, b.Stop(t.Context(), "p", "p-1"))
	names, replicas, _ := c.Pods()
	require.Equal(t, []string{"comfy-2"}, names)
	require.Equal(t, 1, replicas)
}
