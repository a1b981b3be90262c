package serverstore

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/postgres"
)

const (
	// channel is the name of the channel on which holders are notified of their leases.
	channel = `'millrace_servers_' || current_schema()`
	// notifyHolder notifies a process that another one gave servers to its waiting segments.
	notifyHolder = `select pg_notify(` + channel + `, $1)`
)

const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// Listen calls granted when another process has given a server to a segment of holder, and after every connection,
// for missed notifications. It runs until ctx ends, over a connection of its own, which it opens again when it
// breaks.
func Listen(ctx context.Context, dsn, holder string, granted func(), log *slog.Logger) {
	delays := pause.Delays(firstRetry, lastRetry)
	for {
		began := time.Now()
		err := listen(ctx, dsn, holder, granted)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > lastRetry {
			delays.Reset()
		}
		delay := delays.NextBackOff()
		log.Warn("connection for leases lost, will retry", "error", err, "delay", delay)
		if pause.For(ctx, delay) != nil {
			return
		}
	}
}

func listen(ctx context.Context, dsn, holder string, granted func()) error {
	conn, err := postgres.Connect(ctx, dsn, "leases", postgres.Silence, nil)
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(end) // the connection is closed either way
	}()
	var name string
	if err := conn.QueryRow(ctx, `select `+channel).Scan(&name); err != nil {
		return postgres.Classify(err, "name the channel of leases")
	}
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{name}.Sanitize()); err != nil {
		return postgres.Classify(err, "listen for leases")
	}
	granted()
	for {
		n, err := conn.WaitForNotification(ctx)
		switch {
		case err == nil && n.Payload == holder:
			granted()
		case err != nil && (ctx.Err() != nil || !pgconn.Timeout(err)):
			return postgres.Classify(err, "wait for leases")
		case err != nil: // a connection to a lost server is silent too
			if err := conn.Ping(ctx); err != nil {
				return postgres.Classify(err, "wait for leases")
			}
		}
	}
}
