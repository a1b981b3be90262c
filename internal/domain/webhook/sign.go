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

// secretPrefix marks a key to people and to scanners of source code.
const secretPrefix = "whsec_"

// secretBytes is within the 24 to 64 bytes that the convention asks for.
const secretBytes = 32

// newSecret makes a key in the form in which its owner gets it.
func newSecret() string {
	var raw [secretBytes]byte
	rand.Read(raw[:]) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(raw[:])
}

// place is what is secret of an endpoint. It is stored sealed, for this endpoint only.
type place struct {
	URL      string    `json:"url"`
	Secret   string    `json:"secret"`
	Old      string    `json:"old,omitempty"` // the key before, which signs too
	OldUntil time.Time `json:"old_until,omitzero"`
}

// Sealer encrypts small secrets for one owner each; secret.Sealer is it.
type Sealer interface {
	Seal(owner, secret string) []byte
	Open(owner string, sealed []byte) (string, error)
}

// owner is what a sealed place is bound to.
func owner(id ID) string { return "webhook/" + string(id) }

func (p place) seal(s Sealer, id ID) ([]byte, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode the place of webhook %s: %w", id, err)
	}
	return s.Seal(owner(id), string(raw)), nil
}

func openPlace(s Sealer, id ID, sealed []byte) (p place, err error) {
	raw, err := s.Open(owner(id), sealed)
	if err != nil {
		return p, fmt.Errorf("open the place of webhook %s: %w", id, err)
	}
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		return p, fmt.Errorf("decode the place of webhook %s: %w", id, err)
	}
	return p, nil
}

// sign sets the headers of a message that is sent at a time.
func (p place) sign(h http.Header, id string, at time.Time, body []byte) error {
	stamp := strconv.FormatInt(at.Unix(), 10)
	signatures, err := p.signatures(id, stamp, at, body)
	if err != nil {
		return err
	}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, stamp)
	h.Set(HeaderSignature, signatures)
	return nil
}

// signatures is one for each key that is good, separated by spaces: a receiver accepts any of them.
func (p place) signatures(id, stamp string, at time.Time, body []byte) (string, error) {
	keys := []string{p.Secret}
	if p.Old != "" && at.Before(p.OldUntil) {
		keys = append(keys, p.Old)
	}
	var all []string
	for _, key := range keys {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, secretPrefix))
		if err != nil {
			return "", fmt.Errorf("the key of a webhook is not base64: %w", err)
		}
		mac := hmac.New(sha256.New, raw)
		fmt.Fprintf(mac, "%s.%s.", id, stamp) //nolint:errcheck // a hash takes everything
		mac.Write(body)                       // as above
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " "), nil
}
