package machines_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui/machines"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound"
)

// registry has one pool and the registry of servers, in memory.
type registry struct {
	mu      sync.Mutex
	p       pool.Pool
	events  []any
	tokens  []string
	servers []*server.Server
	work    []pool.Work
	joined  []string // addresses of servers that the keeper has registered, with their machines

	revoked  map[string]*time.Time // tokens
	stopping func()                // called when a token is revoked; nil = nothing happens
}

func (r *registry) Pool(context.Context, string) (pool.Pool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.p, nil
}

func (r *registry) Change(_ context.Context, _ string, _ server.By, decide func(pool.Pool) []any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range decide(r.p) {
		r.events, r.p.State = append(r.events, e), r.p.After(e, time.Now().Add(-time.Minute)) // so that no pause is waited for
	}
	return nil
}

func (r *registry) Tokens(context.Context) (all []server.Token, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range r.tokens {
		all = append(all, server.Token{ID: "token-" + name, Name: name, Pool: "p", RevokedAt: r.revoked[name]})
	}
	return all, nil
}

func (r *registry) RevokeToken(_ context.Context, ref string, _ server.By) (t server.Token, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.tokens, ref) {
		return t, server.UnknownToken()
	}
	now := time.Now()
	r.revoked[ref] = &now
	if r.stopping != nil {
		r.stopping()
	}
	return t, nil
}

func (r *registry) Register(_ context.Context, s server.Registration, _ []byte) (*server.Server, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.joined = append(r.joined, s.Token.Name+" "+s.URL)
	return nil, nil
}

func (r *registry) Work(context.Context, string) ([]pool.Work, error)       { return r.work, nil }
func (r *registry) Servers(context.Context) ([]*server.Server, error)       { return r.servers, nil }
func (r *registry) Waits(context.Context) ([]server.Waiting, error)         { return nil, nil }
func (r *registry) Drain(context.Context, server.ID, bool, server.By) error { return nil }
func (r *registry) Remove(_ context.Context, id server.ID, _ server.By) error {
	r.servers = nil
	return nil
}

func (r *registry) AddToken(_ context.Context, t server.Token, _ server.TokenHash, _ server.By) (server.Token, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range r.tokens {
		if name == t.Name {
			return t, fault.New(fault.Conflict, fault.CodeTokenExists, "twice")
		}
	}
	r.tokens = append(r.tokens, t.Name)
	return t, nil
}

// bench is a keeper of a pool with these commands, whose machine p-1 is requested. Its log is in a text.
type bench struct {
	*registry
	*machines.Keeper
	log *strings.Builder
}

func keep(t *testing.T, by pool.Provider) *bench {
	t.Helper()
	r := &registry{p: pool.Pool{Name: "p", Provider: by}, revoked: map[string]*time.Time{}}
	r.p.State = r.p.After(pool.AppliedV1{Terms: pool.Terms{Max: 3, Join: time.Hour}, Classes: "c"}, time.Now())
	r.p.State = r.p.After(pool.RequestedV1{Machine: "p-1"}, time.Now())
	log := &strings.Builder{}
	return &bench{r, &machines.Keeper{
		Pools: r, Servers: r, Allowed: true, Log: slog.New(slog.NewTextHandler(log, nil)), Within: 5 * time.Second,
		Placement: placement.New(nil, nil, nil, "", placement.Options{}), Wire: outbound.New(outbound.Options{}),
	}, log}
}

// starts starts p-1, which gets this id or is lost by this cause, once and without a secret in events and the log.
func (b *bench) starts(t *testing.T, handle, cause string) {
	t.Helper()
	require.NoError(t, b.Start(t.Context(), "p", "p-1"))
	m := b.p.Machine("p-1")
	require.Equal(t, cause, m.Cause)
	require.Equal(t, handle, m.Handle)
	for _, secret := range []string{"hunter2", "millrace-server-", "token-of-the-cluster"} {
		require.NotContains(t, fmt.Sprintf("%+v %s", b.events, b.log), secret)
	}
	before := len(b.events)
	require.NoError(t, b.Start(t.Context(), "p", "p-1"))
	require.Len(t, b.events, before, "a machine is started once")
}

