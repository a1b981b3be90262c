package postgres_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// waits tells when a message was logged.
type waits struct {
	slog.Handler
	logged chan string
}

func (w waits) Handle(_ context.Context, r slog.Record) error {
	w.logged <- r.Message
	return nil
}

// A process that starts before its database waits for it, and says so.
func TestADatabaseThatDoesNotListenYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	behind := pgtest.NewProxy(t, storetest.NewDatabase(t))
	target, err := url.Parse(behind.URL())
	require.NoError(t, err)
	address, err := ports.Address()
	require.NoError(t, err)
	early := *target
	early.Host = address
	said := waits{slog.NewTextHandler(io.Discard, nil), make(chan string, 9)} //nolint:sloglint // the discarding handler is never asked
	opened := make(chan error, 1)
	go func() {
		pool, err := postgres.OpenWithin(context.Background(), early.String(), postgres.PoolOptions{}, time.Minute, slog.New(said))
		if err == nil {
			pool.Close()
		}
		opened <- err
	}()
	require.Contains(t, <-said.logged, "waiting for it")
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go forward(listener, target.Host)
	require.NoError(t, <-opened)
	require.Empty(t, said.logged, "said once")
}

// forward passes connections on until the listener is closed.
func forward(listener net.Listener, to string) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", to)
		if err != nil {
			_ = from.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{from, server}, {server, from}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1]) // a test's connection ends with either side
				_ = pair[0].Close()
			}()
		}
	}
}

// Waiting is bounded, and does not begin for what it cannot cure.
func TestADatabaseThatRefusesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	cfg, err := pgx.ParseConfig(pgtest.NewProxy(t, storetest.NewDatabase(t)).URL())
	require.NoError(t, err)
	absent := url.URL{Scheme: "postgres", User: url.User(cfg.User), Host: net.JoinHostPort(cfg.Host, "1"), Path: "/none"}
	_, err = postgres.OpenWithin(t.Context(), absent.String(), postgres.PoolOptions{}, 0, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "refused")

	said := waits{slog.NewTextHandler(io.Discard, nil), make(chan string, 9)} //nolint:sloglint // the discarding handler is never asked
	wrong, err := url.Parse(pgtest.NewProxy(t, storetest.NewDatabase(t)).URL())
	require.NoError(t, err)
	wrong.Path = "/there_is_no_such_database"
	_, err = postgres.OpenWithin(t.Context(), wrong.String(), postgres.PoolOptions{}, time.Hour, slog.New(said))
	require.Error(t, err)
	require.Empty(t, said.logged)
}
