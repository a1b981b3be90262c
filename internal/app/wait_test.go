package app_test

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// While PostgreSQL recovers from a crash, it refuses connections with a special code.
func TestServeWaitsForAPostgreSQLThatIsRecovering(t *testing.T) {
	t.Parallel()
	dsn, refused := recovering(t, pgtest.Database(t), 3)
	require.NoError(t, app.Migrate(t.Context(), config.Config{DatabaseURL: dsn}, 0, slog.New(slog.DiscardHandler)))
	require.EqualValues(t, 3, refused.Load(), "connections that were refused before")
}

// A process that starts before its database waits until the database listens.
func TestServeWaitsForAPostgreSQLThatDoesNotListenYet(t *testing.T) {
	t.Parallel()
	dsn, _ := recovering(t, pgtest.Database(t), 0)
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	relay := u.Host
	if u.Host, err = ports.Address(); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{}, 100)
	done := make(chan error, 1)
	go func() {
		log := slog.New(signalling{slog.DiscardHandler, waiting})
		done <- app.Migrate(t.Context(), config.Config{DatabaseURL: u.String()}, time.Minute, log)
	}()
	<-waiting
	require.Empty(t, done, "nothing listens")
	late, err := net.Listen("tcp", u.Host)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, late.Close()) })
	go func() {
		for {
			conn, err := late.Accept()
			if err != nil {
				return
			}
			go forward(conn, "tcp", relay)
		}
	}()
	require.NoError(t, <-done)
}

// The wait for a database that does not listen is bounded.
func TestServeDoesNotWaitForEverForAWrongAddress(t *testing.T) {
	t.Parallel()
	address, err := ports.Address()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	absent := config.Config{DatabaseURL: "postgres://nobody@" + address + "/none"}
	require.Error(t, app.Migrate(ctx, absent, time.Second, slog.New(slog.DiscardHandler)))
	require.NoError(t, ctx.Err())
}

// recovering is a server in front of dsn that refuses the first connections like a PostgreSQL that is starting up.
func recovering(t *testing.T, dsn string, times int32) (string, *atomic.Int32) {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	network, address := "tcp", net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
	if cfg.Host[0] == '/' {
		network, address = "unix", cfg.Host+"/.s.PGSQL."+strconv.Itoa(int(cfg.Port))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	refused := new(atomic.Int32)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if refused.Load() < times {
				refused.Add(1)
				refuse(conn)
				continue
			}
			go forward(conn, network, address)
		}
	}()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	u.Host = l.Addr().String()
	query := u.Query()
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	return u.String(), refused
}

// refuse answers a start-up message like a server that is not ready.
func refuse(conn net.Conn) {
	defer conn.Close()
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return
	}
	io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(length[:]))-4)
	fields := "SFATAL\x00VFATAL\x00C57P03\x00Mthe database system is starting up\x00\x00"
	answer := binary.BigEndian.AppendUint32([]byte{'E'}, uint32(len(fields)+4))
	conn.Write(append(answer, fields...))
}

func forward(conn net.Conn, network, address string) {
	defer conn.Close()
	server, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer server.Close()
	go io.Copy(server, conn)
	io.Copy(conn, server)
}

func TestAWorkerWaitsForANamespaceThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	const namespace = "made-later"
	c, err := client.NewLazyClient(client.Options{HostPort: temporaltest.Server(t), Namespace: namespace})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	waiting := make(chan struct{}, 100)
	log := slog.New(signalling{slog.DiscardHandler, waiting})
	done := make(chan error, 1)
	go func() { done <- app.AwaitTemporal(t.Context(), c, namespace, log) }()
	<-waiting
	require.Empty(t, done, "the namespace is not there")
	_, err = c.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	require.NoError(t, err)
	require.NoError(t, <-done)
}

// A worker process that starts before its namespace exists does not fail, and polls as soon as the namespace exists.
func TestServeOfAWorkerWaitsForItsNamespace(t *testing.T) {
	t.Parallel()
	const namespace = "made-after-serve"
	cfg := config.Default()
	cfg.DatabaseURL, cfg.DataDir = pgtest.Database(t), t.TempDir()
	cfg.TemporalAddress, cfg.TemporalNamespace = temporaltest.Server(t), namespace
	c, err := client.NewLazyClient(client.Options{HostPort: cfg.TemporalAddress, Namespace: namespace})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	waiting := make(chan struct{}, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- app.Serve(ctx, cfg, []app.Role{app.Worker}, slog.New(saying{"waiting for Temporal", waiting}), nil)
	}()
	select {
	case <-waiting:
	case err := <-ended:
		t.Fatalf("the process has ended: %v", err)
	}
	_, err = c.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	require.NoError(t, err)
	for polls := false; !polls; {
		select {
		case err := <-ended:
			t.Fatalf("the process has ended: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		found, err := c.DescribeTaskQueue(t.Context(), cfg.TaskQueue, enums.TASK_QUEUE_TYPE_ACTIVITY)
		polls = err == nil && len(found.GetPollers()) > 0
	}
	stop()
	require.NoError(t, <-ended)
}

// saying returns a handler that sends on a channel, unless it is full, for each log record with a message.
type saying struct {
	message string
	logged  chan<- struct{}
}

func (s saying) Enabled(context.Context, slog.Level) bool { return true }
func (s saying) WithAttrs([]slog.Attr) slog.Handler       { return s }
func (s saying) WithGroup(string) slog.Handler            { return s }

func (s saying) Handle(_ context.Context, r slog.Record) error {
	if r.Message == s.message {
		select {
		case s.logged <- struct{}{}:
		default:
		}
	}
	return nil
}

// signalling is a log handler that sends on a channel for each record.
type signalling struct {
	slog.Handler
	logged chan<- struct{}
}

func (s signalling) Enabled(context.Context, slog.Level) bool { return true }

func (s signalling) Handle(context.Context, slog.Record) error {
	s.logged <- struct{}{}
	return nil
}
