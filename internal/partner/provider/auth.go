package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"
	oauthjwt "golang.org/x/oauth2/jwt"

	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// authorize adds the model's credential to the headers. Its errors never contain the credential.
func (c *Client) authorize(ctx context.Context, m *catalog.Model, h http.Header) error {
	values := make([]string, len(m.Auth.Env))
	for i, name := range m.Auth.Env {
		value, ok := c.lookup(name)
		if !ok || value == "" {
			return fmt.Errorf("the variable %s of %s is not set", name, m.ID)
		}
		values[i] = value
	}
	switch m.Auth.Kind {
	case "none":
		return nil
	case "header":
		set(h, m.Auth, values[0])
		return nil
	case "kling-jwt":
		return klingToken(h, values)
	case "google":
		return c.googleToken(ctx, m, h, values[0])
	default:
		return fmt.Errorf("unknown kind of auth %q", m.Auth.Kind)
	}
}

func set(h http.Header, a catalog.Auth, value string) {
	if a.Scheme != "" {
		value = a.Scheme + " " + value
	}
	h.Set(a.Header, value)
}

// klingToken signs a token for the access key with the secret key, as Kling's API requires. The token is valid from
// five seconds ago, since clocks differ, for half an hour.
func klingToken(h http.Header, values []string) error {
	if len(values) != 2 {
		return errors.New("auth of kind kling-jwt needs two variables: access key and secret key")
	}
	now := time.Now()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": values[0], "exp": now.Add(30 * time.Minute).Unix(), "nbf": now.Add(-5 * time.Second).Unix(),
	})
	signed, err := token.SignedString([]byte(values[1]))
	if err != nil {
		return errors.New("the token cannot be signed")
	}
	h.Set("Authorization", "Bearer "+signed)
	return nil
}

// tokens holds the access tokens of Google service accounts, by key file.
type tokens struct {
	http    *outbound.Client
	mu      sync.Mutex
	sources map[string]oauth2.TokenSource
}

// googleKey is the used part of a service account's key file.
type googleKey struct {
	Type        string `json:"type"`
	ClientEmail string `json:"client_email"`
	PrivateKey  string `json:"private_key"`
	KeyID       string `json:"private_key_id"`
	TokenURI    string `json:"token_uri"`
}

// googleToken returns an access token for a service account. credential is the account's key, or the path of its key
// file.
func (c *Client) googleToken(ctx context.Context, m *catalog.Model, h http.Header, credential string) error {
	source, err := c.tokens.source(ctx, m, credential)
	if err != nil {
		return err
	}
	token, err := source.Token()
	if err != nil {
		return errors.New("the provider's token service did not issue a token")
	}
	h.Set("Authorization", "Bearer "+token.AccessToken)
	return nil
}

func (t *tokens) source(ctx context.Context, m *catalog.Model, credential string) (oauth2.TokenSource, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.sources[credential]; ok {
		return s, nil
	}
	raw := []byte(credential)
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		var err error
		if raw, err = readKey(credential); err != nil {
			return nil, err
		}
	}
	var key googleKey
	if err := json.Unmarshal(raw, &key); err != nil || key.Type != "service_account" {
		return nil, errors.New("the Google credential is not a key of a service account")
	}
	config := &oauthjwt.Config{
		Email: key.ClientEmail, PrivateKey: []byte(key.PrivateKey), PrivateKeyID: key.KeyID,
		Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"}, TokenURL: key.TokenURI,
	}
	// Tokens are fetched through the guarded HTTP client. The token source outlives this request.
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, t.http.HTTP(m.Allow, tokenTimeout))
	if t.sources == nil {
		t.sources = map[string]oauth2.TokenSource{}
	}
	t.sources[credential] = config.TokenSource(ctx)
	return t.sources[credential], nil
}

const (
	tokenTimeout = 20 * time.Second // a token service answers within seconds
	maxKeyFile   = 64 << 10
)

func readKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.New("the file of the Google credential cannot be read")
	}
	defer f.Close() // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, errors.New("the file of the Google credential cannot be read")
	}
	return raw, nil
}
