package pool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Every event changes what it is about, and nothing else; the state before stays as it was.
func TestTheStateOfAPoolHasAllThatItsEventsSay(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	terms := pool.Terms{Max: 3, Price: 3_600_000}
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	one := pool.Machine{ID: "p-1", Phase: pool.Requested, RequestedAt: at(1 * hour)}
	two := pool.Machine{ID: "p-2", Phase: pool.Requested, RequestedAt: at(2 * hour)}
	var want pool.State
	state := pool.State{Machines: []pool.Machine{}}
	want.Machines = []pool.Machine{}
	set := func(m ...pool.Machine) { want.Machines = m }
	for i, step := range []struct {
		at    time.Duration
		event any
		want  func()
	}{
		{0, pool.AppliedV1{Terms: terms}, func() { want.Spec = terms }},
		{0, pool.AppliedV1{Terms: terms, Classes: "c"}, func() { want.Classes = "c" }},
		{0, pool.AppliedV1{Terms: terms}, func() {}},
		{0, pool.PausedV1{}, func() { want.Paused = true }},
		{0, pool.ResumedV1{}, func() { want.Paused = false }},
		{0, pool.RemovedV1{}, func() { want.Removed = true }},
		{0, pool.AppliedV1{Terms: terms}, func() { want.Removed = false }},
		{1 * hour, pool.RequestedV1{Machine: "p-1"}, func() { want.Number = 1; set(one) }},
		{2 * hour, pool.RequestedV1{Machine: "p-2"}, func() { want.Number = 2; set(one, two) }},
		{2 * hour, pool.StartedV1{Machine: "p-1", Handle: "h1"}, func() {
			one.Phase, one.Handle = pool.Starting, "h1"
			set(one, two)
		}},
		{2 * hour, pool.StartedV1{Machine: "p-9", Handle: "h9"}, func() {}},
		{1*hour + 100*time.Second, pool.JoinedV1{Machine: "p-1", Server: "s1", Classes: "d"}, func() {
			one.Phase, one.Server, one.JoinedAt = pool.Joined, "s1", at(1*hour+100*time.Second)
			set(one, two)
			want.Classes, want.Boot = "d", 100
		}},
		{2*hour + 20*time.Second, pool.JoinedV1{Machine: "p-2", Server: "s2", Classes: "d"}, func() {
			two.Phase, two.Server, two.JoinedAt = pool.Joined, "s2", at(2*hour+20*time.Second)
			set(one, two)
			want.Boot = 80 // a quarter of the way
		}},
		{3 * hour, pool.StartedV1{Machine: "p-2", Handle: "h2"}, func() { // it joined before its start command ended
			two.Handle = "h2"
			set(one, two)
		}},
		{3 * hour, pool.LostV1{Machine: "p-2", Cause: "away"}, func() {
			two.Phase, two.Cause = pool.Lost, "away"
			set(one, two)
		}},
		{3 * hour, pool.LostV1{Machine: "p-9", Failed: true, Cause: "broken"}, func() {
			want.Failures, want.FailedAt, want.Problem = 1, at(3*hour), "broken"
		}},
		{4 * hour, pool.LostV1{Machine: "p-9", Failed: true, Cause: "again"}, func() {
			want.Failures, want.FailedAt, want.Problem = 2, at(4*hour), "again"
		}},
		{4 * hour, pool.JoinedV1{Machine: "p-9", Classes: "e"}, func() { want.Classes, want.Failures, want.Problem = "e", 0, "" }},
		{4 * hour, pool.LostV1{Machine: "p-9", Failed: true, Cause: "broken"}, func() { want.Failures, want.Problem = 1, "broken" }},
		{4 * hour, pool.AppliedV1{Terms: terms}, func() { want.Failures, want.Problem = 0, "" }},
		{5 * hour, pool.FoundV1{Handle: "h3"}, func() {
			set(one, two, pool.Machine{
				ID: "h3", Handle: "h3", Phase: pool.Lost, RequestedAt: at(5 * hour), Cause: "it is listed, and Millrace has not started it",
			})
		}},
		{6 * hour, pool.StoppedV1{Machine: "p-9"}, func() {}},
		{6 * hour, pool.StoppedV1{Machine: "h3", Seconds: 7, Work: 8, Segments: 9}, func() {
			set(one, two)
			want.Day, want.Spent = "2026-01-01", 3_600_000
			want.Ended = []pool.Ended{{ID: "h3", Handle: "h3", At: at(6 * hour), Seconds: 7, Work: 8, Segments: 9}}
		}},
		{7 * hour, pool.StoppedV1{Machine: "p-2"}, func() {
			set(one)
			want.Spent += 5 * 3_600_000
			want.Ended = append(want.Ended, pool.Ended{ID: "p-2", Handle: "h2", Server: "s2", At: at(7 * hour)})
		}},
		{14 * hour, pool.StoppedV1{Machine: "p-1"}, func() { // two hours of the next day
			want.Machines = []pool.Machine{}
			want.Day, want.Spent = "2026-01-02", 2*3_600_000
			want.Ended = append(want.Ended, pool.Ended{ID: "p-1", Handle: "h1", Server: "s1", At: at(14 * hour)})
		}},
	} {
		before := state
		before.Machines, before.Ended = slices.Clone(state.Machines), slices.Clone(state.Ended)
		after := state.After(step.event, at(step.at))
		require.Equal(t, before, state, "step %d: %T", i, step.event)
		state = after
		step.want()
		require.Equal(t, want, state, "step %d: %T", i, step.event)
	}
	require.Nil(t, state.Machine("p-1"))
	for n := range 60 {
		id := fmt.Sprint("q-", n)
		state = state.After(pool.RequestedV1{Machine: id}, noon).After(pool.StoppedV1{Machine: id}, noon)
	}
	require.Len(t, state.Ended, 50)
	require.Equal(t, "q-10", state.Ended[0].ID, "the last ones")
}

