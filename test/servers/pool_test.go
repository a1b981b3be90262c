package servers_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui/machines/machinestest"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// callMode makes the test binary send a request and print the answer, as a command of a pool.
const callMode = "call-a-provider"

// call is the command of callMode: it fails where the provider refuses.
func call(address string) {
	res, err := http.Post(address, "text/plain", nil)
	if err != nil {
		os.Exit(7)
	}
	defer res.Body.Close()
	_, err = io.Copy(os.Stdout, res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		os.Exit(8)
	}
	os.Exit(0)
}

// provider rents machines, which are simulated servers.
type provider struct {
	t       *testing.T
	base    string // of Millrace
	address string
	kind    pool.Kind
	cluster *machinestest.Cluster // of a pool of the kind kubernetes
	port    string                // of the servers in its pods

	mu       sync.Mutex
	machines map[string]*comfyui.Machine
	most     int
	started  int
	failEach int // every so manieth start fails; 0 = none
	tokens   map[string]string
}

var checkpoints = []string{"a.safetensors", "b.safetensors", "c.safetensors"}

func rent(t *testing.T, kind pool.Kind) *provider {
	t.Helper()
	p := &provider{t: t, kind: kind, machines: map[string]*comfyui.Machine{}, tokens: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /start", p.start)
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, r *http.Request) {
		if machine, _ := asked(r); !p.end(machine) {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	mux.HandleFunc("POST /list", func(w http.ResponseWriter, _ *http.Request) {
		if kind == pool.Webhook {
			_ = json.NewEncoder(w).Encode(append([]string{}, p.alive()...))
			return
		}
		for _, id := range p.alive() {
			_, _ = io.WriteString(w, id+"\n")
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.address = server.URL
	if kind == pool.Kubernetes {
		p.cluster = machinestest.New(t)
		first, err := comfyui.Start("127.1.0.1:0", comfyui.Options{})
		require.NoError(t, err)
		_, p.port, err = net.SplitHostPort(strings.TrimPrefix(first.URL(), "http://"))
		require.NoError(t, err)
		first.Close()
		p.cluster.Started = p.pod
		p.cluster.Stopped = func(pod string) { p.end(pod) }
	}
	return p
}

// asked returns the machine and the token of a request: its parameters, or the members of its body.
func asked(r *http.Request) (machine, token string) {
	var body struct{ Machine, Token string }
	if r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&body) != nil {
		return r.FormValue("machine"), r.FormValue("token")
	}
	return body.Machine, body.Token
}

// pod starts the server of a pod at an address of its own.
func (p *provider) pod(name string) (ip string) {
	p.mu.Lock()
	p.started++
	ip = fmt.Sprintf("127.1.%d.%d", p.started/250, p.started%250+1)
	p.mu.Unlock()
	m, err := comfyui.Start(net.JoinHostPort(ip, p.port), comfyui.Options{Checkpoints: checkpoints, Step: 10 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.machines[name] = m
	return ip
}

func (p *provider) start(w http.ResponseWriter, r *http.Request) {
	id, token := asked(r)
	p.mu.Lock()
	p.started++
	n := p.started
	fails := p.failEach > 0 && n%p.failEach == 0
	p.mu.Unlock()
	if fails && n%2 == 0 {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "password=hunter2")
		return
	}
	m, err := comfyui.Start("127.0.0.1:0", comfyui.Options{Checkpoints: checkpoints, Step: 10 * time.Millisecond})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	p.mu.Lock()
	p.machines[id], p.tokens[id] = m, token
	p.most = max(p.most, len(p.machines))
	p.mu.Unlock()
	if fails { // but the machine exists, and nobody registers it
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = p.register(token, m.URL())
	_ = json.NewEncoder(w).Encode(map[string]string{"machine": id}) // which the command ignores
}

// register registers a server with a token, as a machine does.
func (p *provider) register(token, address string) (int, string) {
	raw, err := json.Marshal(map[string]any{"url": address, "expires_in": 3600})
	if err != nil {
		return 0, err.Error()
	}
	req, err := http.NewRequest(http.MethodPost, p.base+"/admin/servers", bytes.NewReader(raw))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(body)
}

func (p *provider) end(id string) bool {
	p.mu.Lock()
	m := p.machines[id]
	delete(p.machines, id)
	p.mu.Unlock()
	if m != nil {
		m.Close()
	}
	return m != nil
}

func (p *provider) alive() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.machines))
}

// token returns the token that a machine got.
func (p *provider) token(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tokens[id]
}

// preempt ends a machine, of which its provider tells nobody.
func (p *provider) preempt(id string) bool {
	if p.cluster == nil {
		return p.end(id)
	}
	p.cluster.Evict(id)
	return true
}

// write writes the description of a pool with further lines.
func (p *provider) write(lines string) (file string) {
	p.t.Helper()
	self, err := os.Executable()
	require.NoError(p.t, err)
	call := func(path string) string { return p.address + path }
	if p.kind == pool.Command {
		call = func(path string) string {
			return fmt.Sprintf("%q", fmt.Sprintf("'%s' %s '%s%s?machine={machine}&token={token}'", self, callMode, p.address, path))
		}
	}
	text := fmt.Sprintf("pool: %s\nkind: %s\n", p.kind, p.kind)
	if p.cluster == nil {
		text += fmt.Sprintf("start: %s\nstop: %s\nlist: %s\n", call("/start"), call("/stop"), call("/list"))
	} else {
		port, err := strconv.Atoi(p.port)
		require.NoError(p.t, err)
		by := p.cluster.Provider(port, "")
		text += fmt.Sprintf("deployment: %s\nnamespace: %s\nport: %d\nserver: %s\ntoken_file: %s\nca_file: %s\n", by.Deployment,
			by.Namespace, by.Port, by.Server, by.TokenFile, by.CAFile)
	}
	file = filepath.Join(p.t.TempDir(), "pool.yaml")
	require.NoError(p.t, os.WriteFile(file, []byte(text+lines), 0o600))
	return file
}

// machinesOf returns the phases of the machines of a pool, by the ids of their provider.
func (s *service) machinesOf(kind pool.Kind) map[string]string {
	s.t.Helper()
	var shown struct {
		Machines []struct{ ID, Handle, Phase string }
	}
	require.NoError(s.t, json.Unmarshal([]byte(s.command("pool", "show", string(kind), "--json")), &shown))
	phases := map[string]string{}
	for _, m := range shown.Machines {
		phases[cmp.Or(m.Handle, m.ID)] = m.Phase
	}
	return phases
}

// Machines of each kind of pool come when segments need them, survive failing starts and preemptions, and go. MILLRACE_POOL_JOBS sets the
// jobs, and every fifth of them has a machine preempted.
func TestMachinesComeByDemandAndGo(t *testing.T) {
	t.Parallel()
	jobs := 20
	if text := os.Getenv("MILLRACE_POOL_JOBS"); text != "" {
		var err error
		jobs, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	hooks := rent(t, pool.Webhook)
	s := &service{t: t}
	s.Service = served.Start(t, served.Options{
		Name: "mr-servers", Args: []string{"--log", "warn", "--slots", "64", "--admin-token", adminToken},
		Lookup: settings{
			"MILLRACE_QUEUE_DEPTH": "1000", "MILLRACE_WEBHOOK_ALLOW": strings.TrimPrefix(hooks.address, "http://"),
		}.lookup,
		Patience: 2 * patience,
	})
	for kind, p := range map[pool.Kind]*provider{
		pool.Command: rent(t, pool.Command), pool.Webhook: hooks, pool.Kubernetes: rent(t, pool.Kubernetes),
	} {
		p.base = s.Base
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s.with(t).comeAndGo(p, jobs)
		})
	}
}

func (s *service) comeAndGo(p *provider, jobs int) {
	name := string(p.kind)
	require.Contains(s.t, s.fails("pool", "apply", p.write("max: 3\nidel: 3s\n")), "no key idel")
	require.Contains(s.t, s.fails("pool", "apply", p.write("max: 0\n")), "max:")
	const most, idle = 3, 10 * time.Second // so long that a machine is still there after it was seen to have joined
	file := p.write(fmt.Sprintf(
		"max: %d\nidle: %s\nwait: 1s\njoin: 20s\nlabels: [%s]\nprice: 0.36 USD/hour\nbudget: 40 USD/day\n", most, idle, name))
	require.Contains(s.t, s.command("pool", "apply", file), "is created")
	require.Contains(s.t, s.command("pool", "apply", file), "has this description already")
	s.await("the classes of a machine", func() bool { return strings.Contains(s.get("/api/object_info/KSampler"), "sampler_name") })
	s.await("the end of the machine that showed them", func() bool {
		p.mu.Lock()
		started := p.started
		p.mu.Unlock()
		return started > 0 && len(p.alive()) == 0 && len(s.machinesOf(p.kind)) == 0
	})

	p.mu.Lock()
	require.True(s.t, p.started == 1 || p.cluster != nil, "%d machines started", p.started) // a pod that is deleted is replaced for a moment
	p.failEach = 5
	p.mu.Unlock()
	var ids []string
	preempted := 0
	for i := range jobs {
		g := loading(checkpoints[i%3])
		g["5"].(map[string]any)["inputs"].(map[string]any)["seed"] = i
		ids = append(ids, s.submitWith(g, map[string]any{"millrace": map[string]any{"labels": []string{name}}}))
		if i%5 == 4 {
			s.preempt(p)
			preempted++
		}
	}
	for _, id := range ids {
		require.Equal(s.t, "completed", s.ended(id), id)
		require.Len(s.t, s.images(id), 1, "job %s", id)
	}
	ended := time.Now()
	s.await("no machine", func() bool { return len(p.alive()) == 0 && len(s.machinesOf(p.kind)) == 0 })
	took := time.Since(ended)
	p.mu.Lock()
	atMost, started := p.most, p.started
	p.mu.Unlock()
	if p.cluster != nil {
		var replicas int
		_, replicas, atMost = p.cluster.Pods()
		require.Zero(s.t, replicas)
	}
	s.t.Logf("%d jobs, %d starts, %d preemptions, at most %d machines, the last one gone after %s", jobs, started, preempted, atMost, took)
	require.LessOrEqual(s.t, atMost, most)
	if p.cluster == nil {
		status, body := p.register(p.token(name+"-1"), "http://127.0.0.1:1")
		require.Equal(s.t, http.StatusUnauthorized, status, "a machine that was stopped joins too late: %s", body)
	}
	events := s.command("events", "list", "--type", "machine.", "--json", "--limit", "1000")
	for _, secret := range []string{"hunter2", "millrace-server-"} {
		require.NotContains(s.t, events, secret)
	}
	require.Contains(s.t, events, "machine.lost.v1")
	s.command("pool", "rm", name, "--reason", "test")
	s.await("the end of the pool", func() bool { return !strings.Contains(s.command("pool", "list"), name) })
}

// preempt ends a machine that has joined.
func (s *service) preempt(p *provider) {
	s.await("a machine that has joined is preempted", func() bool {
		phases, alive := s.machinesOf(p.kind), p.alive()
		at := slices.IndexFunc(alive, func(id string) bool { return phases[id] == "joined" })
		if at < 0 {
			return false
		}
		if p.cluster == nil {
			status, body := p.register(p.token(alive[at]), "http://127.0.0.1:1")
			require.Equal(s.t, http.StatusConflict, status, "a machine registers a second server: %s", body)
		}
		return p.preempt(alive[at])
	})
}
