package dial_test

import (
	"context"
	"crypto/tls"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/millrace-dev/millrace/internal/localstack/stacktest/authority"
	"github.com/millrace-dev/millrace/worker/dial"
)

// In TLS 1.3 a server can refuse the client's certificate and close the connection before the client writes its first
// request. The reason is reported nevertheless.
func TestTheReasonOfAClosedConnectionIsReported(t *testing.T) {
	t.Parallel()
	ca := authority.New(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	closed := make(chan struct{}) // when the server has closed its first connection
	go func() {
		cfg := &tls.Config{
			Certificates: []tls.Certificate{ca.Pair(t, "127.0.0.1", tomorrow())}, ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs: ca.Pool(), NextProtos: []string{"h2"},
		}
		for first := true; ; first = false {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = tls.Server(conn, cfg).Handshake()
			_ = conn.Close()
			if first {
				close(closed)
			}
		}
	}()
	s := dial.Settings{
		Address: listener.Addr().String(), Namespace: "default",
		CA: authority.WriteFile(t, filepath.Join(t.TempDir(), "ca.pem"), ca.PEM),
	}
	options, err := s.Options()
	require.NoError(t, err)
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithContextDialer(
		func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			return &lateConn{Conn: conn, until: closed}, err
		}))
	c, err := client.NewLazyClient(options)
	require.NoError(t, err)
	defer c.Close()
	require.ErrorContains(t, describe(t.Context(), c, "default"), "certificate required")
}

// lateConn writes nothing after the TLS handshake until a channel is closed.
type lateConn struct {
	net.Conn
	until  <-chan struct{}
	writes atomic.Int32
}

// handshakeWrites is how often a client writes during a handshake of TLS 1.3: its hello and its certificate.
const handshakeWrites = 2

func (c *lateConn) Write(p []byte) (int, error) {
	if c.writes.Add(1) > handshakeWrites {
		<-c.until
		_, _ = c.Conn.Write(p) // the answer is a reset: the next write fails
	}
	return c.Conn.Write(p)
}
