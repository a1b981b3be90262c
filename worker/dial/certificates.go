package dial

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"
)

// certificate reads the client's certificate and its key. An expired certificate is an error here, where the message
// can name it; the server would only refuse it.
func (s Settings) certificate() (*tls.Certificate, error) {
	cert, err := readFile("TEMPORAL_TLS_CLIENT_CERT_PATH", s.Cert)
	if err != nil {
		return nil, err
	}
	key, err := readFile("TEMPORAL_TLS_CLIENT_KEY_PATH", s.Key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("client certificate %s with key %s cannot be used: %w; both must be PEM and belong together", s.Cert, s.Key, err)
	}
	if until := pair.Leaf.NotAfter; time.Now().After(until) {
		return nil, fmt.Errorf("client certificate %s expired on %s: renew it", s.Cert, until.UTC().Format(time.DateTime))
	}
	return &pair, nil
}

// roots reads the CAs.
func (s Settings) roots() (*x509.CertPool, error) {
	raw, err := readFile("TEMPORAL_TLS_SERVER_CA_CERT_PATH", s.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s (TEMPORAL_TLS_SERVER_CA_CERT_PATH) has no certificate in PEM", s.CA)
	}
	return pool, nil
}

// verify checks the server's chain and name as crypto/tls does, with the CAs that the file has now.
func (s Settings) verify(state tls.ConnectionState) error {
	roots, err := s.roots()
	if err != nil {
		return err
	}
	if len(state.PeerCertificates) == 0 {
		return errors.New("the server has no certificate")
	}
	chain := x509.VerifyOptions{Roots: roots, DNSName: s.name(), Intermediates: x509.NewCertPool()}
	for _, c := range state.PeerCertificates[1:] {
		chain.Intermediates.AddCert(c)
	}
	_, err = state.PeerCertificates[0].Verify(chain)
	return err
}

// name returns the name that the server's certificate must have.
func (s Settings) name() string {
	if s.ServerName != "" {
		return s.ServerName
	}
	host, _, err := net.SplitHostPort(s.Address)
	if err != nil {
		return s.Address
	}
	return host
}
