package dial_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/localstack/stacktest/authority"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/worker/dial"
)

// hardened is a Temporal that asks for a client certificate and an API key, and what reaches it.
type hardened struct {
	ca       *authority.Authority
	front    *temporaltest.Front
	settings dial.Settings
}

const apiKey = "key-one"

func newHardened(t *testing.T) *hardened {
	t.Helper()
	address, namespace := temporaltest.Namespace(t)
	h := &hardened{ca: authority.New(t)}
	h.front = temporaltest.NewFront(t, address, temporaltest.FrontRules{
		Certificate: h.ca.Pair(t, "127.0.0.1", tomorrow()), ClientCAs: h.ca.Pool(), Bearer: apiKey,
	})
	dir := t.TempDir()
	cert, key := h.ca.Issue(t, "millrace", tomorrow())
	h.settings = dial.Settings{
		Address: h.front.Address, Namespace: namespace,
		CA:         authority.WriteFile(t, filepath.Join(dir, "ca.pem"), h.ca.PEM),
		Cert:       authority.WriteFile(t, filepath.Join(dir, "client.pem"), cert),
		Key:        authority.WriteFile(t, filepath.Join(dir, "client.key"), key),
		APIKeyFile: authority.WriteFile(t, filepath.Join(dir, "api.key"), []byte(apiKey+"\n")),
	}
	return h
}

func tomorrow() time.Time { return time.Now().Add(24 * time.Hour) }

// ask makes a client by the settings and asks for the namespace.
func ask(ctx context.Context, s dial.Settings) error {
	options, err := s.Options()
	if err != nil {
		return err
	}
	c, err := client.NewLazyClient(options)
	if err != nil {
		return err
	}
	defer c.Close()
	return describe(ctx, c, s.Namespace)
}

func describe(ctx context.Context, c client.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	return err
}

func TestAHardenedTemporalIsReached(t *testing.T) {
	t.Parallel()
	h := newHardened(t)
	require.NoError(t, ask(t.Context(), h.settings))
	byName := h.settings
	h.front.Change(func(r *temporaltest.FrontRules) { r.Certificate = h.ca.Pair(t, "temporal.example", tomorrow()) })
	require.Error(t, ask(t.Context(), byName))
	byName.ServerName = "temporal.example"
	require.NoError(t, ask(t.Context(), byName))
	static := byName
	static.APIKeyFile, static.APIKey = "", apiKey
	require.NoError(t, ask(t.Context(), static))
}

// A client lives on while the CA, both certificates and the API key are replaced.
func TestReplacedFilesAreUsedWithoutARestart(t *testing.T) {
	t.Parallel()
	h := newHardened(t)
	options, err := h.settings.Options()
	require.NoError(t, err)
	c, err := client.NewLazyClient(options)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, describe(t.Context(), c, h.settings.Namespace))

	next := authority.New(t)
	cert, key := next.Issue(t, "millrace", tomorrow())
	authority.WriteFile(t, h.settings.CA, next.PEM)
	authority.WriteFile(t, h.settings.Cert, cert)
	authority.WriteFile(t, h.settings.Key, key)
	authority.WriteFile(t, h.settings.APIKeyFile, []byte("key-two"))
	h.front.Change(func(r *temporaltest.FrontRules) {
		*r = temporaltest.FrontRules{Certificate: next.Pair(t, "127.0.0.1", tomorrow()), ClientCAs: next.Pool(), Bearer: "key-two"}
	})
	h.front.Drop()
	for err = describe(t.Context(), c, h.settings.Namespace); err != nil && t.Context().Err() == nil; { // a connection was cut
		t.Log(err)
		err = describe(t.Context(), c, h.settings.Namespace)
	}
	require.NoError(t, err)
}

