// Package idle_test limits the work that local mode may cause in PostgreSQL while it is idle.
package idle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/localstack"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/test/served"
)

const (
	patience = 5 * time.Minute
	// settling is how long the start may go on in the background: PostgreSQL's processes also keep their counts to themselves
	// for ten seconds.
	settling = 30 * time.Second
	span     = 45 * time.Second // several of the longest intervals
	most     = 3.0              // transactions a second in the databases of Millrace and of Temporal
	spans    = 4                // the quietest counts: on a busy machine the start goes on for longer, and what is late is repeated
)

func TestAnIdleServiceMakesFewTransactions(t *testing.T) {
	t.Parallel()
	data := start(t)
	raw, err := os.ReadFile(localstack.AddressFile(data))
	require.NoError(t, err)
	var addresses localstack.Addresses
	require.NoError(t, json.Unmarshal(raw, &addresses))
	cfg, err := pgx.ParseConfig(addresses.DatabaseURL)
	require.NoError(t, err)
	cfg.Database = "postgres" // its transactions are not counted
	db, err := pgx.ConnectConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer db.Close(context.Background())

	_, err = db.Exec(t.Context(), `alter system set autovacuum = off`) // it analyses the new schema
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `select pg_reload_conf()`)
	require.NoError(t, err)

	wait(t, settling)
	least := math.Inf(1)
	for range spans {
		if least = min(least, rate(t, db)); least < most {
			return
		}
	}
	require.Less(t, least, most)
}

// rate returns the transactions a second of the three databases within a span.
func rate(t *testing.T, db *pgx.Conn) (sum float64) {
	t.Helper()
	before, began := transactions(t, db), time.Now()
	wait(t, span)
	after, seconds := transactions(t, db), time.Since(began).Seconds()
	require.Len(t, after, 3)
	for name, count := range after {
		rate := float64(count-before[name]) / seconds
		t.Logf("%s: %.2f transactions a second", name, rate)
		sum += rate
	}
	return sum
}

// start starts local mode, and returns its data directory once it is ready.
func start(t *testing.T) (data string) {
	t.Helper()
	require.NoError(t, os.Setenv(temporal.BinaryEnv, temporaltest.Binary(t)))
	dir, err := scratch.New("mr-idle")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Remove()) })
	data = filepath.Join(dir.Path, "data")
	addr, err := ports.Address()
	require.NoError(t, err)
	require.NoError(t, ports.ForServers(data))
	ctx, cancel := context.WithCancel(t.Context())
	ended, stopped := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(stopped)
		var out bytes.Buffer
		cmd := cli.Command(&out, os.Stderr, os.LookupEnv)
		cmd.SetArgs([]string{"dev", "--data", data, "--addr", addr, "--log", "error"})
		ended <- cmd.ExecuteContext(ctx)
	}()
	t.Cleanup(func() { cancel(); <-stopped })
	require.NoError(t, served.AwaitReady("http://"+addr, patience, ended))
	return data
}

// transactions returns how many each database has had.
func transactions(t *testing.T, db *pgx.Conn) map[string]int64 {
	t.Helper()
	rows, err := db.Query(t.Context(), `select datname, xact_commit + xact_rollback from pg_stat_database where datname = 'millrace'
		or datname like 'temporal%'`)
	require.NoError(t, err)
	counts := map[string]int64{}
	var name string
	var count int64
	_, err = pgx.ForEachRow(rows, []any{&name, &count}, func() error { counts[name] = count; return nil })
	require.NoError(t, err)
	return counts
}

func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}
