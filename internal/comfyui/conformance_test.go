package comfyui_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/comfyuitest"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// step is the duration of a sampler's step in the simulator: long enough for a test to act during a run.
const step = 10 * time.Millisecond

func machine(t testing.TB, opts sim.Options) *sim.Machine {
	t.Helper()
	m, err := sim.Start("127.0.0.1:0", opts)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

func dial(t testing.TB, address string, opts comfyui.Options) *comfyui.Client {
	t.Helper()
	c, err := comfyui.New(address, opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestClientOnTheSimulator(t *testing.T) {
	t.Parallel()
	comfyuitest.Run(t, func(t testing.TB) comfyui.Server {
		return dial(t, machine(t, sim.Options{Step: step, Pack: true}).URL(), comfyui.Options{})
	}, comfyuitest.Options{})
}

// Servers without a jobs interface are driven through their queue and their history.
func TestClientOnASimulatorWithoutJobs(t *testing.T) {
	t.Parallel()
	for _, version := range []string{comfyui.MinVersion.String(), "0.3.63", "0.3.64"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			comfyuitest.Run(t, func(t testing.TB) comfyui.Server {
				return dial(t, machine(t, sim.Options{Step: step, NoJobs: true, Version: version}).URL(), comfyui.Options{})
			}, comfyuitest.Options{})
		})
	}
}

// A server without a jobs interface is asked for a job once; after that, only the queue and the history are used.
func TestServerWithoutJobsIsAskedForThemOnce(t *testing.T) {
	t.Parallel()
	server, err := sim.New(sim.Options{NoJobs: true, Version: comfyui.MinVersion.String()})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	var mu sync.Mutex
	asked := map[string]int{}
	counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")[0]]++
		mu.Unlock()
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(counting.Close)
	c := dial(t, counting.URL, comfyui.Options{})
	identity, err := c.Identify(t.Context())
	require.NoError(t, err)
	require.Equal(t, comfyui.MinVersion, identity.Version)
	id := comfyui.NewPromptID(uuid.New())
	graph := `{"1":{"class_type":"PreviewAny","inputs":{"source":"text"}}}`
	_, err = c.Submit(t.Context(), comfyui.Prompt{ID: id, Graph: json.RawMessage(graph)})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		state, err := c.Find(t.Context(), id)
		return err == nil && state.Status == comfyui.Completed
	}, time.Minute, 10*time.Millisecond)
	found, err := c.Cancel(t.Context(), id)
	require.NoError(t, err)
	require.False(t, found, "it has ended")
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 1, asked["api"], "%v", asked)
	require.NotZero(t, asked["history"])
	require.NotZero(t, asked["queue"])
}

// TestRealServers runs the suite on the servers that MILLRACE_TEST_COMFYUI names, separated by commas.
func TestRealServers(t *testing.T) {
	addresses := realServers()
	if len(addresses) == 0 {
		t.Skip("MILLRACE_TEST_COMFYUI names no servers")
	}
	for _, address := range addresses {
		t.Run(strings.TrimPrefix(address, "http://"), func(t *testing.T) {
			c := dial(t, address, comfyui.Options{Timeout: time.Minute}) // a server that computes on its CPU answers slowly
			comfyuitest.Run(t, func(testing.TB) comfyui.Server { return c }, comfyuitest.Options{Shared: true, Steps: 20})
		})
	}
}

func realServers() []string {
	return strings.FieldsFunc(os.Getenv("MILLRACE_TEST_COMFYUI"), func(r rune) bool { return r == ',' })
}