// A pool spends on a day what its machines cost since midnight in UTC.
func TestAPoolSpendsByTheDay(t *testing.T) {
	t.Parallel()
	const dollar = amount.Dollar
	s := pool.State{Spec: pool.Terms{Price: dollar}}
	s = s.After(pool.RequestedV1{Machine: "p-1"}, noon).After(pool.RequestedV1{Machine: "p-2"}, noon.Add(time.Hour))
	for after, want := range map[time.Duration]int64{
		0: 0, time.Hour: dollar, 2 * time.Hour: 3 * dollar, 12 * time.Hour: 0, 13 * time.Hour: 2 * dollar,
	} {
		if after > 0 {
			require.Equal(t, want, s.SpentOn(noon.Add(after).In(time.FixedZone("east", 7200))), after)
		}
	}
	s = s.After(pool.StoppedV1{Machine: "p-1"}, noon.Add(2*time.Hour))
	require.EqualValues(t, 2*dollar+2*dollar, s.SpentOn(noon.Add(3*time.Hour)))
	require.EqualValues(t, 1*dollar, s.SpentOn(noon.Add(13*time.Hour)), "another day")
	p := pool.Pool{State: pool.State{Spec: pool.Terms{Price: 7200}}}
	require.EqualValues(t, 2, p.SecondPrice())
}

func TestAPoolIsOverWhenItIsRemovedAndHasNoMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		removed  bool
		machines int
		want     bool
	}{{true, 0, true}, {true, 1, false}, {false, 0, false}, {false, 1, false}} {
		p := pool.Pool{State: pool.State{Removed: c.removed, Machines: make([]pool.Machine, c.machines)}}
		require.Equal(t, c.want, p.Over(), "%+v", c)
	}
}