func TestARefusedConnectionNamesItsRemedy(t *testing.T) {
	t.Parallel()
	h, stranger := newHardened(t), authority.New(t)
	plain, _ := temporaltest.Namespace(t)
	write := func(t *testing.T, content []byte) string {
		t.Helper()
		return authority.WriteFile(t, filepath.Join(t.TempDir(), "file"), content)
	}
	for name, c := range map[string]struct {
		change func(*testing.T, *dial.Settings)
		front  *temporaltest.FrontRules // in place of the usual server
		want   []string
	}{
		"a CA of another": {
			func(t *testing.T, s *dial.Settings) { s.CA = write(t, stranger.PEM) }, nil,
			[]string{"unknown authority", "TEMPORAL_TLS_SERVER_CA_CERT_PATH"},
		},
		"the CAs of the system": {
			func(_ *testing.T, s *dial.Settings) { s.CA = "" }, nil,
			[]string{"unknown authority", "TEMPORAL_TLS_SERVER_CA_CERT_PATH"},
		},
		"a name of another": {
			func(_ *testing.T, s *dial.Settings) { s.ServerName = "other.example" }, nil,
			[]string{"other.example", "TEMPORAL_TLS_SERVER_NAME"},
		},
		"an expired server": {
			nil, &temporaltest.FrontRules{Certificate: h.ca.Pair(t, "127.0.0.1", time.Now().Add(-time.Minute))},
			[]string{"expired", "renew the server's certificate"},
		},
		"no client certificate": {
			func(_ *testing.T, s *dial.Settings) { s.Cert, s.Key = "", "" }, nil,
			[]string{"certificate required", "TEMPORAL_TLS_CLIENT_CERT_PATH"},
		},
		"a stranger's": {
			func(t *testing.T, s *dial.Settings) { s.Cert, s.Key = issue(t, stranger, tomorrow()) }, nil,
			[]string{"client certificate that its CA has signed", "TEMPORAL_TLS_CLIENT_CERT_PATH"},
		},
		"an expired client": {
			func(t *testing.T, s *dial.Settings) { s.Cert, s.Key = issue(t, h.ca, time.Now().Add(-time.Minute)) }, nil,
			[]string{"expired on", "renew it"},
		},
		"no TLS to a TLS server": {
			func(_ *testing.T, s *dial.Settings) { *s = dial.Settings{Address: s.Address, Namespace: s.Namespace} }, nil,
			[]string{"TEMPORAL_TLS=true"},
		},
		"TLS to a plain server": {
			func(_ *testing.T, s *dial.Settings) { s.Address = plain }, nil,
			[]string{"leave out the TLS settings", "speaks no TLS"},
		},
		"a wrong API key": {
			func(t *testing.T, s *dial.Settings) { s.APIKeyFile = write(t, []byte("wrong")) }, nil,
			[]string{"refuses the API key in", "replace it"},
		},
		"no API key": {func(_ *testing.T, s *dial.Settings) { s.APIKeyFile = "" }, nil, []string{"refuses the client certificate"}},
		"neither": {
			func(_ *testing.T, s *dial.Settings) { s.APIKeyFile, s.Cert, s.Key = "", "", "" },
			&temporaltest.FrontRules{Certificate: h.ca.Pair(t, "127.0.0.1", tomorrow()), Bearer: apiKey},
			[]string{"asks for a credential", "TEMPORAL_API_KEY_FILE"},
		},
		"a namespace not allowed": {
			nil, &temporaltest.FrontRules{
				Certificate: h.ca.Pair(t, "127.0.0.1", tomorrow()),
				Denied:      "/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace",
			},
			[]string{"refuses this credential in namespace " + h.settings.Namespace, "TEMPORAL_NAMESPACE"},
		},
		"an absent namespace": {
			func(_ *testing.T, s *dial.Settings) { s.Namespace = "absent" }, nil,
			[]string{"has no namespace absent", "temporal operator namespace create"},
		},
		"a missing file": {
			func(_ *testing.T, s *dial.Settings) { s.CA = "/nowhere/ca.pem" }, nil,
			[]string{"TEMPORAL_TLS_SERVER_CA_CERT_PATH", "/nowhere/ca.pem", "mount the file"},
		},
		"a key alone":         {func(_ *testing.T, s *dial.Settings) { s.Cert = "" }, nil, []string{"together with its key"}},
		"a certificate alone": {func(_ *testing.T, s *dial.Settings) { s.Key = "" }, nil, []string{"together with its key"}},
		"another's key": {
			func(t *testing.T, s *dial.Settings) { _, s.Key = issue(t, h.ca, tomorrow()) }, nil,
			[]string{"belong together"},
		},
		"no PEM": {
			func(t *testing.T, s *dial.Settings) { s.CA = write(t, []byte("none")) }, nil,
			[]string{"no certificate in PEM"},
		},
		"an empty API key": {func(t *testing.T, s *dial.Settings) { s.APIKeyFile = write(t, []byte(" \n")) }, nil, []string{"is empty"}},
		"two API keys":     {func(_ *testing.T, s *dial.Settings) { s.APIKey = "two" }, nil, []string{"not both"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := h.settings
			if c.front != nil {
				s.Address = temporaltest.NewFront(t, plain, *c.front).Address
			}
			if c.change != nil {
				c.change(t, &s)
			}
			err := ask(t.Context(), s)
			require.Error(t, err)
			for _, text := range c.want {
				require.ErrorContains(t, err, text)
			}
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), apiKey)
		})
	}
}

func issue(t *testing.T, ca *authority.Authority, until time.Time) (cert, key string) {
	t.Helper()
	certPEM, keyPEM := ca.Issue(t, "millrace", until)
	dir := t.TempDir()
	return authority.WriteFile(t, filepath.Join(dir, "cert.pem"), certPEM), authority.WriteFile(t, filepath.Join(dir, "key.pem"), keyPEM)
}

func TestRequestsThatStayOnTheMachineAreNotCompressed(t *testing.T) {
	t.Parallel()
	for address, plain := range map[string]bool{
		"127.0.0.1:7233": true, "[::1]:7233": true, "localhost:7233": true,
		"10.0.0.1:7233": false, "temporal.internal:7233": false, "127.0.0.1.example.com:7233": false,
	} {
		options, err := dial.Settings{Address: address, Namespace: "default"}.Options()
		require.NoError(t, err)
		if plain {
			require.Equal(t, &client.GrpcCompressionNone{}, options.ConnectionOptions.GrpcCompression, address)
		} else {
			require.Nil(t, options.ConnectionOptions.GrpcCompression, address)
		}
	}
}
