package comfyui

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/millrace-dev/millrace/internal/outbound/redact"
)

// credentials returns the parts of headers that a server, or a proxy in front of it, must not repeat: each value, the
// credentials after the scheme of an Authorization, the user name and password of basic authentication, and the
// values of cookies.
func credentials(header http.Header) (secrets []string) {
	for name, values := range header {
		for _, value := range values {
			secrets = append(secrets, value)
			scheme, token, schemed := strings.Cut(value, " ")
			if schemed {
				secrets = append(secrets, strings.TrimSpace(token))
			}
			if strings.EqualFold(scheme, "basic") {
				secrets = append(secrets, basic(token)...)
			}
			if http.CanonicalHeaderKey(name) == "Cookie" {
				secrets = append(secrets, cookies(value)...)
			}
		}
	}
	return secrets
}

// basic returns "user:password" and the password.
func basic(token string) []string {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(token))
	if err != nil {
		return nil // not base64: the value itself is withheld
	}
	_, password, _ := strings.Cut(string(raw), ":")
	return []string{string(raw), password}
}

func cookies(header string) (values []string) {
	for pair := range strings.SplitSeq(header, ";") {
		_, value, _ := strings.Cut(pair, "=")
		values = append(values, strings.TrimSpace(value))
	}
	return values
}

// Withholding implements Server.
func (c *Client) Withholding(secrets ...string) Server {
	more := *c
	more.secrets = redact.New(append(credentials(c.header), secrets...)...)
	return &more
}

// redact overwrites the secrets in an answer: in its header, and in its body while it is read.
func (c *Client) redact(res *http.Response) {
	res.Body = struct {
		io.Reader
		io.Closer
	}{c.secrets.Reader(res.Body), res.Body}
	for _, values := range res.Header {
		for i := range values {
			values[i] = c.secrets.String(values[i])
		}
	}
}

// readable returns an error whose text contains no secret. Errors of a connection may quote received bytes.
func (c *Client) readable(err error) error {
	if text := err.Error(); c.secrets.Found(text) {
		return errors.New(c.secrets.String(text))
	}
	return err
}
