package pool_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// starting is a pool with a machine p-1, whose handle is h, that was requested some time before noon and has started.
func starting(t *testing.T, before time.Duration, change func(*pool.Spec)) pool.State {
	t.Helper()
	at := noon.Add(-before)
	return joined(t, 0, change).After(pool.RequestedV1{Machine: "p-1"}, at).After(pool.StartedV1{Machine: "p-1", Handle: "h"}, at)
}

// A machine joins when its server answers, and is lost when it cannot any more. The bounds of both are exact.
func TestMachinesThatJoinOrAreLost(t *testing.T) {
	t.Parallel()
	only := func(s pool.Server) map[string]pool.Server { return map[string]pool.Server{"p-1": s} }
	lost := func(cause string) pool.Orders {
		return pool.Orders{Events: []any{pool.LostV1{Machine: "p-1", Failed: true, Cause: cause}}, Stop: []string{"p-1"}}
	}
	silent := func(seen time.Duration) map[string]pool.Server {
		return only(up(func(s *pool.Server) { s.Answers, s.SeenAt = false, noon.Add(-seen) }))
	}
	away := pool.Orders{
		Events: []any{pool.LostV1{Machine: "p-1", Cause: "its server does not answer"}}, Drain: []server.ID{"s"}, Stop: []string{"p-1"},
	}
	joins := pool.Orders{Events: []any{pool.JoinedV1{Machine: "p-1", Server: "s", Classes: "c"}}}
	requested := func(before time.Duration) pool.State {
		return joined(t, 0, nil).After(pool.RequestedV1{Machine: "p-1"}, noon.Add(-before))
	}
	for name, c := range map[string]struct {
		state pool.State
		seen  pool.Seen
		want  pool.Orders
	}{
		"its server answers": {starting(t, time.Minute, nil), pool.Seen{Servers: only(up(isBusy))}, joins},
		"its server answers late": {
			starting(t, time.Hour, nil), pool.Seen{Servers: only(up(isBusy))}, joins,
		},
		"its server answers before its start command ends": {
			requested(time.Minute), pool.Seen{Servers: only(up(isBusy)), InFlight: []string{"p-1"}}, joins,
		},
		"its server does not answer yet": {starting(t, time.Minute, nil), pool.Seen{Servers: silent(0)}, pool.Orders{}},
		"its server has no classes yet": {
			starting(t, time.Minute, nil), pool.Seen{Servers: only(up(func(s *pool.Server) { s.Classes = "" }))}, pool.Orders{},
		},
		"it has not joined for as long as it may": {starting(t, 10*time.Minute, nil), pool.Seen{}, pool.Orders{}},
		"it has not joined for longer":            {starting(t, 10*time.Minute+1, nil), pool.Seen{}, lost("it did not join within 10m")},
		"its command runs for long":               {requested(time.Hour), pool.Seen{InFlight: []string{"p-1"}}, pool.Orders{}},
		"it is missing for as long as it may": {
			starting(t, 2*time.Minute, nil), pool.Seen{Asked: true}, pool.Orders{},
		},
		"it is missing for longer": {starting(t, 2*time.Minute+1, nil), pool.Seen{Asked: true}, lost("it ended before it joined")},
		"it is missing in a list that nobody asked for": {
			starting(t, 3*time.Minute, nil), pool.Seen{}, pool.Orders{},
		},
		"it is listed": {starting(t, 3*time.Minute, nil), pool.Seen{Asked: true, Listed: []string{"h"}}, pool.Orders{}},
		"it is missing while a command runs": {
			starting(t, 3*time.Minute, nil), pool.Seen{Asked: true, InFlight: []string{"p-1"}}, pool.Orders{},
		},
		"it has no handle": {
			requested(3*time.Minute).After(pool.StartedV1{Machine: "p-1"}, noon), pool.Seen{Asked: true}, pool.Orders{},
		},
		"its server is silent for as long as it may": {joined(t, 1, nil), pool.Seen{Servers: silent(time.Minute)}, pool.Orders{}},
		"its server is silent for longer":            {joined(t, 1, nil), pool.Seen{Servers: silent(time.Minute + 1)}, away},
		"its server answers, though it is not listed": {
			joined(t, 1, nil), pool.Seen{Asked: true, Servers: only(up(isBusy))}, pool.Orders{},
		},
		"it is drained and idle, and its command runs": {
			joined(t, 1, nil), pool.Seen{Servers: only(up(func(s *pool.Server) { s.Drained = true })), InFlight: []string{"p-1"}}, pool.Orders{},
		},
		"it was lost, and its server is drained": {
			joined(t, 1, nil).After(pool.LostV1{Machine: "p-1"}, noon),
			pool.Seen{Servers: only(up(func(s *pool.Server) { s.Drained = true }))},
			pool.Orders{Stop: []string{"p-1"}},
		},
		"it was lost, and is being stopped": {
			joined(t, 1, nil).After(pool.LostV1{Machine: "p-1"}, noon),
			pool.Seen{Servers: only(up(isBusy)), InFlight: []string{"p-1"}},
			pool.Orders{Drain: []server.ID{"s"}},
		},
	} {
		before := slices.Clone(c.state.Machines)
		require.Equal(t, c.want, c.state.Decide("p", c.seen, noon), name)
		require.Equal(t, before, c.state.Machines, "%s: a decision changes no state", name)
	}
}

