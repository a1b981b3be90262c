//go:build unix

package temporal_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/stacktest/authority"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
)

// secured is a deployment whose Temporal requires a client certificate and an API key, in files that may be replaced.
func secured(t *testing.T) (*deployment, *temporaltest.Front) {
	t.Helper()
	dir, until := t.TempDir(), time.Now().Add(time.Hour)
	d := newDeployment(t, nil)
	ca := authority.New(t)
	front := temporaltest.NewFront(t, d.address, temporaltest.FrontRules{
		Certificate: ca.Pair(t, "127.0.0.1", until), ClientCAs: ca.Pool(),
		Bearer: "one",
	})
	cert, key := ca.Issue(t, "millrace", until)
	d.env["TEMPORAL_ADDRESS"] = front.Address
	d.env["TEMPORAL_TLS_SERVER_CA_CERT_PATH"] = authority.WriteFile(t, filepath.Join(dir, "ca.pem"), ca.PEM)
	d.env["TEMPORAL_TLS_CLIENT_CERT_PATH"] = authority.WriteFile(t, filepath.Join(dir, "client.pem"), cert)
	d.env["TEMPORAL_TLS_CLIENT_KEY_PATH"] = authority.WriteFile(t, filepath.Join(dir, "client.key"), key)
	d.env["TEMPORAL_API_KEY_FILE"] = authority.WriteFile(t, filepath.Join(dir, "api.key"), []byte("one"))
	return d, front
}

// rotate replaces the CA, both certificates and the API key, on both sides, and cuts the connections.
func rotate(d *deployment, front *temporaltest.Front) {
	t, until := d.t, time.Now().Add(time.Hour)
	ca := authority.New(t)
	cert, key := ca.Issue(t, "millrace", until)
	authority.WriteFile(t, d.env["TEMPORAL_TLS_SERVER_CA_CERT_PATH"], ca.PEM)
	authority.WriteFile(t, d.env["TEMPORAL_TLS_CLIENT_CERT_PATH"], cert)
	authority.WriteFile(t, d.env["TEMPORAL_TLS_CLIENT_KEY_PATH"], key)
	authority.WriteFile(t, d.env["TEMPORAL_API_KEY_FILE"], []byte("two"))
	front.Change(func(r *temporaltest.FrontRules) {
		r.Certificate, r.ClientCAs, r.Bearer = ca.Pair(t, "127.0.0.1", until), ca.Pool(), "two"
	})
	front.Drop()
}

func TestJobsCompleteWhileCertificatesAndKeysAreReplaced(t *testing.T) {
	t.Parallel()
	d, front := secured(t)
	p := d.serve(nil)
	before := p.paint(1)
	var running []string
	for i := range 20 {
		if i == 10 {
			rotate(d, front)
		}
		running = append(running, p.submit(graphOf(100+i)))
	}
	for _, id := range running {
		require.Equal(t, "completed", p.end(id))
	}
	p.paint(2)

	require.Contains(t, d.run("jobs", "replay", before), "replays")
	require.Contains(t, d.run("histories", "export", before, "--dir", t.TempDir()), before)
	require.EventuallyWithT(t, func(c *assert.CollectT) { // each of its checks has seconds, which may not be enough on a busy machine
		found, err := d.try("doctor")
		assert.NoError(c, err, found)
	}, patience, tick)
}

// If Temporal refuses a command, the command prints one line with the remedy.
func TestCommandsExplainARefusalByTemporal(t *testing.T) {
	t.Parallel()
	d, _ := secured(t)
	p := d.serve(nil)
	id := p.paint(3)
	strange := authority.New(t)
	ca := authority.WriteFile(t, filepath.Join(t.TempDir(), "ca.pem"), strange.PEM)
	for _, args := range [][]string{{"jobs", "replay", id}, {"histories", "export", id, "--dir", t.TempDir()}, {"doctor", "--json"}} {
		out, err := d.try(append(args, "--temporal-tls-ca", ca)...)
		require.Error(t, err, args)
		require.Contains(t, out+err.Error(), "TEMPORAL_TLS_SERVER_CA_CERT_PATH", args)
		out, err = d.try(append(args, "--temporal-tls-cert", "")...)
		require.Error(t, err, args)
		require.Contains(t, out+err.Error(), "together with its key", args)
	}
	_, err := d.try("serve", "--addr", "127.0.0.1:0", "--temporal-tls-ca", "/nowhere/ca.pem")
	require.ErrorContains(t, err, "/nowhere/ca.pem")
}
