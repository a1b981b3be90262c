package durability_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/job"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// Numbers of the test below: kills of drivers and servers, concurrent jobs, and the time between two kills, for one
// minute in all.
const (
	serverKills  = 16
	fewestKilled = 4 // of the servers; the others are of workers
	underWay     = 6
	betweenKills = 1500 * time.Millisecond
)

// startOnServers starts the roles of a service with simulated ComfyUI servers.
func startOnServers(t *testing.T, n int) (*cluster, []*sim.Machine) {
	t.Helper()
	var machines []*sim.Machine
	var urls []string
	for range n {
		m, err := sim.Start("127.0.0.1:0", sim.Options{Step: 10 * time.Millisecond})
		require.NoError(t, err)
		t.Cleanup(m.Close)
		machines, urls = append(machines, m), append(urls, m.URL()+",price=0.001")
	}
	dir := dataDir(t)
	c := serveOn(t, startStack(t, dir), dir)
	c.env = append(c.env, "MILLRACE_COMFYUI="+strings.Join(urls, " "))
	c.startRoles()
	c.until("the classes of the servers are known", func() bool {
		_, body := c.call(http.MethodGet, "/api/object_info/KSampler", "")
		return strings.Contains(body, "sampler_name")
	})
	return c, machines
}

// onServers is a graph whose loader has the name of its job in its id, so that the executions of the job can be
// found.
func onServers(name string, seed int) string {
	return fmt.Sprintf(`{"prompt":{
		"%[1]s":{"class_type":"CheckpointLoaderSimple","inputs":{"ckpt_name":"random-sd15.safetensors"}},
		"2":{"class_type":"CLIPTextEncode","inputs":{"text":"a mill","clip":["%[1]s",1]}},
		"4":{"class_type":"EmptyLatentImage","inputs":{"width":64,"height":64,"batch_size":1}},
		"5":{"class_type":"KSampler","inputs":{"model":["%[1]s",0],"positive":["2",0],"negative":["2",0],"latent_image":["4",0],
			"seed":%[2]d,"steps":60,"cfg":7.0,"sampler_name":"euler","scheduler":"normal","denoise":1.0}},
		"6":{"class_type":"VAEDecode","inputs":{"samples":["5",0],"vae":["%[1]s",2]}},
		"7":{"class_type":"SaveImage","inputs":{"images":["6",0],"filename_prefix":"%[1]s"}}}}`, name, seed)
}

// Drivers and servers are killed under load. No job is lost, no picture exists twice, no segment is executed again
// while the server that executed it lives, and the time on servers is charged once.
func TestDriversAndServersMayBeKilled(t *testing.T) {
	t.Parallel()
	c, machines := startOnServers(t, 2)
	c.command("accounts", "credit", "local", "--amount", "1000", "--reason", "metered")
	random := rand.New(rand.NewPCG(2026, 13))
	jobs := map[string]string{} // by name
	next := func() {
		name := fmt.Sprintf("job%d-load", len(jobs))
		if id, ok := c.accepted(onServers(name, len(jobs))); ok {
			jobs[name] = id
		}
	}
	for range underWay {
		next()
	}
	killed := 0
	for n := 0; n < serverKills || killed < fewestKilled; n++ {
		<-time.After(betweenKills/2 + time.Duration(random.Int64N(int64(betweenKills)))) // any moment of a run
		at := random.IntN(4)
		if n >= serverKills { // on a busy machine, jobs recover for longer than the pauses
			at %= 2
			c.until("no unfinished job has lost a server", func() bool { return c.underWayAgain() == 0 })
		}
		if at < 2 && c.underWayAgain() == 0 {
			killed++
			machines[at].Kill()
			require.NoError(t, machines[at].Restart())
		} else {
			c.workers[at%2].kill()
			c.workers[at%2].start()
		}
		next()
		next()
	}
	all := make([]string, 0, len(jobs))
	for _, id := range jobs {
		all = append(all, id)
	}
	c.await(all, "completed")
	for name, id := range jobs {
		require.Len(t, c.pictures(id), 1, "job %s, %s", name, id)
	}
	require.Empty(t, sim.Repeats(machines, func(r sim.Run) string {
		for _, id := range r.Nodes {
			if strings.HasSuffix(id, "-load") {
				return id
			}
		}
		return ""
	}))
	c.checkLanes()
	c.checkServerCharges(all)
}

