package main

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"
)

// silentDatabase answers the beginning and the end of a transaction, and no other statement.
func silentDatabase(t *testing.T) (dsn string) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveSilently(conn)
		}
	}()
	return "postgres://any@" + l.Addr().String() + "/any?sslmode=disable&default_query_exec_mode=simple_protocol"
}

func serveSilently(conn net.Conn) {
	defer conn.Close()
	server := pgproto3.NewBackend(conn, conn)
	if _, err := server.ReceiveStartupMessage(); err != nil {
		return
	}
	server.Send(&pgproto3.AuthenticationOk{})
	server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for server.Flush() == nil {
		message, err := server.Receive()
		if err != nil {
			return
		}
		query, ok := message.(*pgproto3.Query)
		if !ok {
			continue
		}
		switch query.String {
		case "begin":
			server.Send(&pgproto3.CommandComplete{CommandTag: []byte("BEGIN")})
			server.Send(&pgproto3.ReadyForQuery{TxStatus: 'T'})
		case "rollback":
			server.Send(&pgproto3.CommandComplete{CommandTag: []byte("ROLLBACK")})
			server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case "-- ping":
			server.Send(&pgproto3.EmptyQueryResponse{})
			server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		}
	}
}

// A statement that takes too long costs its transaction. The server must not take it for the loss of the database, and replace the pool.
func TestALateStatementDoesNotCostThePool(t *testing.T) {
	t.Parallel()
	db, err := (&patientDriver{}).CreateConnection(silentDatabase(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTxx(t.Context(), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // the statement is sent within it
	defer cancel()
	_, err = tx.ExecContext(ctx, "select 1")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = tx.ExecContext(t.Context(), "select 1")
	require.ErrorIs(t, err, errGone, "driver.ErrBadConn here replaces the pool")
	_, err = tx.QueryContext(t.Context(), "select 1") //nolint:rowserrcheck,sqlclosecheck // there are no rows
	require.ErrorIs(t, err, errGone)
	_ = tx.Rollback()
	other, err := db.BeginTxx(t.Context(), nil)
	require.NoError(t, err, "the pool opens another connection")
	require.NoError(t, other.Rollback())
}
