package provider

import (
	"errors"
	"net/http"
	"strings"

	"github.com/millrace-dev/millrace/internal/outbound/redact"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// secrets returns the texts that an answer to a request must not contain: the credentials of the model, and those in
// the request, which may be derived from them.
func (c *Client) secrets(m *catalog.Model, sent http.Header) *redact.Secrets {
	values := credentials(m, c.lookup)
	for _, name := range []string{"Authorization", m.Auth.Header} {
		value := sent.Get(name)
		if _, token, schemed := strings.Cut(value, " "); schemed {
			value = token
		}
		values = append(values, value)
	}
	return redact.New(values...)
}

// credentials returns the values of the operator's credentials for a model, on all of its servers.
func credentials(m *catalog.Model, lookup func(string) (string, bool)) []string {
	var values []string
	for _, name := range m.Auth.Env {
		if value, ok := lookup(name); ok {
			values = append(values, value)
		}
	}
	for _, a := range m.Alternates {
		values = append(values, credentials(a.Model, lookup)...)
	}
	return values
}

// readable returns an error whose text contains no secret. Errors of net/http may quote received bytes.
func readable(secrets *redact.Secrets, err error) error {
	if text := err.Error(); secrets.Found(text) {
		return errors.New(secrets.String(text))
	}
	return err
}
