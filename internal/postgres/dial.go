package postgres

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A peer that vanishes without closing the connection, for example because its machine lost power, is detected within
// deadPeer at both ends, whether data waits for an acknowledgement or the connection is idle. Without these bounds, a
// sender waits for a quarter of an hour, and a server keeps the locks of a lost client for two hours.
const (
	deadPeer       = 20 * time.Second
	keepAliveIdle  = 10 * time.Second
	keepAliveEvery = 5 * time.Second
	keepAliveCount = 2 // idle and every probe: deadPeer
)

// detectDeadPeers lets both ends of cfg's connections detect that the other one is lost. A read that waits for longer
// than silence fails with a timeout; 0 = no bound.
func detectDeadPeers(cfg *pgconn.Config, silence time.Duration) {
	dialer := &net.Dialer{
		Timeout: cfg.ConnectTimeout, Control: boundUnacknowledged,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepAliveIdle, Interval: keepAliveEvery, Count: keepAliveCount},
	}
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil || silence <= 0 {
			return conn, err
		}
		return &deadlineConn{Conn: conn, timeout: silence}, nil
	}
}

// serverKeepAlive are the keep-alive settings of the server. It ignores them on a Unix socket.
var serverKeepAlive = map[string]string{
	"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "2", "tcp_user_timeout": "20000",
}

// deadlineConn is a connection whose reads have a deadline even if the caller sets none.
type deadlineConn struct {
	net.Conn
	timeout time.Duration

	mu          sync.Mutex
	hasDeadline bool // the user has set a deadline for reads
}

// Read implements net.Conn.
func (c *deadlineConn) Read(p []byte) (int, error) {
	if err := c.arm(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *deadlineConn) arm() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasDeadline {
		return nil
	}
	return c.Conn.SetReadDeadline(time.Now().Add(c.timeout))
}

// SetDeadline implements net.Conn. It limits the deadline to timeout: the driver sends a last message on a connection
// that it drops, and a lost server does not answer it.
func (c *deadlineConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hasDeadline = !t.IsZero()
	return c.Conn.SetDeadline(c.clamp(t))
}

// SetReadDeadline implements net.Conn, under the rule of SetDeadline.
func (c *deadlineConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hasDeadline = !t.IsZero()
	return c.Conn.SetReadDeadline(c.clamp(t))
}

func (c *deadlineConn) clamp(t time.Time) time.Time {
	if latest := time.Now().Add(c.timeout); t.After(latest) {
		return latest
	}
	return t
}

// A connection of a pool that was idle for pingIdle is tried before it is used, as the driver does by default: a peer
// elsewhere may be gone without a word. One over a Unix socket is tried after pingLocal only, since the end of its server
// shows at once; of a service with little to do, every statement would be two.
const (
	pingIdle  = time.Second
	pingLocal = time.Minute
)

// shouldPing reports whether a connection must be tried before it is used.
func shouldPing(_ context.Context, idle pgxpool.ShouldPingParams) bool {
	if idle.IdleDuration < pingIdle || idle.IdleDuration > pingLocal {
		return idle.IdleDuration > pingLocal
	}
	conn := idle.Conn.PgConn().Conn()
	if bounded, ok := conn.(*deadlineConn); ok {
		conn = bounded.Conn
	}
	local, ok := conn.(*net.UnixConn)
	return !ok || !noPendingInput(local)
}

// noPendingInput reports whether a connection is open and has nothing to read, as one between two statements has.
func noPendingInput(conn *net.UnixConn) (silent bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		silent = errors.Is(err, syscall.EAGAIN)
	})
	return silent && err == nil
}
