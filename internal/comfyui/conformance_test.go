package comfyui_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/comfyuitest"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// step is the time of a sampler's step in the simulator: long enough for a test to act within a run.
const step = 4 * time.Millisecond

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
		return dial(t, machine(t, sim.Options{Step: step}).URL(), comfyui.Options{})
	}, comfyuitest.Options{})
}

func TestClientOnASimulatorWithoutJobs(t *testing.T) {
	t.Parallel()
	comfyuitest.Run(t, func(t testing.TB) comfyui.Server {
		return dial(t, machine(t, sim.Options{Step: step, NoJobs: true, Version: "0.3.64"}).URL(), comfyui.Options{})
	}, comfyuitest.Options{})
}

// TestRealServers runs the suite on the servers that MILLRACE_TEST_COMFYUI names, separated by commas.
func TestRealServers(t *testing.T) {
	addresses := realServers()
	if len(addresses) == 0 {
		t.Skip("MILLRACE_TEST_COMFYUI names no servers")
	}
	for _, address := range addresses {
		t.Run(strings.TrimPrefix(address, "http://"), func(t *testing.T) {
			c := dial(t, address, comfyui.Options{Timeout: time.Minute}) // a CPU has little time left for answers
			comfyuitest.Run(t, func(testing.TB) comfyui.Server { return c }, comfyuitest.Options{Shared: true, Steps: 20})
		})
	}
}

func realServers() []string {
	return strings.FieldsFunc(os.Getenv("MILLRACE_TEST_COMFYUI"), func(r rune) bool { return r == ',' })
}
