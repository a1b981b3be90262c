package main

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql/driver"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql/session"
	"go.temporal.io/server/common/resolver"
)

// open opens one of the server's databases so that a restart of PostgreSQL delays its statements. With the server's own
// way of opening, the restart refuses them: a pool that lost a connection is replaced at most once a second, and every
// shard of the history waits for one, two and then more seconds before it tries again.
func open(cfg *config.SQL) (*sqlx.DB, error) {
	s, err := session.NewSession(cfg, &patientDriver{}, resolver.NewNoopResolver())
	if err != nil {
		return nil, err
	}
	return s.DB, nil
}

// patientDriver is the server's driver with connections that wait for a PostgreSQL that is restarting.
type patientDriver struct{ driver.PGXDriver }

// CreateConnection implements driver.Driver.
func (d *patientDriver) CreateConnection(dsn string) (*sqlx.DB, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	noticeEnd(cfg)
	connector := patientConnector{stdlib.GetConnector(*cfg, stdlib.OptionAfterConnect(storeDurations), stdlib.OptionShouldPing(doubtful))}
	db := sqlx.NewDb(sql.OpenDB(connector), "pgx")
	if err := db.Ping(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// noticeEnd lets connections report the end of their server as errGone.
func noticeEnd(cfg *pgx.ConnConfig) {
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &serverConn{conn}, nil
	}
}

// storeDurations encodes durations as nanoseconds, which the server's tables have, and not as intervals.
func storeDurations(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterDefaultPgType(time.Duration(0), "int8")
	conn.TypeMap().RegisterDefaultPgType((*time.Duration)(nil), "int8")
	return nil
}

// pingAfter is how long a connection must have been idle to be tried before it is used, even if nothing is wrong with it.
const pingAfter = time.Minute

// doubtful reports whether a connection must be tried before it is used. By default each is that was idle for a second: of
// a server with little to do, that is a transaction for each statement.
func doubtful(_ context.Context, idle stdlib.ShouldPingParams) bool {
	if idle.IdleDuration < time.Second || idle.IdleDuration > pingAfter {
		return idle.IdleDuration > pingAfter
	}
	conn, ok := idle.Conn.PgConn().Conn().(*serverConn)
	return !ok || !conn.silent()
}

// patientConnector opens connections, and waits while PostgreSQL is away.
type patientConnector struct{ sqldriver.Connector }

const (
	restartWait  = 30 * time.Second // at most, for one connection
	restartCheck = 10 * time.Millisecond
)

// waiting is held by the one connection of this process that looks for a PostgreSQL that is away: a hundred that did would
// keep it from recovering.
var waiting = make(chan struct{}, 1)

// Connect implements driver.Connector.
func (c patientConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err == nil || !away(err) {
		return conn, err
	}
	patience, cancel := context.WithTimeout(ctx, restartWait)
	defer cancel()
	select {
	case waiting <- struct{}{}:
		defer func() { <-waiting }()
	case <-patience.Done():
		return nil, err
	}
	for {
		conn, err := c.Connector.Connect(patience)
		if err == nil || !away(err) || !pause(patience, restartCheck) {
			return conn, err
		}
	}
}

// away reports whether PostgreSQL refused or closed a connection because it is stopped, starting or recovering.
func away(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "57P03" // cannot_connect_now
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) || errors.Is(err, errGone)
}

// errGone is what a connection returns whose server has ended. The errors of the operating system would make the server
// replace the whole pool, with the connections that were opened since.
var errGone = errors.New("PostgreSQL closed the connection")

// serverConn is a connection that reports the end of its server as errGone.
type serverConn struct{ net.Conn }

// Read implements net.Conn.
func (c *serverConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, goneAs(err)
}

// Write implements net.Conn.
func (c *serverConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, goneAs(err)
}

// silent reports whether the connection is open and has nothing to read, as one between two statements has.
func (c *serverConn) silent() bool {
	socket, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	silent := false
	err = raw.Control(func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		silent = errors.Is(err, syscall.EAGAIN)
	})
	return silent && err == nil
}

func goneAs(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNABORTED) || errors.Is(err, syscall.EPIPE) {
		return errGone
	}
	return err
}