func TestCommandsThatStartMachines(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		start, cause, handle string
	}{
		"prints an id":         {start: "echo; echo pod-7", handle: "pod-7"},
		"takes the name":       {start: "test {machine} = p-1 && echo anything at all", handle: "p-1"},
		"gets the token":       {start: `test "$MILLRACE_TOKEN" = {token} && echo pod-7`, handle: "pod-7"},
		"leaves a child":       {start: "sleep 60 & echo pod-7", handle: "pod-7"},
		"fails":                {start: "echo hunter2; echo hunter2 >&2; exit 3", cause: "its start command failed: exit status 3"},
		"hangs":                {start: "sleep 60; echo pod-7", cause: "its start command took longer than 5s"},
		"starts two":           {start: "echo pod-7; echo pod-8", cause: "its start command gave 2 ids of machines, not one"},
		"prints nothing":       {start: "true", cause: "its start command gave 0 ids of machines, not one"},
		"prints a password":    {start: "echo 'password: hunter2'", cause: "its start command gave a text that is no id of a machine"},
		"prints its token":     {start: "echo {token}", cause: "its start command gave a text that is no id of a machine"},
		"prints without end":   {start: "yes hunter2 | head -c 1000000", cause: "its start command gave more than 262144 bytes"},
		"is no program":        {start: "/nowhere/start", cause: "its start command failed: exit status 127"},
		"prints an odd id":     {start: `echo 'a;rm'`, cause: "its start command gave a text that is no id of a machine"},
		"sees no other secret": {start: `env | grep -v MILLRACE_TOKEN | grep -q MILLRACE_ && exit 9; echo pod-7`, handle: "pod-7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := keep(t, pool.Provider{Start: test.start, Stop: "true {machine}", List: "true"})
			b.starts(t, test.handle, test.cause)
		})
	}
}

func TestAStartThatWasInterruptedIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := keep(t, pool.Provider{Start: "echo pod-7", Stop: "true {machine}", List: "true"})
	b.tokens = []string{"p-1"} // an earlier attempt has begun
	require.NoError(t, b.Start(t.Context(), "p", "p-1"))
	require.Equal(t, "its start was interrupted", b.p.Machine("p-1").Cause)
	b.Allowed = false
	b.tokens = nil
	b.p.State = b.p.After(pool.RequestedV1{Machine: "p-2"}, time.Now())
	require.NoError(t, b.Start(t.Context(), "p", "p-2"))
	require.Contains(t, b.p.Machine("p-2").Cause, "switched off")
}

// A machine of the kind process is a token, and then the server that a worker registers with it.
func TestMachinesThatAreProcesses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		phase   server.Phase // of the process of its server; "" = no worker has taken it
		ends    bool         // when it is to stop
		stopped bool
	}{
		"it runs":                {server.PhaseRunning, true, true},
		"it is restarted":        {server.PhaseStopped, true, true},
		"it has ended":           {server.PhaseEnded, false, true},
		"no worker has taken it": {"", false, true},
		"its worker has died":    {server.PhaseRunning, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := keep(t, pool.Provider{Kind: pool.Process})
			b.Allowed = false // it names no program
			b.starts(t, "p-1", "")
			process := &server.Process{Phase: test.phase}
			if test.phase != "" {
				b.servers = []*server.Server{{ID: "s", Token: "token-p-1", Process: process}}
				b.work = []pool.Work{{Machine: "p-1", Server: "s", Segments: 2, Seconds: 7}}
			}
			if test.ends {
				b.stopping = func() { process.Phase = server.PhaseEnded }
			}
			err := b.Stop(t.Context(), "p", "p-1")
			require.NotNil(t, b.revoked["p-1"], "no worker may take it any more")
			if !test.stopped {
				require.ErrorContains(t, err, "its stop order took longer than 5s")
				require.NotNil(t, b.p.Machine("p-1"))
				b.servers = nil // its registration has expired
				err = b.Stop(t.Context(), "p", "p-1")
			}
			require.NoError(t, err)
			require.Nil(t, b.p.Machine("p-1"))
			require.Empty(t, b.servers)
			require.Equal(t, int64(len(b.work))*7, b.p.Ended[0].Work)
		})
	}
}
