// Package dial makes the options of every Temporal client: those of the service and of the commands. It promises that
// a certificate, a key, a CA or an API key that is replaced on the disk is used from the next connection or request
// on, without a restart, and that the error of a refused connection is one sentence with its remedy. The callers
// decide when a client connects and what it does.
package dial

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// Settings describe the address of Temporal and how to connect to it.
type Settings struct {
	Address   string // HOST:PORT of the frontend
	Namespace string

	TLS        bool   // whether to use TLS without any of the settings below, each of which implies it
	CA         string // file of the CAs that may sign the server's certificate, PEM; "" = those of the system
	Cert, Key  string // files of the client's certificate and its key, PEM; both or none
	ServerName string // name in the server's certificate; "" = the host of Address
	APIKey     string // API key; "" = none
	APIKeyFile string // file of the API key, in place of APIKey
}

// Options returns the options of a client: address, namespace, TLS and credentials. Files are read once to detect
// mistakes early, and again whenever they are used.
func (s Settings) Options() (client.Options, error) {
	if err := s.check(); err != nil {
		return client.Options{}, err
	}
	options := client.Options{HostPort: s.Address, Namespace: s.Namespace}
	options.ConnectionOptions.DialOptions = []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(s.explained),
		grpc.WithDisableServiceConfig(), // service configuration is read from DNS: without DNS, connecting waits too long
	}
	if s.local() {
		options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	if s.encrypted() {
		cfg := s.tlsConfig()
		options.ConnectionOptions.TLS = cfg
		options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions,
			grpc.WithTransportCredentials(reasoned{credentials.NewTLS(cfg)})) // in place of those that the SDK makes of cfg
	}
	switch {
	case s.APIKeyFile != "":
		options.Credentials = client.NewAPIKeyDynamicCredentials((&keyFile{path: s.APIKeyFile}).current)
	case s.APIKey != "":
		options.Credentials = client.NewAPIKeyStaticCredentials(s.APIKey)
	}
	return options, nil
}

// local reports whether Temporal is on this machine. Compressing what does not leave it costs both sides more than it saves.
func (s Settings) local() bool {
	host, _, err := net.SplitHostPort(s.Address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// encrypted reports whether connections use TLS. An API key is never sent without TLS.
func (s Settings) encrypted() bool {
	return s.TLS || s.CA != "" || s.Cert != "" || s.ServerName != "" || s.APIKey != "" || s.APIKeyFile != ""
}

// check returns all mistakes that can be detected without a connection.
func (s Settings) check() error {
	var problems []error
	if (s.Cert == "") != (s.Key == "") {
		problems = append(problems, errors.New("Temporal takes a client certificate together with its key: give both "+
			"TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH"))
	}
	if s.APIKey != "" && s.APIKeyFile != "" {
		problems = append(problems, errors.New("Temporal takes one API key: give TEMPORAL_API_KEY or TEMPORAL_API_KEY_FILE, not both"))
	}
	if s.Cert != "" && s.Key != "" {
		if _, err := s.certificate(); err != nil {
			problems = append(problems, err)
		}
	}
	if s.CA != "" {
		if _, err := s.roots(); err != nil {
			problems = append(problems, err)
		}
	}
	if s.APIKeyFile != "" {
		if _, err := readKey(s.APIKeyFile); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// readFile reads a file that a setting names. Its error names the setting.
func readFile(setting, path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; mount the file, or correct the path", setting, err)
	}
	return raw, nil
}

// tlsConfig returns a configuration that reads its files for every handshake.
func (s Settings) tlsConfig() *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.ServerName}
	if s.Cert != "" {
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.certificate() }
	}
	if s.CA != "" {
		cfg.InsecureSkipVerify = true // verify does the check instead, with the current CAs of the file
		cfg.VerifyConnection = s.verify
	}
	return cfg
}
