package durability_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Both workers are killed while a node of an expansion runs. The run continues with the stored values of the
// expansion, and nothing is reported twice.
func TestWorkersMayBeKilledInsideAnExpansion(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	long := strings.NewReplacer("2048", "4096", `"times":3`, `"times":8`).Replace(expanding("killed"))
	id := c.submit(long)
	c.until("a node of the expansion has begun", func() bool {
		return strings.Contains(c.command("jobs", "events", id, "--json"), `"node": "2.0.0.1"`)
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