// A machine that is listed is known by its handle or its id, now or within two minutes of its end.
func TestMachinesThatAreListed(t *testing.T) {
	t.Parallel()
	ended := func(before time.Duration) pool.State {
		return joined(t, 1, nil).After(pool.StoppedV1{Machine: "p-1"}, noon.Add(-before))
	}
	found := func(handle string) pool.Orders {
		return pool.Orders{Events: []any{pool.FoundV1{Handle: handle}}, Stop: []string{handle}}
	}
	working := map[string]pool.Server{"p-1": up(isBusy)}
	for name, c := range map[string]struct {
		state  pool.State
		listed []string
		want   pool.Orders
	}{
		"by its handle":                  {joined(t, 1, nil), []string{"hp-1"}, pool.Orders{}},
		"by its id":                      {joined(t, 1, nil), []string{"p-1", "hp-1"}, pool.Orders{}},
		"one of them is unknown":         {joined(t, 1, nil), []string{"hp-1", "x"}, found("x")},
		"it ended before two minutes":    {ended(2*time.Minute - 1), []string{"hp-1"}, pool.Orders{}},
		"it ended two minutes ago":       {ended(2 * time.Minute), []string{"hp-1"}, found("hp-1")},
		"another one ended a moment ago": {ended(0), []string{"x"}, found("x")},
	} {
		seen := pool.Seen{Asked: true, Listed: c.listed}
		if len(c.state.Machines) > 0 {
			seen.Servers = working
		}
		require.Equal(t, c.want, c.state.Decide("p", seen, noon), name)
	}
}