func TestOrdersAreEmptyIfNothingIsWanted(t *testing.T) {
	t.Parallel()
	require.True(t, (&pool.Orders{}).Empty())
	for _, o := range []pool.Orders{
		{Events: []any{1}},
		{Start: []string{"p"}},
		{Drain: []server.ID{"s"}},
		{Stop: []string{"p"}},
		{Events: []any{1}, Start: []string{"p"}},
		{Events: []any{1}, Drain: []server.ID{"s"}},
		{Start: []string{"p"}, Stop: []string{"p"}},
		{Drain: []server.ID{"s"}, Stop: []string{"p"}},
		{Events: []any{1}, Stop: []string{"p"}},
	} {
		require.False(t, o.Empty(), "%+v", o)
	}
}

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

// The bounds of a description are exact, and what it does not say has its usual value.
func TestTheBoundsOfADescription(t *testing.T) {
	t.Parallel()
	spec := func(change func(*pool.Spec)) (pool.Spec, error) {
		s := pool.Spec{Provider: pool.Provider{Start: "start", Stop: "stop {machine}", List: "list"}, Terms: pool.Terms{Max: 3}}
		change(&s)
		err := s.Check()
		return s, err
	}
	usual, err := spec(func(*pool.Spec) {})
	require.NoError(t, err)
	require.Equal(t, pool.Terms{
		Max: 3, Idle: 3 * time.Minute, Wait: 20 * time.Second, Join: 10 * time.Minute, Labels: []string{}, Hosts: []string{},
	}, usual.Terms)
	const most = 1000 * amount.Dollar
	for name, c := range map[string]struct {
		change func(*pool.Spec)
		says   string // "" = it is accepted
	}{
		"max 0":         {func(s *pool.Spec) { s.Max = 0 }, "max:"},
		"max 1":         {func(s *pool.Spec) { s.Max = 1 }, ""},
		"max 100":       {func(s *pool.Spec) { s.Max = 100 }, ""},
		"max 101":       {func(s *pool.Spec) { s.Max = 101 }, "max: a number from 1 to 100"},
		"min -1":        {func(s *pool.Spec) { s.Min = -1 }, "min:"},
		"min is max":    {func(s *pool.Spec) { s.Min = 3 }, ""},
		"min above max": {func(s *pool.Spec) { s.Min = 4 }, "min:"},
		"idle 1s":       {func(s *pool.Spec) { s.Idle = time.Second }, ""},
		"idle below 1s": {func(s *pool.Spec) { s.Idle = time.Second - 1 }, "idle:"},
		"wait 24h":      {func(s *pool.Spec) { s.Wait = 24 * time.Hour }, ""},
		"wait above 24h": {
			func(s *pool.Spec) { s.Wait = 24*time.Hour + 1 },
			"wait: a time from 1s to 24h0m0s is needed, such as 20s",
		},
		"join above 24h":         {func(s *pool.Spec) { s.Join = 24*time.Hour + 1 }, "join:"},
		"the highest price":      {func(s *pool.Spec) { s.Price = most }, ""},
		"a higher price":         {func(s *pool.Spec) { s.Price = most + 1 }, "price:"},
		"a negative price":       {func(s *pool.Spec) { s.Price = -1 }, "price:"},
		"a budget":               {func(s *pool.Spec) { s.Price, s.Budget = 1, 1 }, ""},
		"a negative budget":      {func(s *pool.Spec) { s.Price, s.Budget = 1, -1 }, "price:"},
		"a budget without price": {func(s *pool.Spec) { s.Budget = 1 }, "price:"},
		"prompts":                {func(s *pool.Spec) { s.Prompts = 1 }, ""},
		"negative prompts":       {func(s *pool.Spec) { s.Prompts = -1 }, "recycle:"},
		"all of the memory":      {func(s *pool.Spec) { s.Memory = 100 }, ""},
		"negative memory":        {func(s *pool.Spec) { s.Memory = -1 }, "recycle:"},
		"more than the memory":   {func(s *pool.Spec) { s.Memory = 101 }, "recycle:"},
		"a long command":         {func(s *pool.Spec) { s.Start = strings.Repeat("s", 4000) }, ""},
		"a longer command": {
			func(s *pool.Spec) { s.Start = strings.Repeat("s", 4001) },
			"start: a text of at most 4000 bytes is needed; a pool of the kind command has the keys start, stop, list",
		},
		"no list": {func(s *pool.Spec) { s.List = "\t" }, "list:"},
		"hosts of a process": {
			func(s *pool.Spec) { s.Provider = pool.Provider{Kind: pool.Process}; s.Hosts = []string{"h"} },
			"hosts: a pool of the kind process has no such key",
		},
		"a port of kubernetes": {func(s *pool.Spec) { s.Provider = pool.Provider{Kind: pool.Kubernetes, Deployment: "d", Port: 1} }, ""},
		"the last port": {
			func(s *pool.Spec) { s.Provider = pool.Provider{Kind: pool.Kubernetes, Deployment: "d", Port: 65535} },
			"",
		},
		"a negative port": {
			func(s *pool.Spec) { s.Provider = pool.Provider{Kind: pool.Kubernetes, Deployment: "d", Port: -1} },
			"port:",
		},
		"a webhook without host": {
			func(s *pool.Spec) {
				s.Provider = pool.Provider{Kind: pool.Webhook, Start: "https:///x", Stop: "https://h", List: "https://h"}
			},
			"start:",
		},
		"a webhook without https": {
			func(s *pool.Spec) {
				s.Provider = pool.Provider{Kind: pool.Webhook, Start: "http://h", Stop: "http://h", List: "http://h"}
			},
			"",
		},
		"a webhook of a fragment": {
			func(s *pool.Spec) {
				s.Provider = pool.Provider{Kind: pool.Webhook, Start: "https://h#f", Stop: "https://h", List: "https://h"}
			},
			"start:",
		},
		"an API with a token": {
			func(s *pool.Spec) {
				s.Provider = pool.Provider{Kind: pool.Kubernetes, Deployment: "d", Server: "https://h", TokenFile: "t"}
			},
			"",
		},
	} {
		_, err := spec(c.change)
		if c.says == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.says, name)
		}
	}
	cluster, err := spec(func(s *pool.Spec) { s.Provider = pool.Provider{Kind: pool.Kubernetes, Deployment: "d"} })
	require.NoError(t, err)
	require.Equal(t, pool.Provider{Kind: pool.Kubernetes, Deployment: "d", Namespace: "default", Port: 8188}, cluster.Provider)
}

