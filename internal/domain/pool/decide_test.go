package pool_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// terms are those of a pool of up to three machines.
func terms(t *testing.T, change func(*pool.Spec)) pool.Terms {
	t.Helper()
	s := pool.Spec{Provider: pool.Provider{Start: "start", Stop: "stop {machine}", List: "list"}}
	s.Max = 3
	if change != nil {
		change(&s)
	}
	require.NoError(t, s.Check())
	return s.Terms
}

// joined is a pool with machines p-1 to p-n that joined an hour before noon.
func joined(t *testing.T, n int, change func(*pool.Spec)) pool.State {
	t.Helper()
	s := pool.State{}.After(pool.AppliedV1{Terms: terms(t, change), Classes: "c"}, noon.Add(-2*time.Hour))
	for _, id := range []string{"p-1", "p-2", "p-3"}[:n] {
		s = s.After(pool.RequestedV1{Machine: id}, noon.Add(-time.Hour-time.Minute))
		s = s.After(pool.StartedV1{Machine: id, Handle: "h" + id}, noon.Add(-time.Hour-time.Minute))
		s = s.After(pool.JoinedV1{Machine: id, Server: "s", Classes: "c"}, noon.Add(-time.Hour))
	}
	return s
}

// up returns a server that answers.
func up(change func(*pool.Server)) pool.Server {
	s := pool.Server{ID: "s", Answers: true, Classes: "c", SeenAt: noon, Used: noon.Add(-time.Minute)}
	if change != nil {
		change(&s)
	}
	return s
}

func isBusy(s *pool.Server) { s.Busy = true }

