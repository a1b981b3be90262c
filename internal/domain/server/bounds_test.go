package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestRegistrationsAreBounded(t *testing.T) {
	t.Parallel()
	const highest = 1000 * amount.Dollar // of a second
	for name, c := range map[string]struct {
		change func(*server.Registration)
		ok     bool
	}{
		"no slots are one":  {func(r *server.Registration) { r.Slots = 0 }, true},
		"the most slots":    {func(r *server.Registration) { r.Slots = 64 }, true},
		"too many slots":    {func(r *server.Registration) { r.Slots = 65 }, false},
		"a negative number": {func(r *server.Registration) { r.Slots = -1 }, false},
		"an expiry":         {func(r *server.Registration) { r.ExpiresIn = time.Second }, true},
		"a negative expiry": {func(r *server.Registration) { r.ExpiresIn = -time.Second }, false},
		"the highest price": {func(r *server.Registration) { r.Price = highest }, true},
		"too high a price":  {func(r *server.Registration) { r.Price = highest + 1 }, false},
		"a negative price":  {func(r *server.Registration) { r.Price = -1 }, false},
	} {
		r := server.Registration{URL: "http://10.0.0.1:8188", By: server.By{Actor: "ops", Reason: "new"}}
		c.change(&r)
		err := r.Check()
		require.Equal(t, c.ok, err == nil, "%s: %v", name, err)
		if err != nil {
			require.True(t, fault.Is(err, fault.Invalid), name)
			continue
		}
		require.Positive(t, r.Slots, name)
		require.NoError(t, server.CheckTokenPrice(r.Price), name)
	}
	require.Error(t, server.CheckTokenPrice(highest+1))
	require.Error(t, server.CheckTokenPrice(-1))
}

// An address that cannot be used is shown, but never with the user and password in it.
func TestUnusableAddressesAreShownWithoutPasswords(t *testing.T) {
	t.Parallel()
	for address, shown := range map[string]string{
		"http://user:secret@host:1/x,label=a": "http://host:1/x",
		"user:secret@host":                    "host",
		"user:se@cret@host":                   "host",
		" host ":                              "host",
	} {
		require.Equal(t, shown, server.Unnamed(address))
	}
}

// Segments that are assigned together count at once: two accounts share two servers although one came first with both segments.
func TestSegmentsAssignedTogetherCount(t *testing.T) {
	t.Parallel()
	of := func(account string, after time.Duration) func(*server.Wait) {
		return func(w *server.Wait) { w.Account, w.Since = account, now.Add(after) }
	}
	got, _ := pool(healthy("s1"), healthy("s2")).Decide([]*server.Wait{
		waits("1", of("a", 0)), waits("2", of("a", time.Second)), waits("3", of("b", time.Minute)),
	})
	require.Len(t, got, 2)
	require.ElementsMatch(t, []string{"a", "b"}, []string{got[0].Wait.Account, got[1].Wait.Account})
}

// What is said of a server whose process does not run tells a first start from a restart.
func TestTheStateOfAProcessIsSaid(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, p := range map[string]*server.Process{
		"its process starts since 2026-01-02 03:04:05 UTC":                {Phase: server.PhaseStarting, Since: since},
		"its process starts again since 2026-01-02 03:04:05 UTC: crashed": {Phase: server.PhaseStarting, Since: since, Problem: "crashed"},
		"its process ended and is started again: crashed":                 {Phase: server.PhaseStopped, Problem: "crashed"},
		"its process ended with its machine":                              {Phase: server.PhaseEnded, Problem: "crashed"},
		"away":                                                            nil,
	} {
		s := healthy("s")
		s.Health, s.Process, s.Problem = server.Absent, p, "away"
		require.Equal(t, want, s.Trouble())
	}
}

// The reason of a placement counts the servers that were free.
func TestTheReasonOfAPlacementCountsServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		servers int
		models  []string
		want    string
	}{
		"the only one":               {1, []string{"m"}, "the only server"},
		"two without models":         {2, []string{"m"}, "free, with no models loaded"},
		"for a segment without some": {2, nil, "the best of 2 free servers by waiting prompts, models and memory"},
	} {
		var all []*server.Server
		for n := range c.servers {
			all = append(all, healthy(string(rune('a'+n))))
		}
		got, _ := pool(all...).Decide([]*server.Wait{waits("1", needs(c.models...))})
		require.Len(t, got, 1, name)
		require.Equal(t, c.want, got[0].Reason, name)
	}
}