func TestProvidersThatNameTheirMachines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider pool.Provider
		want     bool
	}{
		{pool.Provider{Start: "start {machine}"}, true},
		{pool.Provider{Start: "start"}, false},
		{pool.Provider{Kind: pool.Process}, true},
		{pool.Provider{Kind: pool.Webhook, Start: "https://h/{machine}"}, false},
	} {
		require.Equal(t, c.want, c.provider.Named(), "%+v", c.provider)
	}
	one, other := pool.Provider{Start: "a"}.Digest(), pool.Provider{Start: "b"}.Digest()
	require.Regexp(t, "^[0-9a-f]{16}$", one)
	require.NotEqual(t, one, other)
}

// The names of pools and machines are words of commands.
func TestNamesOfPoolsAndMachines(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"a": true, "a" + strings.Repeat("b", 39): true, "a" + strings.Repeat("b", 40): false, "A": false, "1a": false, "": false, "a-1": true,
	} {
		require.Equal(t, ok, pool.CheckName(name) == nil, name)
	}
	for id, ok := range map[string]bool{
		"i-1.x_y:z": true, "": false, "-rf": false, "a b": false, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false,
	} {
		require.Equal(t, ok, pool.IsMachine(id), id)
	}
}

// A registry takes each event type once.
func TestTheEventTypesOfPoolsAreRegisteredOnce(t *testing.T) {
	t.Parallel()
	types := eventlog.NewRegistry()
	require.NoError(t, pool.Register(types))
	require.Error(t, pool.Register(types))
}