func TestDecisionsOfAPool(t *testing.T) {
	t.Parallel()
	requested := func(n int, reason string) (events []any) {
		for i := range n {
			events = append(events, pool.RequestedV1{Machine: []string{"p-1", "p-2", "p-3", "p-4"}[i], Reason: reason})
		}
		return events
	}
	empty := joined(t, 0, nil)
	for name, test := range map[string]struct {
		state pool.State
		seen  pool.Seen
		want  pool.Orders
	}{
		"nothing to do": {empty, pool.Seen{}, pool.Orders{}},
		"short segments share a machine": {
			empty,
			pool.Seen{Needs: 3, Work: 10 * time.Second},
			pool.Orders{Events: requested(1, "3 segments need a machine"), Start: []string{"p-1"}},
		},
		"never more than max": {
			empty,
			pool.Seen{Needs: 30, Work: time.Minute},
			pool.Orders{Events: requested(3, "30 segments need a machine"), Start: []string{"p-1", "p-2", "p-3"}},
		},
		"paused": {empty.After(pool.PausedV1{}, noon), pool.Seen{Needs: 3}, pool.Orders{}},
		"classes that are not known": {
			pool.State{}.After(pool.AppliedV1{Terms: terms(t, nil)}, noon),
			pool.Seen{},
			pool.Orders{Events: requested(1, "the classes of its machines are not known"), Start: []string{"p-1"}},
		},
		"at least min": {
			joined(t, 0, func(s *pool.Spec) { s.Min = 2 }),
			pool.Seen{},
			pool.Orders{Events: requested(2, "at least 2 machines are to run"), Start: []string{"p-1", "p-2"}},
		},
		"a budget that does not cover a start": {
			joined(t, 0, func(s *pool.Spec) { s.Price, s.Budget = 4_000_000, 1_999_999 }),
			pool.Seen{Needs: 30},
			pool.Orders{Events: requested(1, "30 segments need a machine"), Start: []string{"p-1"}},
		},
		"a budget that is used up": { // 61 minutes at 4 USD an hour
			joined(t, 1, func(s *pool.Spec) { s.Price, s.Budget = 4_000_000, 4_100_000 }),
			pool.Seen{Needs: 1, Servers: map[string]pool.Server{"p-1": up(isBusy)}},
			pool.Orders{Drain: []server.ID{"s"}},
		},
		"a budget that is not used up": {
			joined(t, 1, func(s *pool.Spec) { s.Price, s.Budget = 4_000_000, 4_200_000 }),
			pool.Seen{Needs: 1, Servers: map[string]pool.Server{"p-1": up(isBusy)}},
			pool.Orders{},
		},
		"a price without a budget": {
			joined(t, 0, func(s *pool.Spec) { s.Price = 4_000_000 }),
			pool.Seen{Needs: 1},
			pool.Orders{Events: requested(1, "1 segments need a machine"), Start: []string{"p-1"}},
		},
		"an idle machine takes the segment": {
			joined(t, 1, nil), pool.Seen{Needs: 1, Servers: map[string]pool.Server{"p-1": up(nil)}}, pool.Orders{},
		},
		"an idle machine is drained": {
			joined(t, 1, nil),
			pool.Seen{Servers: map[string]pool.Server{"p-1": up(func(s *pool.Server) { s.Used = noon.Add(-3 * time.Minute) })}},
			pool.Orders{Drain: []server.ID{"s"}},
		},
		"one that min keeps is not": {
			joined(t, 1, func(s *pool.Spec) { s.Min = 1 }),
			pool.Seen{Servers: map[string]pool.Server{"p-1": up(func(s *pool.Server) { s.Used = noon.Add(-time.Hour) })}},
			pool.Orders{},
		},
		"a machine that works is not": {
			joined(t, 1, nil),
			pool.Seen{Servers: map[string]pool.Server{"p-1": up(func(s *pool.Server) { s.Used, s.Busy = noon.Add(-time.Hour), true })}},
			pool.Orders{},
		},
		"one that is drained ends its segment": {
			joined(t, 1, nil),
			pool.Seen{Servers: map[string]pool.Server{"p-1": up(func(s *pool.Server) { s.Drained, s.Busy = true, true })}},
			pool.Orders{},
		},
		"and is stopped then": {
			joined(t, 1, nil),
			pool.Seen{Servers: map[string]pool.Server{"p-1": up(func(s *pool.Server) { s.Drained = true })}},
			pool.Orders{Stop: []string{"p-1"}},
		},
		"a smaller max drains the machine that is idle": {
			joined(t, 2, nil).After(pool.AppliedV1{Terms: terms(t, func(s *pool.Spec) { s.Max = 1 })}, noon),
			pool.Seen{Needs: 9, Servers: map[string]pool.Server{"p-1": up(isBusy), "p-2": up(func(s *pool.Server) { s.ID = "idle" })}},
			pool.Orders{Drain: []server.ID{"idle"}},
		},
		"a smaller max drains the machine that has been idle for the longest time": {
			joined(t, 2, nil).After(pool.AppliedV1{Terms: terms(t, func(s *pool.Spec) { s.Max = 1 })}, noon),
			pool.Seen{Needs: 9, Servers: map[string]pool.Server{
				"p-1": up(nil), "p-2": up(func(s *pool.Server) { s.ID, s.Used = "idle", noon.Add(-61*time.Second) }),
			}},
			pool.Orders{Drain: []server.ID{"idle"}},
		},
		"worn": {
			joined(t, 1, nil),
			pool.Seen{Servers: map[string]pool.Server{"p-1": up(func(s *pool.Server) { s.Worn, s.Busy = true, true })}},
			pool.Orders{Drain: []server.ID{"s"}},
		},
		"a removed pool drains its machines": {
			joined(t, 1, nil).After(pool.RemovedV1{}, noon),
			pool.Seen{Needs: 9, Servers: map[string]pool.Server{"p-1": up(isBusy)}},
			pool.Orders{Drain: []server.ID{"s"}},
		},
		"a server that is not registered": {
			joined(t, 1, nil),
			pool.Seen{},
			pool.Orders{
				Events: []any{pool.LostV1{Machine: "p-1", Cause: "its server is not registered any more"}}, Stop: []string{"p-1"},
			},
		},
		"a machine that is not listed and does not answer": {
			joined(t, 1, nil),
			pool.Seen{Asked: true, Servers: map[string]pool.Server{"p-1": up(func(s *pool.Server) { s.Answers = false })}},
			pool.Orders{
				Events: []any{pool.LostV1{Machine: "p-1", Cause: "its server does not answer"}}, Drain: []server.ID{"s"}, Stop: []string{"p-1"},
			},
		},
		"a prompt that does not end": {
			joined(t, 1, nil),
			pool.Seen{Servers: map[string]pool.Server{"p-1": up(func(s *pool.Server) { s.Stuck, s.Busy = true, true })}},
			pool.Orders{
				Events: []any{pool.LostV1{Machine: "p-1", Cause: "its server runs a prompt that does not end"}},
				Drain:  []server.ID{"s"}, Stop: []string{"p-1"},
			},
		},
		"a machine that nobody started": {
			empty,
			pool.Seen{Asked: true, Listed: []string{"other"}},
			pool.Orders{Events: []any{pool.FoundV1{Handle: "other"}}, Stop: []string{"other"}},
		},
		"a machine that was just stopped and is still listed": {
			joined(t, 1, nil).After(pool.StoppedV1{Machine: "p-1"}, noon.Add(-time.Minute)),
			pool.Seen{Asked: true, Listed: []string{"hp-1"}},
			pool.Orders{},
		},
		"a start command that runs may explain what is listed": {
			empty.After(pool.RequestedV1{Machine: "p-1"}, noon),
			pool.Seen{Asked: true, Listed: []string{"other"}, InFlight: []string{"p-1"}},
			pool.Orders{},
		},
		"also if its machine has joined before the command ends": {
			empty.After(pool.RequestedV1{Machine: "p-1"}, noon).After(pool.JoinedV1{Machine: "p-1", Server: "s", Classes: "c"}, noon),
			pool.Seen{
				Asked: true, Listed: []string{"other"}, InFlight: []string{"p-1"}, Servers: map[string]pool.Server{"p-1": up(isBusy)},
			},
			pool.Orders{},
		},
		"a stop command that runs does not": {
			joined(t, 1, nil),
			pool.Seen{
				Asked: true, Listed: []string{"other"}, InFlight: []string{"p-1"}, Servers: map[string]pool.Server{"p-1": up(isBusy)},
			},
			pool.Orders{Events: []any{pool.FoundV1{Handle: "other"}}, Stop: []string{"other"}},
		},
		"a machine that does not join": {
			empty.After(pool.RequestedV1{Machine: "p-1"}, noon.Add(-11*time.Minute)).After(pool.StartedV1{Machine: "p-1"}, noon),
			pool.Seen{Needs: 1},
			pool.Orders{
				Events: []any{pool.LostV1{Machine: "p-1", Failed: true, Cause: "it did not join within 10m"}}, Stop: []string{"p-1"},
			},
		},
		"a machine that does not join for long": {
			joined(t, 0, func(s *pool.Spec) { s.Join = time.Hour }).After(pool.RequestedV1{Machine: "p-1"}, noon.Add(-61*time.Minute)),
			pool.Seen{},
			pool.Orders{Events: []any{pool.LostV1{Machine: "p-1", Failed: true, Cause: "it did not join within 1h"}}, Stop: []string{"p-1"}},
		},
		"a start that an earlier workflow ordered": {
			empty.After(pool.RequestedV1{Machine: "p-1"}, noon), pool.Seen{Needs: 1}, pool.Orders{Start: []string{"p-1"}},
		},
		"one machine at a time after a failed start": {
			empty.After(pool.RequestedV1{Machine: "p-1"}, noon.Add(-time.Hour)).
				After(pool.LostV1{Machine: "p-1", Failed: true}, noon.Add(-time.Hour)).After(pool.StoppedV1{Machine: "p-1"}, noon.Add(-time.Hour)),
			pool.Seen{Needs: 30, Work: time.Minute},
			pool.Orders{Events: []any{pool.RequestedV1{Machine: "p-2", Reason: "30 segments need a machine"}}, Start: []string{"p-2"}},
		},
		"a clock that jumps an hour ahead": {
			joined(t, 1, nil),
			pool.Seen{Servers: map[string]pool.Server{"p-1": up(func(s *pool.Server) { s.SeenAt, s.Busy = noon.Add(-time.Hour), true })}},
			pool.Orders{},
		},
	} {
		require.Equal(t, test.want, test.state.Decide("p", test.seen, noon), name)
	}
}

