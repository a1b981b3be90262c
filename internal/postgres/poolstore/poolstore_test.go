package poolstore_test

import (
	"errors"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/poolstore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

var by = server.By{Actor: "ana", Reason: "a test"}

func TestPoolsAndTheTokensOfTheirMachines(t *testing.T) {
	t.Parallel()
	types := eventlog.NewRegistry()
	require.NoError(t, errors.Join(server.Register(types), pool.Register(types)))
	db := storetest.OpenPool(t, storetest.NewDatabase(t))
	log := eventstore.New(db, types, nil)
	store, servers := poolstore.New(db, log), serverstore.New(db, log)
	spec := pool.Spec{Provider: pool.Provider{Start: "start secret-key", Stop: "stop {machine}", List: "list"}}
	spec.Max, spec.Labels = 3, []string{"sdxl"}
	require.NoError(t, spec.Check())
	apply := func(spec pool.Spec, classes string) poolstore.Applied {
		t.Helper()
		_, done, err := store.Apply(t.Context(), "p", spec, classes, by, func([]pool.Pool) error { return nil })
		require.NoError(t, err)
		return done
	}
	change := func(events ...any) {
		t.Helper()
		require.NoError(t, store.Change(t.Context(), "p", by, func(pool.Pool) []any { return events }))
	}

	_, err := store.Pool(t.Context(), "p")
	require.True(t, fault.Is(err, fault.NotFound))
	require.True(t, fault.Is(store.Change(t.Context(), "p", by, func(pool.Pool) []any { return nil }), fault.NotFound))
	require.NoError(t, servers.KeepClasses(t.Context(), "c", []byte("body")))
	require.Equal(t, poolstore.Applied{Created: true, Changed: true}, apply(spec, "c"))
	require.Equal(t, poolstore.Applied{}, apply(spec, "c"))
	require.Equal(t, poolstore.Applied{}, apply(spec, ""), "no definitions are no change")
	spec.Max = 2
	require.Equal(t, poolstore.Applied{Changed: true}, apply(spec, ""))

	aged := func(digest string) error {
		_, err := db.Exec(t.Context(), `update comfyui_classes set made_at = now() - interval '1 year' where digest = $1`, digest)
		return err
	}
	kept := func(digest, why string) {
		t.Helper()
		require.NoError(t, servers.ForgetClasses(t.Context()))
		_, err := servers.Classes(t.Context(), digest)
		require.NoError(t, err, why)
	}
	require.NoError(t, aged("c"))
	kept("c", "the definitions of a pool's machines")
	for range 2 { // stored long ago, and again for a description that is not recorded yet
		require.NoError(t, servers.KeepClasses(t.Context(), "d", []byte("body")))
		kept("d", "definitions that a description is about to name")
		require.NoError(t, aged("d"))
	}
	require.NoError(t, servers.KeepClasses(t.Context(), "d", []byte("body")))
	require.Equal(t, poolstore.Applied{Changed: true}, apply(spec, "d"))
	kept("c", "jobs may have been accepted with the former definitions")

	// Changes at the same time are decided one after the other: none goes beyond the maximum.
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			err := store.Change(t.Context(), "p", by, func(p pool.Pool) []any {
				if len(p.Machines) >= p.Spec.Max {
					return nil
				}
				return []any{pool.RequestedV1{Machine: "p-" + strconv.Itoa(p.Number+1)}}
			})
			require.NoError(t, err)
		})
	}
	group.Wait()
	p, err := store.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, []string{"p-1", "p-2"}, []string{p.Machines[0].ID, p.Machines[1].ID})

	token := func(name string) *server.Token {
		t.Helper()
		made, err := servers.AddToken(t.Context(), server.Token{Name: name, Pool: "p", Labels: spec.Labels, Price: 7}, server.HashToken(name), by)
		require.NoError(t, err)
		return &made
	}
	register := func(token *server.Token, url string) (*server.Server, error) {
		t.Helper()
		r := server.Registration{URL: url, Token: token, From: netip.MustParseAddr("10.0.0.1"), Labels: []string{"own"}}
		require.NoError(t, r.Check())
		return servers.Register(t.Context(), r, nil)
	}
	first, second := token("p-1"), token("p-2")
	s, err := register(first, "http://10.0.0.1:8188")
	require.NoError(t, err)
	require.Equal(t, []string{"own", "sdxl"}, s.Labels)
	require.Equal(t, int64(7), s.Price)
	_, err = register(first, "http://10.0.0.1:8189")
	require.Equal(t, fault.CodeServerExists, fault.CodeOf(err), "a machine registers one server")
	_, err = register(first, "http://10.0.0.1:8188")
	require.NoError(t, err, "and renews it")
	work, err := store.Work(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, "p-1", work[0].Machine)
	require.Equal(t, s.ID, work[0].Server)

	change(pool.LostV1{Machine: "p-2", Cause: "it failed", Failed: true})
	_, err = register(second, "http://10.0.0.1:8190")
	require.Equal(t, fault.CodeTokenNotFound, fault.CodeOf(err), "a machine that is lost joins too late")
	require.NoError(t, servers.Remove(t.Context(), s.ID, by))
	change(pool.StoppedV1{Machine: "p-1", Seconds: 5}, pool.StoppedV1{Machine: "p-2"}, pool.RemovedV1{})
	tokens, err := servers.Tokens(t.Context())
	require.NoError(t, err)
	require.Empty(t, tokens)
	all, err := store.Pools(t.Context())
	require.NoError(t, err)
	require.Empty(t, all, "the pool has ended")
	again, err := store.Restart(t.Context(), "p")
	require.NoError(t, err)
	require.False(t, again)
	require.True(t, apply(spec, "").Created, "and is made again under its name")
	again, err = store.Restart(t.Context(), "p")
	require.NoError(t, err)
	require.True(t, again)

	// The row is the fold of the events, which contain no command.
	var state pool.State
	for rec, err := range eventlog.Read(t.Context(), log, pool.Stream("p"), 0) {
		require.NoError(t, err)
		require.NotContains(t, string(rec.Data), "secret-key")
		data, err := types.DecodeKnown(rec)
		require.NoError(t, err)
		state = state.After(data, rec.RecordedAt)
	}
	p, err = store.Pool(t.Context(), "p")
	require.NoError(t, err)
	for _, s := range []*pool.State{&state, &p.State} { // the database has a clock of its own
		for i := range s.Ended {
			s.Ended[i].At = time.Time{}
		}
		s.FailedAt = time.Time{}
	}
	require.Empty(t, p.Machines)
	p.Machines, state.Machines = nil, nil
	require.Equal(t, state, p.State)
}
