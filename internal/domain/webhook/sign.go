package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of a message, as the Standard Webhooks convention names them.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// secretPrefix lets people and secret scanners recognise a key.
const secretPrefix = "whsec_"

// secretBytes is the length of a key. Standard Webhooks requires 24 to 64 bytes.
const secretBytes = 32

// newSecret returns a new signing key in the form shown to its owner.
func newSecret() string {
	var raw [secretBytes]byte
	rand.Read(raw[:]) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(raw[:])
}

// endpointSecrets holds the secrets of an endpoint: its URL and its signing keys. It is stored encrypted and bound to the endpoint.
type endpointSecrets struct {
	URL      string    `json:"url"`
	Secret   string    `json:"secret"`
	Old      string    `json:"old,omitempty"` // the previous key, with which messages are also signed until it expires
	OldUntil time.Time `json:"old_until,omitzero"`
}

// Sealer encrypts small secrets, each bound to one owner. secret.Sealer implements it.
type Sealer interface {
	Seal(owner, secret string) []byte
	Open(owner string, sealed []byte) (string, error)
}

// owner returns the owner that the encrypted secrets of an endpoint are bound to.
func owner(id ID) string { return "webhook/" + string(id) }

func (p endpointSecrets) seal(s Sealer, id ID) ([]byte, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode the URL of webhook %s: %w", id, err)
	}
	return s.Seal(owner(id), string(raw)), nil
}

func openSecrets(s Sealer, id ID, sealed []byte) (p endpointSecrets, err error) {
	raw, err := s.Open(owner(id), sealed)
	if err != nil {
		return p, fmt.Errorf("open the URL of webhook %s: %w", id, err)
	}
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		return p, fmt.Errorf("decode the URL of webhook %s: %w", id, err)
	}
	return p, nil
}

// sign sets the signature headers of a message sent at the given time, with one signature for each valid key.
func (p endpointSecrets) sign(h http.Header, id string, at time.Time, body []byte) error {
	keys := []string{p.Secret}
	if p.Old != "" && at.Before(p.OldUntil) {
		keys = append(keys, p.Old)
	}
	return Sign(h, id, at, body, keys...)
}

// Sign sets the signature headers of a message sent at the given time. They have one signature for each key, separated by spaces; a
// receiver accepts any of them.
func Sign(h http.Header, id string, at time.Time, body []byte, keys ...string) error {
	stamp := strconv.FormatInt(at.Unix(), 10)
	var all []string
	for _, key := range keys {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, secretPrefix))
		if err != nil {
			return fmt.Errorf("the key of a webhook is not base64: %w", err)
		}
		mac := hmac.New(sha256.New, raw)
		fmt.Fprintf(mac, "%s.%s.", id, stamp) //nolint:errcheck // a hash never fails to write
		mac.Write(body)                       // as above
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, stamp)
	h.Set(HeaderSignature, strings.Join(all, " "))
	return nil
}
