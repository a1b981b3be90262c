package durability_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim"
)

// charges is how often the provider would have charged for each request.
type charges struct {
	t    *testing.T
	base string
}

func (c charges) total() (sum int) {
	c.t.Helper()
	resp, err := http.Get(c.base + "/charges")
	require.NoError(c.t, err)
	defer resp.Body.Close()
	var counted map[string]int
	require.NoError(c.t, json.NewDecoder(resp.Body).Decode(&counted))
	for _, n := range counted {
		sum += n
	}
	return sum
}

// startPartners starts the roles against a simulated provider.
func startPartners(t *testing.T) (*cluster, charges) {
	t.Helper()
	provider := sim.New(sim.Options{Delay: 50 * time.Millisecond})
	t.Cleanup(provider.Close)
	server := httptest.NewServer(provider)
	t.Cleanup(server.Close)
	dir := dataDir(t)
	c := serveOn(t, startStack(t, dir), dir)
	c.env = append(c.env, "MILLRACE_SIMULATOR="+server.URL)
	c.startRoles()
	return c, charges{t, server.URL}
}

func paintedBy(prompt string) string {
	return fmt.Sprintf(`{"prompt":{
		"1":{"class_type":"Partner_sim_image","inputs":{"prompt":%q}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"painted"}}}}`, prompt)
}

// a worker that dies while its node waits for a model leaves a generation that the next one collects;
// a repeated graph is answered from the cache.
func TestAPartnerNodeIsPaidForOnce(t *testing.T) {
	t.Parallel()
	c, charged := startPartners(t)
	id := c.submit(paintedBy("slowly [sim:delay=12s]"))
	c.until(time.Minute, "the provider has the request", func() bool { return charged.total() == 1 })
	for _, w := range c.workers {
		w.kill()
	}
	for _, w := range c.workers {
		w.start()
	}
	c.await([]string{id}, "completed")
	require.Equal(t, 1, charged.total(), "the second attempt collects what the first one ordered")

	again := c.submit(strings.Replace(paintedBy("slowly [sim:delay=12s]"), "painted", "renamed", 1))
	c.await([]string{again}, "completed")
	require.Equal(t, 1, charged.total(), "equal inputs are not paid for again")
	c.checkLanes()
}
