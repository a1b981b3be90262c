package provider

import (
	"errors"
	"net/http"
	"strings"

	"github.com/millrace-dev/millrace/internal/model/catalog"
	"github.com/millrace-dev/millrace/internal/outbound/redact"
)

// secrets returns what an answer to a request must not hold: the credentials of the model, and those that the request
// carries, which may be made of them.
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

// credentials returns the values of the operator's credentials for a model, on each server that it has.
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

// readable returns an error whose text holds no secret: an error of net/http may quote what was received.
func readable(secrets *redact.Secrets, err error) error {
	if text := err.Error(); secrets.Found(text) {
		return errors.New(secrets.String(text))
	}
	return err
}
