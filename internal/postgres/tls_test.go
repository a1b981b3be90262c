//go:build linux

package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/stacktest/authority"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// loopback returns an address of this machine that no other test uses.
func loopback() string {
	return fmt.Sprintf("127.%d.%d.%d", 80+rand.IntN(100), rand.IntN(250), 2+rand.IntN(250)) // no secret
}

// Every mode of TLS works with a server that asks for it, and each refusal names its remedy.
func TestTLSToPostgreSQL(t *testing.T) {
	t.Parallel()
	ca, strange, host := authority.New(t), authority.New(t), loopback()
	trusted := authority.WriteFile(t, filepath.Join(t.TempDir(), "ca.pem"), ca.PEM)
	other := authority.WriteFile(t, filepath.Join(t.TempDir(), "other.pem"), strange.PEM)
	cert, key := ca.Issue(t, host, time.Now().Add(time.Hour))
	named := pgtest.NewSecured(t, host, cert, key)
	cert, key = ca.Issue(t, "db.example", time.Now().Add(time.Hour))
	elsewhere := pgtest.NewSecured(t, loopback(), cert, key)
	cert, key = ca.Issue(t, "db.example", time.Now().Add(-time.Hour))
	expired := pgtest.NewSecured(t, loopback(), cert, key)

	verified := url.Values{"sslmode": {"verify-full"}, "sslrootcert": {trusted}}
	for name, works := range map[string]struct {
		server *pgtest.Secured
		params url.Values
	}{
		"require":                       {named, url.Values{"sslmode": {"require"}}},
		"verify-ca":                     {named, url.Values{"sslmode": {"verify-ca"}, "sslrootcert": {trusted}}},
		"verify-ca, of another name":    {elsewhere, url.Values{"sslmode": {"verify-ca"}, "sslrootcert": {trusted}}},
		"verify-full":                   {named, verified},
		"require takes any certificate": {expired, url.Values{"sslmode": {"require"}}},
	} {
		pool, err := postgres.Open(t.Context(), works.server.URL(works.params), postgres.PoolOptions{})
		require.NoError(t, err, name)
		var encrypted bool
		require.NoError(t, pool.QueryRow(t.Context(), `select ssl from pg_stat_ssl where pid = pg_backend_pid()`).Scan(&encrypted))
		require.True(t, encrypted, name)
		pool.Close()
	}
	require.NoError(t, postgres.Migrate(t.Context(), named.URL(verified), nil), "connections of their own have TLS, too")

	for name, refused := range map[string]struct{ url, says string }{
		"no TLS": {
			named.URL(url.Values{"sslmode": {"disable"}}),
			"takes connections with TLS only: add sslmode=verify-full to DATABASE_URL",
		},
		"unknown authority": {
			named.URL(url.Values{"sslmode": {"verify-full"}}),
			"its certificate is of an authority that this machine does not know: name the authority's file with sslrootcert in DATABASE_URL",
		},
		"wrong authority": {
			named.URL(url.Values{"sslmode": {"verify-ca"}, "sslrootcert": {other}}),
			"name the authority's file with sslrootcert",
		},
		"another name": {
			elsewhere.URL(verified),
			"its certificate is of db.example: use that name in DATABASE_URL, or sslmode=verify-ca",
		},
		"expired": {expired.URL(verified), "its certificate has expired"},
		"no file of authority": {
			named.URL(url.Values{"sslmode": {"verify-full"}, "sslrootcert": {"/nowhere/ca.pem"}}),
			"open /nowhere/ca.pem: no such file or directory; correct sslrootcert",
		},
		"a server without TLS": {plainServer(t), "has no TLS: turn ssl on there"},
	} {
		_, err := postgres.Open(t.Context(), refused.url, postgres.PoolOptions{})
		require.Error(t, err, name)
		text, ok := postgres.Unreachable(err)
		require.True(t, ok, "%s: %v", name, err)
		require.Contains(t, text, refused.says, name)
		require.NotContains(t, text, "opensesame", name)
		require.NotContains(t, text, "\n", name)
	}
}

// plainServer is the address of something that answers a request for TLS as a PostgreSQL without it does.
func plainServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			request := make([]byte, 8)
			if _, err := conn.Read(request); err == nil {
				_, _ = conn.Write([]byte("N")) // the client may have left
			}
			_ = conn.Close()
		}
	}()
	return "postgres://somebody@" + l.Addr().String() + "/any?sslmode=require"
}
