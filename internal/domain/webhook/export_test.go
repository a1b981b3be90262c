package webhook

import (
	"net/http"
	"time"
)

// CheckAddress is checkAddress for tests.
func CheckAddress(text string, allow ...string) (string, error) { return checkAddress(text, allow) }

// SignAs signs as an endpoint with that key does, and with a former key until a time.
func SignAs(h http.Header, secret, old string, until time.Time, id string, at time.Time, body []byte) error {
	return endpointSecrets{Secret: secret, Old: old, OldUntil: until}.sign(h, id, at, body)
}