func TestDescriptionsOfPoolsAreChecked(t *testing.T) {
	t.Parallel()
	for key, change := range map[string]func(*pool.Spec){
		"start:":   func(s *pool.Spec) { s.Start = " " },
		"stop:":    func(s *pool.Spec) { s.Stop = "stop" },
		"list:":    func(s *pool.Spec) { s.List = "" },
		"max:":     func(s *pool.Spec) { s.Max = 1000 },
		"min:":     func(s *pool.Spec) { s.Min = 4 },
		"idle:":    func(s *pool.Spec) { s.Idle = time.Millisecond },
		"wait:":    func(s *pool.Spec) { s.Wait = -time.Second },
		"join:":    func(s *pool.Spec) { s.Join = 48 * time.Hour },
		"price:":   func(s *pool.Spec) { s.Budget = 1 },
		"recycle:": func(s *pool.Spec) { s.Memory = 101 },
		"labels:":  func(s *pool.Spec) { s.Labels = []string{"a b"} },
		"hosts:":   func(s *pool.Spec) { s.Hosts = []string{"a b"} },
	} {
		s := pool.Spec{Provider: pool.Provider{Start: "start", Stop: "stop {machine}", List: "list"}}
		s.Max = 3
		change(&s)
		require.ErrorContains(t, s.Check(), key)
	}
	require.Error(t, pool.CheckName("../x"))
}

