//go:build linux

package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/postgres/localcluster"
)

// Secured is a private server with the settings of a hardened PostgreSQL: TCP only, with TLS and a password.
type Secured struct {
	t       testing.TB
	dir     string
	opts    localcluster.Options
	cluster *localcluster.Cluster
	host    string
}

// The user and the database of a Secured server.
const (
	securedName     = "service"
	securedPassword = "opensesame"
)

// NewSecured starts a server with an empty database at an address of this machine that no other PostgreSQL uses, with
// a certificate and its key in PEM. It stops the server when the test ends.
func NewSecured(t testing.TB, host string, cert, key []byte) *Secured {
	t.Helper()
	dir, err := scratch.New("millrace-secured")
	require.NoError(t, err)
	t.Cleanup(func() { _ = dir.Remove() }) // the next run sweeps the rest
	s := &Secured{t: t, dir: dir.Path, host: host}
	s.opts = localcluster.Options{BinDir: os.Getenv("MILLRACE_POSTGRES_BIN"), Settings: []string{
		"listen_addresses=" + host, "ssl=on", "ssl_cert_file=" + s.file("server.pem", cert), "ssl_key_file=" + s.file("server.key", key),
		"hba_file=" + s.file("hba.conf", []byte("local all all trust\nhostssl all all all scram-sha-256\n")),
	}}
	s.start(t.Context())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_ = s.cluster.Stop(ctx) // it may have been killed
	})
	require.NoError(t, s.cluster.CreateDatabase(t.Context(), securedName))
	require.NoError(t, execute(t.Context(), s.cluster.URL(securedName), fmt.Sprintf(
		`create role %[1]s login password '%[2]s'; alter database %[1]s owner to %[1]s; alter schema public owner to %[1]s`, securedName,
		securedPassword)))
	return s
}

// file writes a file that the server's user may read, with the owner and mode that PostgreSQL requires for keys.
func (s *Secured) file(name string, content []byte) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	require.NoError(s.t, os.WriteFile(path, content, 0o600))
	if os.Geteuid() == 0 {
		require.NoError(s.t, os.Chown(path, 0, int(ownerOfServer(s.t).Gid)))
		require.NoError(s.t, os.Chmod(path, 0o640))
	}
	return path
}

func (s *Secured) start(ctx context.Context) {
	s.t.Helper()
	c, err := localcluster.Start(ctx, filepath.Join(s.dir, "c"), s.opts)
	require.NoError(s.t, err)
	s.cluster = c
}

// URL is the connection string of the database with further parameters, such as sslmode and sslrootcert.
func (s *Secured) URL(params url.Values) string {
	return (&url.URL{
		Scheme: "postgres", User: url.UserPassword(securedName, securedPassword), Host: s.host, Path: "/" + securedName,
		RawQuery: params.Encode(),
	}).String()
}

// Kill kills the server and starts it again.
func (s *Secured) Kill() {
	s.t.Helper()
	require.NoError(s.t, syscall.Kill(s.cluster.PID(), syscall.SIGKILL))
	<-s.cluster.Done()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	_ = s.cluster.Stop(ctx) // it has ended; Stop releases its directory
	s.start(ctx)
}
