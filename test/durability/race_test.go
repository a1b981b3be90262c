package durability_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/workflows"
)

// a cancel that races with the completion ends in one state, and every slot is freed once.
func TestCancelRacingCompletion(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	const racers, rounds = 8, 20
	var mu sync.Mutex
	ends := map[string]int{}
	var group sync.WaitGroup
	for r := range racers {
		group.Go(func() {
			for i := range rounds {
				id := c.submit(cheap(fmt.Sprintf("race-%d-%d", r, i)))
				// The pause varies over the run time of a cheap job, so that cancels arrive at every stage.
				<-time.After(time.Duration(rand.Int64N(int64(60 * time.Millisecond))))
				c.call("POST", "/api/queue", fmt.Sprintf(`{"delete":[%q]}`, id))
				end := c.final(id)
				mu.Lock()
				ends[end]++
				mu.Unlock()
				require.Equal(t, end, c.state(id), "a final state stays")
				if end == "cancelled" {
					c.nothingAfterTheEnd(id)
				}
			}
		})
	}
	group.Wait()
	t.Logf("how %d races ended: %v", racers*rounds, ends)
	require.Equal(t, racers*rounds, ends["completed"]+ends["cancelled"])
	require.NotZero(t, ends["cancelled"])
	c.checkLanes()
	c.checkViews()
}

func (s *service) final(id string) string {
	s.t.Helper()
	var end string
	s.until("job "+id+" ends", func() bool {
		end = s.state(id)
		return end == "completed" || end == "cancelled" || end == "failed"
	})
	return end
}

// nothingAfterTheEnd requires that the event that ended the job is the last of its stream and the only one of its
// kind.
func (c *cluster) nothingAfterTheEnd(id string) {
	events := c.events(id)
	require.Equal(c.t, job.TypeCanceled, events[len(events)-1])
	require.Equal(c.t, 1, strings.Count(strings.Join(events, " "), job.TypeCanceled))
}

func (c *cluster) events(id string) []string {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.stack.DatabaseURL)
	require.NoError(c.t, err)
	defer conn.Close(c.t.Context())
	rows, err := conn.Query(c.t.Context(), `select type from events where stream = $1 order by version`, job.ID(id).Stream())
	require.NoError(c.t, err)
	types, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(c.t, err)
	return types
}

// a start intent that is delivered again runs nothing, even under an execution that Temporal takes for new
// because it no longer has the first one.
func TestARepeatedStartRunsNothing(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	id := c.submit(cheap("once"))
	c.await([]string{id}, "completed")
	before := c.events(id)

	conn, err := pgx.Connect(t.Context(), c.stack.DatabaseURL)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	ref := job.RunRef{Job: job.ID(id), Account: "local", Run: 1}
	payload, err := json.Marshal(ref)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `insert into outbox (workflow_id, kind, payload, due_at) values ($1, 'start_run_graph', $2, now())`,
		ref.Job.WorkflowID(1), payload)
	require.NoError(t, err)
	c.untilDelivered()

	engine, err := client.Dial(client.Options{HostPort: c.stack.TemporalAddress})
	require.NoError(t, err)
	defer engine.Close()
	for _, other := range []string{"forgotten-1", "forgotten-2"} {
		run, err := engine.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: other, TaskQueue: "millrace"},
			workflows.RunGraphName, workflows.RunGraphParams{RunRef: ref})
		require.NoError(t, err)
		require.NoError(t, run.Get(t.Context(), nil))
	}
	require.Equal(t, before, c.events(id))
	c.checkOutputs(map[string]string{"once": id})
}

// untilDelivered waits until no intent waits. A waiting intent is delivered by any process that finds it.
func (c *cluster) untilDelivered() {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.stack.DatabaseURL)
	require.NoError(c.t, err)
	defer conn.Close(c.t.Context())
	c.until("every intent is carried out", func() bool {
		var waiting int
		require.NoError(c.t, conn.QueryRow(c.t.Context(), `select count(*) from outbox`).Scan(&waiting))
		return waiting == 0
	})
}

// a workflow that was closed from outside leaves no unfinished job.
func TestATerminatedWorkflowEndsItsJob(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	_, id := c.caught("terminated")
	engine, err := client.Dial(client.Options{HostPort: c.stack.TemporalAddress})
	require.NoError(t, err)
	defer engine.Close()
	require.NoError(t, engine.TerminateWorkflow(t.Context(), job.ID(id).WorkflowID(1), "", "by an operator"))
	c.thaw()
	c.await([]string{id}, "failed")
	status, body := c.call("GET", "/api/v2/jobs/"+id, "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "the run was lost")
	c.checkLanes()
}