func TestProvidersOfEachKindAreChecked(t *testing.T) {
	t.Parallel()
	const at = "https://provider.example/machines"
	webhook := pool.Provider{Kind: pool.Webhook, Start: at, Stop: at, List: at, Secret: "POOL_KEY"}
	cluster := pool.Provider{Kind: pool.Kubernetes, Deployment: "comfy"}
	for _, good := range []pool.Provider{webhook, cluster} {
		s := pool.Spec{Terms: pool.Terms{Max: 1}, Provider: good}
		require.NoError(t, s.Check())
		require.Equal(t, good.Kind, s.Of())
		require.False(t, s.Named())
	}
	s := pool.Spec{Terms: pool.Terms{Max: 1}, Provider: pool.Provider{Kind: pool.Command, Start: "a", Stop: "b {machine}", List: "c"}}
	require.NoError(t, s.Check())
	require.Empty(t, s.Kind, "as before there were kinds: a pool that is applied again does not change")
	own := pool.Provider{Kind: pool.Process}
	of := pool.Spec{Terms: pool.Terms{Max: 1}, Provider: own}
	require.NoError(t, of.Check())
	require.True(t, of.Named())
	of.Hosts = []string{"10.0.0.1"}
	require.ErrorContains(t, of.Check(), "hosts: a pool of the kind process has no such key")
	for name, test := range map[string]struct {
		of     pool.Provider
		change func(*pool.Provider)
		says   string
	}{
		"an unknown kind":           {webhook, func(p *pool.Provider) { p.Kind = "webhok" }, `kind: "webhok" is none of`},
		"a key of a webhook":        {cluster, func(p *pool.Provider) { p.Secret = "X" }, "secret: a pool of the kind kubernetes has no such"},
		"a command for kubernetes":  {cluster, func(p *pool.Provider) { p.Stop = "x" }, "stop: a pool of the kind kubernetes has"},
		"a key of kubernetes":       {webhook, func(p *pool.Provider) { p.CAFile = "x" }, "ca_file: a pool of the kind webhook has no such key"},
		"a secret for commands":     {s.Provider, func(p *pool.Provider) { p.Secret = "X" }, "secret: a pool of the kind command has"},
		"a port for commands":       {s.Provider, func(p *pool.Provider) { p.Port = 1 }, "port: a pool of the kind command has no such key"},
		"a webhook without list":    {webhook, func(p *pool.Provider) { p.List = "" }, "list: a text"},
		"a command for a webhook":   {webhook, func(p *pool.Provider) { p.Start = "start {machine}" }, "start: an https address"},
		"a password in an address":  {webhook, func(p *pool.Provider) { p.Stop = "https://u:p@h/x" }, "stop: an https address"},
		"a secret itself":           {webhook, func(p *pool.Provider) { p.Secret = "whsec_MDE=" }, "secret: the name of an environment variable"},
		"a command for processes":   {own, func(p *pool.Provider) { p.Start = "x" }, "start: a pool of the kind process has no such key"},
		"a place for processes":     {own, func(p *pool.Provider) { p.Namespace = "x" }, "namespace: a pool of the kind process has"},
		"no deployment":             {cluster, func(p *pool.Provider) { p.Deployment = "" }, "deployment: a text"},
		"a path as deployment":      {cluster, func(p *pool.Provider) { p.Deployment = "../x" }, "deployment: the name"},
		"a path as namespace":       {cluster, func(p *pool.Provider) { p.Namespace = "a/b" }, "namespace: the name"},
		"a port beyond all":         {cluster, func(p *pool.Provider) { p.Port = 65536 }, "port: a number"},
		"an API without encryption": {cluster, func(p *pool.Provider) { p.Server, p.TokenFile = "http://h", "t" }, "server: an https"},
		"no token for the API":      {cluster, func(p *pool.Provider) { p.Server = "https://h" }, "token_file: a file"},
	} {
		s := pool.Spec{Terms: pool.Terms{Max: 1}, Provider: test.of}
		test.change(&s.Provider)
		require.ErrorContains(t, s.Check(), test.says, name)
	}
}
