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

// mostIdle is the time for which an unused connection is kept. PostgreSQL has a process of some megabytes for each
// connection.
const mostIdle = 2 * time.Minute

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
	db.SetConnMaxIdleTime(mostIdle)
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

// storeDurations encodes durations as nanoseconds, as in the server's tables, and not as intervals.
func storeDurations(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterDefaultPgType(time.Duration(0), "int8")
	conn.TypeMap().RegisterDefaultPgType((*time.Duration)(nil), "int8")
	return nil
}

// pingAfter is the idle time after which a connection is tested before it is used, even if it looks healthy.
const pingAfter = time.Minute

// doubtful reports whether a connection must be tested before it is used. By default, a connection is tested after an idle second, which
// costs an idle server a transaction for each statement.
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

// waiting is held by the only connection of this process that tries to reach an unavailable PostgreSQL: a hundred attempts at once would
// keep PostgreSQL from recovering.
var waiting = make(chan struct{}, 1)

// Connect implements driver.Connector.
func (c patientConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	if conn, ok := conn.(*stdlib.Conn); ok {
		return &storeConn{Conn: conn}, nil
	}
	return conn, nil
}

func (c patientConnector) connect(ctx context.Context) (sqldriver.Conn, error) {
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

// errGone is the error of a connection whose server has ended. The errors of the operating system would make the server
// replace the whole pool, including connections that were opened since.
var errGone = errors.New("PostgreSQL closed the connection")

// storeConn is a connection of a pool. While it has a transaction, it never reports driver.ErrBadConn: package database/sql cannot repeat a
// statement of a transaction on another connection, and the server would replace the whole pool and abort the work of other goroutines.
// Otherwise, a single statement that timed out before it was sent would have this effect, and a busy machine would lose all operations
// every second. The pool notices that the connection is closed when it next uses it.
type storeConn struct {
	*stdlib.Conn
	inTx bool // database/sql uses a connection in one goroutine at a time
}

// BeginTx implements driver.ConnBeginTx.
func (c *storeConn) BeginTx(ctx context.Context, opts sqldriver.TxOptions) (sqldriver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	c.inTx = true
	return &storeTx{tx, c}, nil
}

// ExecContext implements driver.ExecerContext.
func (c *storeConn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	result, err := c.Conn.ExecContext(ctx, query, args)
	return result, c.failure(ctx, err)
}

// QueryContext implements driver.QueryerContext.
func (c *storeConn) QueryContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, query, args)
	return rows, c.failure(ctx, err)
}

func (c *storeConn) failure(ctx context.Context, err error) error {
	if !c.inTx || !errors.Is(err, sqldriver.ErrBadConn) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errGone
}

// storeTx is a transaction of a storeConn.
type storeTx struct {
	sqldriver.Tx
	conn *storeConn
}

// Commit implements driver.Tx.
func (t *storeTx) Commit() error {
	t.conn.inTx = false
	return t.Tx.Commit()
}

// Rollback implements driver.Tx.
func (t *storeTx) Rollback() error {
	t.conn.inTx = false
	return t.Tx.Rollback()
}

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

// silent reports whether the connection is open and has no data to read, as between two statements.
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
