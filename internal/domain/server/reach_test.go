package server_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
)

// register asks for a registration with a token of these hosts, from an address.
func register(hosts []string, from, address string) error {
	r := server.Registration{URL: address, Token: &server.Token{Name: "autoscaler", Hosts: hosts}}
	if from != "" {
		r.From = netip.MustParseAddr(from)
	}
	return r.Check()
}

func TestATokenRegistersTheMachineThatAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, address string }{
		{"10.0.3.17", "http://10.0.3.17:8188"}, {"::ffff:10.0.3.17", "https://10.0.3.17/comfy"}, {"fd00::7%eth0", "http://[fd00::7]:8188"},
	} {
		require.NoError(t, register(nil, c.from, c.address), c.address)
	}
	for _, c := range []struct{ from, address string }{
		{"10.0.3.17", "http://10.0.3.18:8188"},
		{"10.0.3.17", "http://169.254.169.254"},
		{"10.0.3.17", "http://127.0.0.1:5432"},
		{"10.0.3.17", "http://gpu-7.internal:8188"},
		{"10.0.3.17", "http://localhost:8188"},
		{"", "http://10.0.3.17:8188"},
		{"10.0.3.17", "http://[::ffff:169.254.169.254]"},
		{"10.0.3.17", "http://0x0a000311:8188"},
	} {
		err := register(nil, c.from, c.address)
		require.Equal(t, fault.CodeAddressNotAllowed, fault.CodeOf(err), c.address)
		require.Equal(t, fault.Denied, fault.KindOf(err))
	}
}

func TestATokenRegistersTheHostsThatItWasMadeFor(t *testing.T) {
	t.Parallel()
	hosts, err := server.ParseHosts([]string{" 10.0.3.9/24", "*.GPU.internal", "gpu-1.example", "fd00::7", "10.0.3.9/24"})
	require.NoError(t, err)
	require.Equal(t, []string{"*.gpu.internal", "10.0.3.0/24", "fd00::7", "gpu-1.example"}, hosts)
	for _, address := range []string{
		"http://10.0.3.200:8188", "http://[::ffff:10.0.3.200]:8188", "http://a.b.gpu.internal", "http://GPU-1.example:1",
		"http://gpu-1.example.:1", "http://[fd00:0::7]",
	} {
		require.NoError(t, register(hosts, "192.0.2.1", address), address)
	}
	for _, address := range []string{
		"http://10.0.4.1:8188", "http://gpu.internal", "http://evilgpu.internal", "http://gpu-1.example.org", "http://192.0.2.1",
		"http://10.0.3.200.gpu.evil", "http://127.0.0.1",
	} {
		require.Equal(t, fault.CodeAddressNotAllowed, fault.CodeOf(register(hosts, "192.0.2.1", address)), address)
	}
}

func TestMalformedHostsOfATokenAreRefused(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"", "*", "*.", "10.0.0.0/33", "http://gpu", "gpu:8188", "a..b", "gpu_*", "a/b"} {
		_, err := server.ParseHosts([]string{host})
		require.True(t, fault.Is(err, fault.Invalid), host)
	}
	_, err := server.ParseHosts(make([]string, 33))
	require.True(t, fault.Is(err, fault.Invalid))
}

// A token may not choose a folder into which Millrace writes; for a process of its own, Millrace has chosen it.
func TestATokenNamesNoModelsFolder(t *testing.T) {
	t.Parallel()
	from := netip.MustParseAddr("127.0.0.1")
	r := server.Registration{URL: "http://127.0.0.1:8188", Token: &server.Token{Name: "p-1"}, From: from, ModelsFolder: "/models"}
	require.ErrorContains(t, r.Check(), "a registration token may not name a models folder")
	r.Own = true
	require.NoError(t, r.Check())
}