// Jobs that wait for a server leave their slots to other jobs of the account. They wait on after their workers are killed, and run
// when a server is there.
func TestJobsThatWaitForAServerDoNotStopOthers(t *testing.T) {
	t.Parallel()
	c, machines := startOnServers(t, 1)
	const slots = 6 // MILLRACE_SLOTS
	machines[0].Kill()
	waiting := map[string]string{}
	for i := range slots {
		prefix := fmt.Sprintf("waits-%d", i)
		waiting[prefix] = c.submit(onServers(prefix, i))
	}
	native := map[string]string{}
	for i := range slots {
		prefix := fmt.Sprintf("native-%d", i)
		native[prefix] = c.submit(cheap(prefix))
	}
	c.await(ids(native), "completed")
	c.checkOutputs(native)
	reasons := func(id string) (reason string) {
		_, body := c.call(http.MethodGet, "/api/v2/jobs/"+id, "")
		var answer struct {
			Waiting *struct{ Reason string }
		}
		require.NoError(t, json.Unmarshal([]byte(body), &answer))
		if answer.Waiting != nil {
			reason = answer.Waiting.Reason
		}
		return reason
	}
	for _, id := range waiting { // the other jobs need one slot of them at least
		c.until("the job waits for a server without a slot", func() bool {
			return slices.Contains(c.events(id), job.TypeSlotReleased) && strings.Contains(reasons(id), "server")
		})
	}
	killed := c.killWorkers()
	c.until("other workers drive the waiting jobs", func() bool { return c.waitingSince(killed) == slots })
	var holders []string // of all slots, when the server is there
	for i := range slots {
		holders = append(holders, c.submit(longOf(2048, fmt.Sprintf("holds-%d", i))))
	}
	require.NoError(t, machines[0].Restart())
	c.until("a job waits for a slot", func() bool {
		for _, id := range waiting {
			if strings.Contains(reasons(id), "6 slots are in use") {
				return true
			}
		}
		return false
	})
	c.killWorkers()
	c.await(slices.Concat(ids(waiting), holders), "completed")
	for prefix, id := range waiting {
		require.Len(t, c.pictures(id), 1, prefix)
		require.Contains(t, c.events(id), job.TypeSlotTaken)
	}
	c.checkLanes()
}

// killWorkers kills the workers, starts others, and returns the time between.
func (c *cluster) killWorkers() time.Time {
	c.t.Helper()
	for _, w := range c.workers {
		w.kill()
	}
	killed := time.Now()
	for _, w := range c.workers {
		w.start()
	}
	return killed
}

// waitingSince returns the number of segments whose wait for a server a worker renewed after a time.
func (c *cluster) waitingSince(at time.Time) (n int) {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.stack.DatabaseURL)
	require.NoError(c.t, err)
	defer conn.Close(c.t.Context())
	require.NoError(c.t, conn.QueryRow(c.t.Context(), `select count(*) from comfyui_waits where seen_at > $1`, at).Scan(&n))
	return n
}

// underWayAgain returns the number of unfinished jobs that have lost a server. The loss of a second one while the same node runs
// would end a job.
func (c *cluster) underWayAgain() (n int) {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.stack.DatabaseURL)
	require.NoError(c.t, err)
	defer conn.Close(c.t.Context())
	require.NoError(c.t, conn.QueryRow(c.t.Context(), `select count(*) from events e where type = $1 and data ->> 'cause' = $2
		and not exists (select from events s where s.stream = e.stream and s.type = $3)`, job.TypeSegmentEnded, string(job.ServerLost),
		job.TypeSucceeded).Scan(&n))
	return n
}

// pictures returns the names of a job's output files.
func (c *cluster) pictures(id string) (names []string) {
	c.t.Helper()
	status, body := c.call(http.MethodGet, "/api/history/"+id, "")
	require.Equal(c.t, http.StatusOK, status)
	var history map[string]struct {
		Outputs map[string]struct{ Images []struct{ Filename string } }
	}
	require.NoError(c.t, json.Unmarshal([]byte(body), &history))
	for _, out := range history[id].Outputs {
		for _, im := range out.Images {
			names = append(names, im.Filename)
		}
	}
	return names
}

// checkServerCharges requires that every job ended one segment with success, and that the account paid for each of
// these once.
func (c *cluster) checkServerCharges(ids []string) {
	c.t.Helper()
	spent := int64(0)
	for _, id := range ids {
		done := 0
		for _, e := range c.ends(id) {
			if e.Outcome == job.SegmentDone {
				done++
			}
			spent += e.Cost(1000)
		}
		require.Equal(c.t, 1, done, "job %s", id)
		spent += 250_000 // MILLRACE_PRICE_RUN
	}
	require.Contains(c.t, c.command("accounts", "ledger", "local"), // fails if the balance differs from that of the events
		"0.00 reserved, "+amount.Dollars(spent)+" spent, 1000.00 granted")
}

// ends returns the outcomes of the attempts to run the segments of a job.
func (c *cluster) ends(id string) []job.SegmentEndedV1 {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.stack.DatabaseURL)
	require.NoError(c.t, err)
	defer conn.Close(c.t.Context())
	rows, err := conn.Query(c.t.Context(), `select data from events where stream = $1 and type = $2 order by version`, job.ID(id).Stream(),
		job.TypeSegmentEnded)
	require.NoError(c.t, err)
	ends, err := pgx.CollectRows(rows, pgx.RowTo[job.SegmentEndedV1])
	require.NoError(c.t, err)
	return ends
}