// Machines are started for what waits, for the minimum and within the maximum and the budget, and stopped when they are not needed.
func TestTheSizeOfAPool(t *testing.T) {
	t.Parallel()
	request := func(reason string, ids ...string) pool.Orders {
		o := pool.Orders{Start: ids}
		for _, id := range ids {
			o.Events = append(o.Events, pool.RequestedV1{Machine: id, Reason: reason})
		}
		return o
	}
	idle := func(id server.ID, used time.Duration) pool.Server {
		return up(func(s *pool.Server) { s.ID, s.Used = id, noon.Add(-used) })
	}
	working := func(id server.ID) pool.Server { return up(func(s *pool.Server) { s.ID, s.Busy = id, true }) }
	price := func(budget int64) func(*pool.Spec) {
		return func(s *pool.Spec) { s.Price, s.Budget = 4_000_000, budget }
	}
	failed := func(n int, before time.Duration) pool.State {
		s := joined(t, 0, nil)
		for range n {
			s = s.After(pool.LostV1{Machine: "x", Failed: true}, noon.Add(-before))
		}
		return s
	}
	booted := func(seconds float64) pool.State {
		s := joined(t, 0, func(s *pool.Spec) { s.Max = 9 })
		s.Boot = seconds
		return s
	}
	since := func(before time.Duration) pool.State { // its machine joined a minute after its request
		return starting(t, before+time.Minute, nil).After(pool.JoinedV1{Machine: "p-1", Server: "a", Classes: "c"}, noon.Add(-before))
	}
	unknown := joined(t, 0, nil)
	unknown.Classes = ""
	for name, c := range map[string]struct {
		state pool.State
		seen  pool.Seen
		want  pool.Orders
	}{
		"a machine starts for what waits": {starting(t, time.Minute, nil), pool.Seen{Needs: 1, Work: time.Minute}, pool.Orders{}},
		"another machine, beside one that starts": {
			starting(t, time.Minute, nil), pool.Seen{Needs: 2, Work: time.Minute}, request("2 segments need a machine", "p-2"),
		},
		"another machine, beside one that works": {
			joined(t, 1, nil),
			pool.Seen{Needs: 1, Servers: map[string]pool.Server{"p-1": working("a")}},
			request("1 segments need a machine", "p-2"),
		},
		"a machine that has just joined has work for a minute": {
			since(10 * time.Second),
			pool.Seen{Needs: 2, Work: 25 * time.Second, Servers: map[string]pool.Server{"p-1": working("a")}},
			pool.Orders{},
		},
		"more waits than the work that it was started for": {
			since(10 * time.Second),
			pool.Seen{Needs: 2, Work: 26 * time.Second, Servers: map[string]pool.Server{"p-1": working("a")}},
			request("2 segments need a machine", "p-2"),
		},
		"it has joined a minute ago": {
			since(time.Minute),
			pool.Seen{Needs: 1, Work: time.Second, Servers: map[string]pool.Server{"p-1": working("a")}},
			request("1 segments need a machine", "p-2"),
		},
		"a drained machine does not count": {
			joined(t, 1, nil),
			pool.Seen{Needs: 1, Servers: map[string]pool.Server{"p-1": up(func(s *pool.Server) { s.Drained, s.Busy = true, true })}},
			request("1 segments need a machine", "p-2"),
		},
		"a minimum beside a need": {
			joined(t, 0, func(s *pool.Spec) { s.Min = 1 }),
			pool.Seen{Needs: 1},
			request("1 segments need a machine", "p-1"),
		},
		"a minimum above a need": {
			joined(t, 0, func(s *pool.Spec) { s.Min = 2 }),
			pool.Seen{Needs: 1},
			request("at least 2 machines are to run", "p-1", "p-2"),
		},
		"unknown classes and a need": {unknown, pool.Seen{Needs: 1}, request("1 segments need a machine", "p-1")},
		"unknown classes":            {unknown, pool.Seen{}, request("the classes of its machines are not known", "p-1")},
		"unknown classes, it starts": {
			unknown.After(pool.RequestedV1{Machine: "p-1"}, noon),
			pool.Seen{InFlight: []string{"p-1"}},
			pool.Orders{},
		},
		"segments of a minute": {
			booted(60),
			pool.Seen{Needs: 3, Work: time.Minute},
			request("3 segments need a machine", "p-1", "p-2", "p-3"),
		},
		"segments of unknown length": {booted(0), pool.Seen{Needs: 3}, request("3 segments need a machine", "p-1", "p-2", "p-3")},
		"machines that start slowly": {
			booted(120),
			pool.Seen{Needs: 3, Work: time.Minute},
			request("3 segments need a machine", "p-1", "p-2"),
		},
		"machines that start in time": {
			booted(1),
			pool.Seen{Needs: 3, Work: 20 * time.Second},
			request("3 segments need a machine", "p-1", "p-2", "p-3"),
		},
		"machines that start at once": {
			booted(1),
			pool.Seen{Needs: 3, Work: 10 * time.Second},
			request("3 segments need a machine", "p-1", "p-2"),
		},
		"a failure a moment ago": {failed(1, 5*time.Second-1), pool.Seen{Needs: 3}, pool.Orders{}},
		"a failure a while ago": {
			failed(1, 5*time.Second),
			pool.Seen{Needs: 3, Work: time.Hour},
			request("3 segments need a machine", "p-1"),
		},
		"three failures":             {failed(3, 20*time.Second-1), pool.Seen{Needs: 3}, pool.Orders{}},
		"three failures a while ago": {failed(3, 20*time.Second), pool.Seen{Needs: 3}, request("3 segments need a machine", "p-1")},
		"many failures":              {failed(90, 5*time.Minute-1), pool.Seen{Needs: 3}, pool.Orders{}},
		"many failures a while ago":  {failed(90, 5*time.Minute), pool.Seen{Needs: 3}, request("3 segments need a machine", "p-1")},
		"a failure, and one starts": {
			failed(1, time.Hour).After(pool.RequestedV1{Machine: "p-1"}, noon),
			pool.Seen{Needs: 3, InFlight: []string{"p-1"}},
			pool.Orders{},
		},
		"a budget of a start":    {joined(t, 0, price(1_000_000)), pool.Seen{Needs: 1}, request("1 segments need a machine", "p-1")},
		"a budget below a start": {joined(t, 0, price(999_999)), pool.Seen{Needs: 1}, pool.Orders{}},
		"a budget of a minute": { // 61 minutes until now
			joined(t, 1, price(4_066_666+66_666)), pool.Seen{Servers: map[string]pool.Server{"p-1": working("a")}}, pool.Orders{},
		},
		"a budget below a minute": {
			joined(t, 1, price(4_066_666+66_665)),
			pool.Seen{Servers: map[string]pool.Server{"p-1": working("a")}},
			pool.Orders{Drain: []server.ID{"a"}},
		},
		"a price without a budget": {
			joined(t, 1, price(0)), pool.Seen{Servers: map[string]pool.Server{"p-1": working("a")}}, pool.Orders{},
		},
		"a budget of nearly nothing": {joined(t, 0, price(1)), pool.Seen{Needs: 1}, pool.Orders{}},
		"a budget of nearly nothing, and a machine": {
			joined(t, 1, price(1)), pool.Seen{Servers: map[string]pool.Server{"p-1": working("a")}}, pool.Orders{Drain: []server.ID{"a"}},
		},
		"a drained machine is none of the minimum": {
			joined(t, 1, func(s *pool.Spec) { s.Min = 1 }),
			pool.Seen{Servers: map[string]pool.Server{"p-1": up(func(s *pool.Server) { s.Drained, s.Busy = true, true })}},
			request("at least 1 machines are to run", "p-2"),
		},
		"idle for less than its time": {
			joined(t, 1, nil), pool.Seen{Servers: map[string]pool.Server{"p-1": idle("a", 3*time.Minute-1)}}, pool.Orders{},
		},
		"idle for its time": {
			joined(t, 1, nil), pool.Seen{Servers: map[string]pool.Server{"p-1": idle("a", 3*time.Minute)}}, pool.Orders{Drain: []server.ID{"a"}},
		},
		"idle since it joined": {
			joined(t, 1, nil), pool.Seen{Servers: map[string]pool.Server{"p-1": idle("a", 9*time.Hour)}}, pool.Orders{Drain: []server.ID{"a"}},
		},
		"idle, and just joined": {
			joined(t, 0, nil).After(pool.RequestedV1{Machine: "p-1"}, noon).After(pool.JoinedV1{Machine: "p-1", Classes: "c"}, noon),
			pool.Seen{Servers: map[string]pool.Server{"p-1": idle("a", 9*time.Hour)}},
			pool.Orders{},
		},
		"two are idle, one is the minimum": {
			joined(t, 2, func(s *pool.Spec) { s.Min = 1 }),
			pool.Seen{Servers: map[string]pool.Server{"p-1": idle("a", 4*time.Minute), "p-2": idle("b", 5*time.Minute)}},
			pool.Orders{Drain: []server.ID{"b"}},
		},
		"two of three are too many": {
			joined(t, 3, nil).After(pool.AppliedV1{Terms: terms(t, func(s *pool.Spec) { s.Max = 1 })}, noon),
			pool.Seen{Needs: 1, Servers: map[string]pool.Server{
				"p-1": idle("a", 2*time.Minute), "p-2": working("b"), "p-3": idle("c", time.Minute),
			}},
			pool.Orders{Drain: []server.ID{"a", "c"}},
		},
		"one that starts is one too many": {
			joined(t, 1, nil).After(pool.RequestedV1{Machine: "p-2"}, noon).After(pool.StartedV1{Machine: "p-2", Handle: "h"}, noon).
				After(pool.AppliedV1{Terms: terms(t, func(s *pool.Spec) { s.Max = 1 })}, noon),
			pool.Seen{Needs: 1, Servers: map[string]pool.Server{"p-1": working("a")}},
			pool.Orders{Drain: []server.ID{"a"}},
		},
		"a removed pool starts nothing": {
			joined(t, 0, nil).After(pool.RequestedV1{Machine: "p-1"}, noon).After(pool.RequestedV1{Machine: "p-2"}, noon).
				After(pool.StartedV1{Machine: "p-2"}, noon).After(pool.RequestedV1{Machine: "p-3"}, noon).After(pool.RemovedV1{}, noon),
			pool.Seen{Needs: 9, InFlight: []string{"p-3"}},
			pool.Orders{Stop: []string{"p-1", "p-2"}},
		},
		"a paused pool keeps what it has": {
			joined(t, 1, nil).After(pool.PausedV1{}, noon),
			pool.Seen{Needs: 3, Servers: map[string]pool.Server{"p-1": working("a")}},
			pool.Orders{},
		},
	} {
		require.Equal(t, c.want, c.state.Decide("p", c.seen, noon), name)
	}
}
