package durability_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Both workers are killed while a node that another one expanded to runs. The run goes on with what the
// expansion stored, and nothing is told twice.
func TestWorkersMayBeKilledInsideAnExpansion(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	id := c.submit(expanding("killed"))
	c.until(2*time.Minute, "a node of the expansion runs", func() bool {
		_, body := c.call("GET", "/api/v2/jobs/"+id, "")
		var job struct {
			Progress *struct {
				Node *string `json:"current_node"`
			}
		}
		return json.Unmarshal([]byte(body), &job) == nil && job.Progress != nil && job.Progress.Node != nil && len(*job.Progress.Node) > 2
	})
	c.workers[0].kill()
	c.workers[1].kill()
	c.workers[0].start()
	c.workers[1].start()
	c.ready()
	c.await([]string{id}, "completed")
	_, body := c.call("GET", "/api/v2/jobs/"+id, "")
	var job struct {
		Outputs []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &job))
	require.Contains(t, job.Outputs, struct{ Name string }{"killed_00001_.png"})
	c.checkViews()
	c.checkLanes()
}
