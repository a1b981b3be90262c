package jobstore_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// newQueue returns a store in which n jobs of the account "a" wait, some before others that were submitted earlier, and one runs.
func newQueue(t *testing.T, n int, tracer pgx.QueryTracer) (*jobstore.Store, *pgxpool.Pool) {
	t.Helper()
	cfg := storetest.OpenPool(t, storetest.NewDatabase(t)).Config()
	cfg.ConnConfig.Tracer = tracer
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	jobs := jobstore.New(pool, eventstore.New(pool, types, nil))
	_, err = jobs.Submit(t.Context(), job.NewJob{ID: job.NewID(), Account: "a", Bounds: job.Bounds{Slots: 1}})
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	var group errgroup.Group
	group.SetLimit(64)
	for range n {
		number := float64(random.IntN(n / 10))
		group.Go(func() error {
			_, err := jobs.Submit(t.Context(), job.NewJob{
				ID: job.NewID(), Account: "a", Number: &number,
				Bounds: job.Bounds{Slots: 1, QueueDepth: n},
			})
			return err
		})
	}
	require.NoError(t, group.Wait())
	return jobs, pool
}

// However many of them are asked for, and wherever they wait, jobs are numbered in the order in which they will be admitted.
func TestQueuePositionsAreTheOrderOfAdmission(t *testing.T) {
	t.Parallel()
	jobs, _ := newQueue(t, 900, nil)
	order, err := jobs.Waiting(t.Context(), "a")
	require.NoError(t, err)
	running, err := jobs.WithSlot(t.Context(), "a")
	require.NoError(t, err)
	for _, gone := range []int{0, 1, 300, 450, 899} {
		_, err := jobs.Cancel(t.Context(), job.CancelRequest{Account: "a", IDs: order[gone : gone+1]})
		require.NoError(t, err)
	}
	order, err = jobs.Waiting(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, order, 895)
	for name, asked := range map[string][]int{
		"none": {}, "the next one": {0}, "the last one": {894}, "one in the middle": {447}, "near the beginning": {3, 200, 100},
		"near the end":          {894, 700, 701},
		"both ends and between": {894, 0, 400, 401}, "at the bounds of counting": {255, 256, 257, 258}, "from the end": {637, 638, 639, 640},
	} {
		ids := append([]job.ID{job.NewID()}, running...)
		want := map[job.ID]int64{}
		for _, ahead := range asked {
			ids, want[order[ahead]] = append(ids, order[ahead]), int64(ahead)
		}
		positions, err := jobs.QueuePositions(t.Context(), "a", ids)
		require.NoError(t, err)
		require.Equal(t, want, positions, name)
		positions, err = jobs.QueuePositions(t.Context(), "b", ids)
		require.NoError(t, err)
		require.Empty(t, positions, "another account's")
	}
	remaining, err := jobs.Remaining(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 896, remaining)
	remaining, err = jobs.Remaining(t.Context(), "b")
	require.NoError(t, err)
	require.Zero(t, remaining)
}

// The positions of the jobs at either end of a long queue cost as much as those of a short one.
func TestQueuePositionsReadTheNearerEnd(t *testing.T) {
	t.Parallel()
	const waiting, page = 2000, 20
	tracer := &storetest.Statements{}
	jobs, pool := newQueue(t, waiting, tracer)
	order, err := jobs.Waiting(t.Context(), "a")
	require.NoError(t, err)
	for name, asked := range map[string][]job.ID{"first": order[:page], "last": order[waiting-page:]} {
		tracer.Take()
		positions, err := jobs.QueuePositions(t.Context(), "a", asked)
		require.NoError(t, err)
		require.Len(t, positions, page)
		sent := tracer.Take()
		require.Len(t, sent, 1)
		rows, err := pool.Query(t.Context(), "explain (analyze, costs off, timing off, buffers off, format json) "+sent[0].SQL, sent[0].Args...)
		require.NoError(t, err)
		plan, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
		require.NoError(t, err)
		var plans []struct{ Plan planNode }
		require.NoError(t, json.Unmarshal([]byte(plan), &plans))
		require.Less(t, plans[0].Plan.rowsOf("job_queue"), 2*300+3.0*page, "%s: %s", name, plan)
	}
}

// planNode is a node of a plan that ran.
type planNode struct {
	Table   string  `json:"Relation Name"`
	Rows    float64 `json:"Actual Rows"`
	Removed float64 `json:"Rows Removed by Filter"`
	Loops   float64 `json:"Actual Loops"`
	Plans   []planNode
}

// rowsOf returns the rows of a table that were read.
func (n planNode) rowsOf(table string) (rows float64) {
	if n.Table == table {
		rows = (n.Rows + n.Removed) * n.Loops
	}
	for _, below := range n.Plans {
		rows += below.rowsOf(table)
	}
	return rows
}
