package e2e_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// longNodes is how many nodes the graph of longGraph has, each of which takes the better part of a second.
const longNodes = 60

// longGraph blurs a picture again and again.
func longGraph(seed int) string {
	nodes := []string{fmt.Sprintf(`"0":{"class_type":"EmptyImage","inputs":{"width":1536,"height":1536,"batch_size":1,"color":%d}}`, seed)}
	for i := 1; i < longNodes; i++ {
		nodes = append(nodes, fmt.Sprintf(`"%d":{"class_type":"ImageBlur","inputs":{"image":["%d",0],"blur_radius":20,"sigma":5.0}}`, i, i-1))
	}
	nodes = append(nodes, fmt.Sprintf(`"out":{"class_type":"PreviewImage","inputs":{"images":["%d",0]}}`, longNodes-1))
	return "{" + strings.Join(nodes, ",") + "}"
}

// shortGraph has four nodes, of which one is too long to be fused with others.
const shortGraph = `{"0":{"class_type":"EmptyImage","inputs":{"width":1024,"height":1024,"batch_size":1,"color":9}},
	"1":{"class_type":"ImageBlur","inputs":{"image":["0",0],"blur_radius":31,"sigma":9.0}},
	"2":{"class_type":"ImageScale","inputs":{"image":["1",0],"upscale_method":"bilinear","width":64,"height":64,"crop":"disabled"}},
	"3":{"class_type":"PreviewImage","inputs":{"images":["2",0]}}}`

// Jobs that together have more long batches than a worker has slots take turns, and a job of short nodes does not wait
// for any of them. What the others do meanwhile is the clock: the machine may be slow.
func TestLongJobsTakeTurnsAndShortOnesDoNotWait(t *testing.T) {
	t.Parallel()
	long, other, short := newClient(t, "pro"), newClient(t, "standard"), newClient(t, "standard")
	done := func(c *client, id string) float64 {
		p, _ := c.json("GET", "/api/v2/jobs/"+id, "")["progress"].(map[string]any)
		n, _ := p["nodes_done"].(float64)
		return n
	}
	var ids []string
	for i := range runtime.NumCPU() {
		ids = append(ids, long.submit(longGraph(i)))
	}
	all := func() (sum float64) {
		for _, id := range ids {
			sum += done(long, id)
		}
		return sum
	}
	begun := func(c *client, ids ...string) func() bool {
		return func() bool {
			for _, id := range ids {
				if done(c, id) < 2 {
					return false
				}
			}
			return true
		}
	}
	require.Eventually(t, begun(long, ids...), patience, 50*time.Millisecond)

	before := all()
	short.await(short.submit(shortGraph), "completed")
	meanwhile := all() - before
	t.Logf("the long jobs did %.0f nodes meanwhile", meanwhile)
	require.Less(t, meanwhile, 0.15*longNodes*float64(len(ids)), "a job of short nodes waited for long ones")

	before = all()
	late := other.submit(longGraph(99))
	require.Eventually(t, begun(other, late), patience, 50*time.Millisecond)
	require.Less(t, all()-before, 0.5*longNodes*float64(len(ids)), "a long job waited for the others to end")

	require.Equal(t, 200, long.do("POST", "/api/interrupt", "").status)
	require.Equal(t, 200, other.do("POST", "/api/interrupt", "").status)
	for _, id := range ids {
		long.await(id, "cancelled")
	}
	other.await(late, "cancelled")
}

// Nodes of partners' models wait, for minutes in case of a video. However many there are, they take no slot of a node
// that works.
func TestNodesThatWaitForModelsLeaveTheirSlotsToOthers(t *testing.T) {
	t.Parallel()
	waiting, working := newClient(t, "pro"), newClient(t, "standard")
	var ids []string
	for i := range runtime.NumCPU() + 1 {
		ids = append(ids, waiting.ordered(fmt.Sprintf(`{"1":{"class_type":"Partner_sim_image","inputs":{"prompt":"%d [sim:delay=10m]"}},
			"2":{"class_type":"PreviewImage","inputs":{"images":["1",0]}}}`, i)))
	}
	progress := func(c *client, id string) map[string]any {
		p, _ := c.json("GET", "/api/v2/jobs/"+id, "")["progress"].(map[string]any)
		return p
	}
	for _, id := range ids {
		require.Eventually(t, func() bool { return progress(waiting, id)["current_node"] == "1" }, patience, 50*time.Millisecond)
	}
	long := working.submit(longGraph(7))
	require.Eventually(t, func() bool {
		n, _ := progress(working, long)["nodes_done"].(float64)
		return n >= 2
	}, patience, 50*time.Millisecond)
	for _, c := range []*client{waiting, working} {
		require.Equal(t, 200, c.do("POST", "/api/interrupt", "").status)
	}
	working.await(long, "cancelled")
	for _, id := range ids {
		waiting.await(id, "cancelled")
	}
}
