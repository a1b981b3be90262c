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
