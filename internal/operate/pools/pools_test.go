package pools_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/pools"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/poolstore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// newService returns the service of a database, which it returns too, and how to apply a description as the command does.
func newService(t *testing.T) (*pools.Service, *pgxpool.Pool, func(text string) (pools.View, error)) {
	t.Helper()
	types := eventlog.NewRegistry()
	require.NoError(t, errors.Join(server.Register(types), pool.Register(types)))
	db := storetest.OpenPool(t, storetest.NewDatabase(t))
	log := eventstore.New(db, types, nil)
	o := &pools.Service{Store: poolstore.New(db, log), Servers: serverstore.New(db, log), Workers: livestore.NewWorkers(db)}
	at := slices.IndexFunc(pools.Actions.Actions, func(a action.For[*pools.Service]) bool { return a.ID == "adminApplyPool" })
	return o, db, func(text string) (pools.View, error) {
		file := filepath.Join(t.TempDir(), "pool.yaml")
		params := pools.Actions.Actions[at].New(false)
		err := errors.Join(os.WriteFile(file, []byte(text), 0o600), pools.Actions.Actions[at].Params[0].Set(params, file))
		if err != nil {
			return pools.View{}, err
		}
		made, err := pools.Actions.Actions[at].Do(t.Context(), o, params, operate.Attribution{Actor: "ana"})
		v, _ := made.(pools.View)
		return v, err
	}
}

// begin begins a worker that can run so many machines.
func begin(t *testing.T, db *pgxpool.Pool, id string, machines int) {
	t.Helper()
	_, err := db.Exec(t.Context(), `insert into workers (id, heartbeat, rules) values ($1, now() + interval '1 hour', $2)`, id,
		livestore.Rules{Machines: machines})
	require.NoError(t, err)
}

// atOnce applies descriptions at the same moment.
func atOnce(apply func(string) (pools.View, error), texts ...string) ([]pools.View, []error) {
	views, errs := make([]pools.View, len(texts)), make([]error, len(texts))
	var group sync.WaitGroup
	for i, text := range texts {
		group.Go(func() { views[i], errs[i] = apply(text) })
	}
	group.Wait()
	return views, errs
}

// Of descriptions of a pool that are applied at once, each answer is about its own, and the pool has one of them.
func TestTwoDescriptionsOfAPoolAtOnce(t *testing.T) {
	t.Parallel()
	o, db, apply := newService(t)
	one := "pool: p\nkind: process\nmin: 1\nmax: 2\nlabels: [a]\nprice: 1 USD/hour\nbudget: 3 USD/day\n"
	two := "pool: p\nkind: process\nmax: 4\nlabels: [b]\n"
	described := func(v pools.View) string { return fmt.Sprint(v.Min, v.Max, v.Labels, v.Budget) }
	made := map[string]int{}
	for range 10 {
		views, errs := atOnce(apply, one, two, one, two, one, two, one, two)
		require.NoError(t, errors.Join(errs...))
		for i, v := range views {
			require.Equal(t, []string{"1 2 [a]3.00", "0 4 [b]"}[i%2], described(v))
			made[v.Outcome]++
		}
		now, err := o.Pools(t.Context())
		require.NoError(t, err)
		require.Len(t, now, 1)
		var applied, last int
		require.NoError(t, db.QueryRow(t.Context(), `select count(*), (array_agg((data ->> 'max')::int order by version))[count(*)]
			from events where stream = 'pool-p' and type = $1`, pool.TypeApplied).Scan(&applied, &last))
		require.Equal(t, 1, made["created"])
		require.Equal(t, applied, 1+made["changed"], "an event for each change")
		require.Equal(t, map[int]string{2: "1 2 [a]3.00", 4: "0 4 [b]"}[last], described(now[0]))
	}
}

// Two pools of processes that are applied at once do not get more machines together than the workers can run.
func TestTheMaximumOfTwoPoolsAtOnce(t *testing.T) {
	t.Parallel()
	_, db, apply := newService(t)
	for i := range 20 {
		begin(t, db, fmt.Sprint(i), 2)
		_, errs := atOnce(apply, fmt.Sprintf("pool: a%d\nkind: process\nmax: 2\n", i), fmt.Sprintf("pool: b%d\nkind: process\nmax: 2\n", i))
		require.True(t, (errs[0] == nil) != (errs[1] == nil), "%v", errs)
		require.Equal(t, fault.CodeInvalidPool, fault.CodeOf(errors.Join(errs...)))
	}
}

// Pools of processes may have as many machines as the workers can run together, and any number while no worker runs one. A pool whose
// maximum is not raised is accepted: workers may have gone since it was described.
func TestTheMaximumOfPoolsOfProcessesIsWhatWorkersCanRun(t *testing.T) {
	t.Parallel()
	_, db, apply := newService(t)
	for i, c := range []struct {
		machines       int // of a worker that begins to run
		pool, provider string
		max            int
		refused        string // numbers of the error
	}{
		{0, "p", "kind: process", 9, ""},
		{2, "p", "kind: process", 9, ""},
		{0, "p", "kind: process", 10, "2 machines, one for each GPU or --comfyui-count, and not 10: 10 of the pool p"},
		{0, "p", "kind: process", 2, ""},
		{1, "p", "kind: process", 3, ""},
		{0, "other", "start: a\nstop: b {machine}\nlist: c", 4, ""},
		{0, "q", "kind: process", 1, "or --comfyui-count, and not 4: 1 of the pool q, 3 of the pool p"},
		{0, "p", "kind: process", 2, ""},
		{0, "q", "kind: process", 1, ""},
		{0, "other", "kind: process", 4, "not 7: 4 of the pool other, 2 of the pool p, 1 of the pool q"},
	} {
		begin(t, db, fmt.Sprint(i), c.machines)
		_, err := apply(fmt.Sprintf("pool: %s\n%s\nmax: %d\n", c.pool, c.provider, c.max))
		if c.refused == "" {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, fault.CodeInvalidPool, fault.CodeOf(err))
		require.ErrorContains(t, err, c.refused)
	}
}
