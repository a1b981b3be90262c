package deploy_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// authority writes the certificate of an authority into a file.
func authority(t *testing.T) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "databases"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600))
	return path
}

// The variables that the chart sets have the driver check the server's certificate and its name, with an address that
// does not mention TLS; an address that does is stronger.
func TestChartsVariablesVerifyTheDatabase(t *testing.T) { //nolint:paralleltest // sets variables of the process
	t.Setenv("PGSSLMODE", "verify-full")
	t.Setenv("PGSSLROOTCERT", authority(t))
	c, err := pgxpool.ParseConfig("postgres://millrace:secret@db.example.org/millrace")
	require.NoError(t, err)
	require.NotNil(t, c.ConnConfig.TLSConfig)
	require.Equal(t, "db.example.org", c.ConnConfig.TLSConfig.ServerName)
	require.False(t, c.ConnConfig.TLSConfig.InsecureSkipVerify)
	require.NotNil(t, c.ConnConfig.TLSConfig.RootCAs)
	require.Empty(t, c.ConnConfig.Fallbacks, "never without TLS")

	c, err = pgxpool.ParseConfig("postgres://millrace:secret@db.example.org/millrace?sslmode=disable")
	require.NoError(t, err)
	require.Nil(t, c.ConnConfig.TLSConfig)

	t.Setenv("PGSSLROOTCERT", filepath.Join(t.TempDir(), "missing.crt"))
	_, err = pgxpool.ParseConfig("postgres://millrace:secret@db.example.org/millrace")
	require.ErrorContains(t, err, "missing.crt")
}
