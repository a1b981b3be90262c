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

// Pools of processes may have as many machines as the workers can run together, and any number while no worker runs one. A pool whose
// maximum is not raised is accepted: workers may have gone since it was described.
func TestTheMaximumOfPoolsOfProcessesIsWhatWorkersCanRun(t *testing.T) {
	t.Parallel()
	types := eventlog.NewRegistry()
	require.NoError(t, errors.Join(server.Register(types), pool.Register(types)))
	db := storetest.OpenPool(t, storetest.NewDatabase(t))
	log := eventstore.New(db, types, nil)
	o := &pools.Service{Store: poolstore.New(db, log), Servers: serverstore.New(db, log), Workers: livestore.NewWorkers(db)}
	at := slices.IndexFunc(pools.Actions.Actions, func(a action.For[*pools.Service]) bool { return a.ID == "adminApplyPool" })
	file := filepath.Join(t.TempDir(), "pool.yaml")
	for i, c := range []struct {
		worker         livestore.Rules // that begins to run
		pool, provider string
		max            int
		refused        string // numbers of the error
	}{
		{livestore.Rules{}, "p", "kind: process", 9, ""},
		{livestore.Rules{Machines: 2}, "p", "kind: process", 9, ""},
		{livestore.Rules{}, "p", "kind: process", 10, "2 machines, one for each GPU or --comfyui-count, and not 10: 10 of the pool p"},
		{livestore.Rules{}, "p", "kind: process", 2, ""},
		{livestore.Rules{Machines: 1}, "p", "kind: process", 3, ""},
		{livestore.Rules{}, "other", "start: a\nstop: b {machine}\nlist: c", 4, ""},
		{livestore.Rules{}, "q", "kind: process", 1, "or --comfyui-count, and not 4: 1 of the pool q, 3 of the pool p"},
		{livestore.Rules{}, "p", "kind: process", 2, ""},
		{livestore.Rules{}, "q", "kind: process", 1, ""},
		{livestore.Rules{}, "other", "kind: process", 4, "not 7: 4 of the pool other, 2 of the pool p, 1 of the pool q"},
	} {
		_, err := db.Exec(t.Context(), `insert into workers (id, heartbeat, rules) values ($1, now() + interval '1 hour', $2)`,
			fmt.Sprint(i), c.worker)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "pool: %s\n%s\nmax: %d\n", c.pool, c.provider, c.max), 0o600))
		params := pools.Actions.Actions[at].New(false)
		require.NoError(t, pools.Actions.Actions[at].Params[0].Set(params, file))
		_, err = pools.Actions.Actions[at].Do(t.Context(), o, params, operate.Attribution{Actor: "ana"})
		if c.refused == "" {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, fault.CodeInvalidPool, fault.CodeOf(err))
		require.ErrorContains(t, err, c.refused)
	}
}
