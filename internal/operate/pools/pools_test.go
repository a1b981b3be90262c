package pools_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

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

// A pool of processes may have as many machines as the workers can run together, and any number while no worker runs one.
func TestTheMaximumOfAPoolOfProcessesIsWhatWorkersCanRun(t *testing.T) {
	t.Parallel()
	types := eventlog.NewRegistry()
	require.NoError(t, errors.Join(server.Register(types), pool.Register(types)))
	db := storetest.OpenPool(t, storetest.NewDatabase(t))
	log := eventstore.New(db, types, nil)
	o := &pools.Service{Store: poolstore.New(db, log), Servers: serverstore.New(db, log), Workers: livestore.NewWorkers(db)}
	at := slices.IndexFunc(pools.Actions.Actions, func(a action.For[*pools.Service]) bool { return a.ID == "adminApplyPool" })
	file := filepath.Join(t.TempDir(), "pool.yaml")
	for i, c := range []struct {
		worker   livestore.Rules // that begins to run
		provider string
		max      int
		refused  bool
	}{
		{livestore.Rules{}, "kind: process", 9, false},
		{livestore.Rules{Machines: 2}, "kind: process", 3, true},
		{livestore.Rules{Machines: 1}, "kind: process", 3, false},
		{livestore.Rules{}, "kind: process", 4, true},
		{livestore.Rules{}, "start: a\nstop: b {machine}\nlist: c", 4, false},
	} {
		_, err := db.Exec(t.Context(), `insert into workers (id, heartbeat, rules) values ($1, now() + interval '1 hour', $2)`,
			fmt.Sprint(i), c.worker)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "pool: p\n%s\nmax: %d\n", c.provider, c.max), 0o600))
		params := pools.Actions.Actions[at].New(false)
		require.NoError(t, pools.Actions.Actions[at].Params[0].Set(params, file))
		_, err = pools.Actions.Actions[at].Do(t.Context(), o, params, operate.Attribution{Actor: "ana"})
		if !c.refused {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, fault.CodeInvalidPool, fault.CodeOf(err))
		require.ErrorContains(t, err, "max: the workers with --comfyui-pool can run ")
	}
}
