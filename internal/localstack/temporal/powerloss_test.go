//go:build unix

package temporal_test

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/postgres/localcluster"
)

// machine is a PostgreSQL with fsync and a Temporal, which lose power together.
type machine struct {
	dir      string
	opts     temporal.Options
	postgres *localcluster.Cluster
	temporal *temporal.Server
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	dir, err := scratch.New("mr-power")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Remove()) })
	address, err := ports.Address()
	require.NoError(t, err)
	m := &machine{dir: dir.Path, opts: temporal.Options{
		Binary: temporaltest.Binary(t), Address: address, Namespace: "default", LogFile: filepath.Join(t.TempDir(), "temporal.log"),
	}}
	m.startPostgres(t)
	m.startTemporal(t)
	return m
}

// startPostgres starts a server that writes the log to the disk at commits that wait for it, and for all others after ten seconds.
func (m *machine) startPostgres(t *testing.T) {
	t.Helper()
	var err error
	m.postgres, err = localcluster.Start(t.Context(), filepath.Join(m.dir, "c"),
		localcluster.Options{Settings: []string{"wal_writer_delay=10000"}})
	require.NoError(t, err)
	running := m.postgres
	t.Cleanup(func() { _ = running.Stop(context.Background()) }) // it may have lost its power
	m.opts.Postgres.Host, m.opts.Postgres.Port, m.opts.Postgres.User = m.postgres.Socket()
}

func (m *machine) startTemporal(t *testing.T) {
	t.Helper()
	var err error
	m.temporal, err = temporal.Start(t.Context(), m.opts)
	require.NoError(t, err)
	running := m.temporal
	t.Cleanup(func() { _ = running.Stop(context.Background()) })
}

// losePower ends everything at once: what PostgreSQL has not written to the disk is lost.
func (m *machine) losePower(t *testing.T) {
	t.Helper()
	require.NoError(t, syscall.Kill(m.postgres.PID(), syscall.SIGQUIT)) // its processes exit and write nothing
	require.NoError(t, syscall.Kill(m.temporal.PID(), syscall.SIGKILL))
	<-m.postgres.Done()
	<-m.temporal.Done()
	_ = m.postgres.Stop(t.Context()) // it releases the directory
	_ = m.temporal.Stop(t.Context())
}

// listed returns the number of workflows in the list's own database.
func (m *machine) listed(t *testing.T, db *pgx.Conn) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), `select count(*) from executions_visibility where workflow_type_name = 'Probe'`).Scan(&n))
	return n
}

func (m *machine) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	db, err := pgx.Connect(t.Context(), m.postgres.URL("temporal_visibility"))
	require.NoError(t, err)
	return db
}

// start starts workflows and returns when the list has them.
func (m *machine) start(t *testing.T, from, to int) {
	t.Helper()
	db := m.connect(t)
	defer db.Close(context.Background())
	c, err := client.Dial(client.Options{HostPort: m.opts.Address, Logger: noLog{}})
	require.NoError(t, err)
	defer c.Close()
	for n := from; n < to; n++ {
		_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: fmt.Sprintf("probe-%d", n), TaskQueue: "nobody"}, "Probe")
		require.NoError(t, err)
	}
	for m.listed(t, db) < to {
		require.NoError(t, t.Context().Err())
	}
}

type noLog struct{}

func (noLog) Debug(string, ...any) {}
func (noLog) Info(string, ...any)  {}
func (noLog) Warn(string, ...any)  {}
func (noLog) Error(string, ...any) {}

// The list of workflows does not wait for the disk. What a loss of power takes from it is made again, because the tasks to make
// it are lost with it or later, and every workflow that was started is in it.
func TestTheListOfWorkflowsIsWholeAfterALossOfPower(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const each, most = 20, 10
	started, lost := 0, 0
	for round := 0; lost == 0; round++ { // until entries are lost: mostly in the first round
		require.Less(t, round, most, "no entry of the list was ever lost: is it synced?")
		m.start(t, started, started+each)
		started += each
		m.losePower(t)
		m.startPostgres(t)
		db := m.connect(t)
		lost = started - m.listed(t, db)
		require.NoError(t, db.Close(t.Context()))
		m.startTemporal(t)
	}
	t.Logf("%d of %d entries were lost", lost, started)
	c, err := client.Dial(client.Options{HostPort: m.opts.Address, Logger: noLog{}})
	require.NoError(t, err)
	defer c.Close()
	within, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for count := int64(0); count < int64(started); {
		answer, err := c.CountWorkflow(within, &workflowservice.CountWorkflowExecutionsRequest{Query: `WorkflowType = 'Probe' AND ` +
			`ExecutionStatus = 'Running'`})
		require.NoError(t, err, "the list has %d of %d workflows", count, started)
		count = answer.GetCount()
	}
}
