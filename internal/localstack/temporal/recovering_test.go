//go:build unix

package temporal_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/temporal"
)

// recovery is how long a crashing relay refuses connections.
const recovery = 300 * time.Millisecond

// crashing relays connections to PostgreSQL. When it has relayed a number of them, it behaves once like a PostgreSQL that crashes: it
// cuts all of them, and refuses others until it has recovered.
type crashing struct {
	network, address string
	after            int

	mu      sync.Mutex // guards the fields below
	relayed int
	open    []net.Conn
	back    time.Time // when it has recovered; zero = it has not crashed
}

// start listens on loopback and returns the port.
func (c *crashing) start(t *testing.T) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.serve(conn)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func (c *crashing) serve(conn net.Conn) {
	defer conn.Close()
	if c.refuses(conn) {
		var length [4]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(length[:]))-4)
		fields := "SFATAL\x00VFATAL\x00C57P03\x00Mthe database system is in recovery mode\x00\x00"
		conn.Write(append(binary.BigEndian.AppendUint32([]byte{'E'}, uint32(len(fields)+4)), fields...))
		return
	}
	server, err := net.Dial(c.network, c.address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		io.Copy(server, conn)
		server.Close()
	}()
	io.Copy(conn, server)
}

// refuses reports whether a connection is refused, because PostgreSQL crashes with it or has not recovered yet.
func (c *crashing) refuses(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.relayed == c.after && c.back.IsZero() {
		c.back = time.Now().Add(recovery)
		for _, open := range c.open {
			open.Close()
		}
	}
	if time.Now().Before(c.back) {
		return true
	}
	c.relayed++
	c.open = append(c.open, conn)
	return false
}

func (c *crashing) crashed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.back.IsZero()
}

// A start waits for a PostgreSQL that crashes at any moment of it.
func TestStartWaitsWhilePostgresRecovers(t *testing.T) {
	t.Parallel()
	opts := options(t)
	start := func(t *testing.T, opts temporal.Options) {
		t.Helper()
		begin := time.Now()
		s, err := temporal.Start(t.Context(), opts)
		require.NoError(t, err)
		t.Logf("started in %s", time.Since(begin).Round(time.Millisecond))
		require.NoError(t, s.Stop(t.Context()))
	}
	start(t, opts) // makes the databases
	network, address := "tcp", net.JoinHostPort(opts.Postgres.Host, strconv.Itoa(opts.Postgres.Port))
	if opts.Postgres.Host[0] == '/' {
		network, address = "unix", opts.Postgres.Host+"/.s.PGSQL."+strconv.Itoa(opts.Postgres.Port)
	}
	for after := range 7 { // connections that prepare the databases
		t.Run(fmt.Sprintf("after %d connections", after), func(t *testing.T) {
			c := &crashing{network: network, address: address, after: after}
			opts := opts
			opts.Postgres.Host, opts.Postgres.Port = "127.0.0.1", c.start(t)
			start(t, opts)
			require.True(t, c.crashed())
		})
	}
}
