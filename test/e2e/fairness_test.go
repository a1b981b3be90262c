package e2e_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wide has that many nodes ready at once, each a task of the engine, on values that stay small.
func wide(branches int) string {
	nodes := []string{`"0":{"class_type":"EmptyImage","inputs":{"width":2048,"height":2048,"batch_size":1,"color":255}}`}
	for i := 1; i <= branches; i++ {
		nodes = append(nodes, fmt.Sprintf(`"%d":{"class_type":"ImageBlur","inputs":{"image":["0",0],"blur_radius":%d,"sigma":%d.0}},
			"%d":{"class_type":"ImageScale","inputs":{"image":["%d",0],"upscale_method":"nearest-exact","width":8,"height":8,"crop":"disabled"}},
			"%d":{"class_type":"PreviewImage","inputs":{"images":["%d",0]}}`, i, 20+i%12, 1+i%9, 10_000+i, i, 20_000+i, 10_000+i))
	}
	return "{" + strings.Join(nodes, ",") + "}"
}

// An account whose graph has hundreds of nodes ready does not keep another's waiting until they are done:
// the engine hands tasks out by account. By age alone the second account would come last, once the tasks
// that wait are older than the engine takes for no backlog, which is five seconds.
func TestWideGraphDoesNotDelayOtherAccounts(t *testing.T) {
	t.Parallel()
	huge, small := newClient(t, "standard"), newClient(t, "standard")
	branches := 60 * runtime.NumCPU()
	id := huge.submit(wide(branches))
	done := func() float64 {
		p, _ := huge.json("GET", "/api/v2/jobs/"+id, "")["progress"].(map[string]any)
		n, _ := p["nodes_done"].(float64)
		return n / float64(3*branches+1)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); done() == 0 || time.Since(began) < 7*time.Second; {
		<-tick.C
	}
	before := done()
	require.Less(t, before, 0.5, "the machine is too quick, or too slow, for this graph")
	small.await(small.submit(wide(1)), "completed")
	require.Less(t, done()-before, 0.4, "the small job came when most of the huge one was done")
	require.Equal(t, http.StatusOK, huge.do("POST", "/api/interrupt", "").status)
	huge.await(id, "cancelled")
}
