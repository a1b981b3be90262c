//go:build linux

package cluster_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// network is a bridge of this machine with hosts: network namespaces, each with an address of its own. If this
// process cannot make namespaces, hosts are loopback addresses.
type network struct {
	t       testing.TB
	address string // address of this process, on which the servers listen
	prefix  string // prefix of all addresses
	bridge  string // "" = hosts are loopback addresses
	hosts   int
}

// host is a machine of the network.
type host struct {
	address string
	enter   []string // prefix of a command that runs on the host
}

func newNetwork(t testing.TB) *network {
	t.Helper()
	number := os.Getpid() % 250
	n := &network{t: t, prefix: fmt.Sprintf("10.213.%d.", number), bridge: fmt.Sprintf("mrbr%d", os.Getpid())}
	n.address = n.prefix + "1"
	if out, err := run("ip", "link", "add", n.bridge, "type", "bridge"); err != nil {
		t.Logf("no network namespaces, loopback addresses instead: %v: %s", err, out)
		n.bridge, n.prefix = "", fmt.Sprintf("127.77.%d.", number)
		n.address = n.prefix + "1"
		return n
	}
	t.Cleanup(func() { n.ip("link", "del", n.bridge) })
	n.ip("addr", "add", n.address+"/24", "dev", n.bridge)
	n.ip("link", "set", n.bridge, "up")
	return n
}

// host adds a machine.
func (n *network) host() host {
	n.t.Helper()
	n.hosts++
	h := host{address: fmt.Sprint(n.prefix, 10+n.hosts)}
	if n.bridge == "" {
		return h
	}
	name, link := fmt.Sprintf("mr%d-%d", os.Getpid(), n.hosts), fmt.Sprintf("mrv%dx%d", os.Getpid(), n.hosts)
	n.ip("netns", "add", name)
	n.t.Cleanup(func() { n.ip("netns", "del", name) })
	n.ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
	n.ip("link", "set", link, "master", n.bridge, "up")
	n.ip("-n", name, "addr", "add", h.address+"/24", "dev", "eth0")
	n.ip("-n", name, "link", "set", "eth0", "up")
	n.ip("-n", name, "link", "set", "lo", "up")
	h.enter = []string{"ip", "netns", "exec", name}
	return h
}

func (n *network) ip(args ...string) {
	n.t.Helper()
	out, err := run("ip", args...)
	require.NoError(n.t, err, "ip %s: %s", strings.Join(args, " "), out)
}

func run(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// listen listens on an address that every host can reach.
func (n *network) listen() net.Listener {
	n.t.Helper()
	l, err := net.Listen("tcp", n.address+":0")
	require.NoError(n.t, err)
	return l
}

// forward passes connections on to a server that listens on loopback only, and returns the address for hosts. With a
// configuration, this address uses TLS.
func (n *network) forward(target string, secure *tls.Config) string {
	n.t.Helper()
	l := n.listen()
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	n.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			go join(c, target)
		}
	}()
	return l.Addr().String()
}

// join copies both ways until either side ends.
func join(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return // like a port without a listener
	}
	defer server.Close()
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1]) // a broken connection ends both ways
			ended <- struct{}{}
		}()
	}
	<-ended
}
