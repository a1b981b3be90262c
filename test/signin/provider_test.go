package signin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"golang.org/x/text/language"
)

const (
	clientID     = "millrace"
	clientSecret = "the-secret-of-the-client"
	password     = "a-password"
)

// directory is the users of the provider and their groups.
type directory struct {
	mu     sync.Mutex // guards groups
	users  map[string]*storage.User
	groups map[string][]string // by the id of a user
}

func (d *directory) GetUserByID(id string) *storage.User         { return d.users[id] }
func (d *directory) GetUserByUsername(name string) *storage.User { return d.users[name] }
func (d *directory) ExampleClientID() string                     { return "service" }

// set puts a user into groups, and into no others.
func (d *directory) set(user string, groups ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.groups[user] = groups
}

func newDirectory() *directory {
	d := &directory{users: map[string]*storage.User{}, groups: map[string][]string{}}
	for _, u := range []struct {
		name, email string
		verified    bool
	}{
		{"vera", "vera@studio.example", true},
		{"max", "max@studio.example", true},
		{"olga", "olga@studio.example", true},
		{"nora", "nora@studio.example", true},
		{"eve", "eve@elsewhere.example", true},
		{"ulf", "ulf@studio.example", false},
	} {
		d.users[u.name] = &storage.User{
			ID: u.name, Username: u.name, Password: password, Email: u.email, EmailVerified: u.verified, PreferredLanguage: language.English,
		}
	}
	d.set("vera", "press")
	d.set("max", "artists", "others")
	d.set("olga", "ops")
	d.set("eve", "ops")
	d.set("ulf", "ops")
	return d
}

// groupStorage is the storage of the provider. It tells the groups of a user as well.
type groupStorage struct {
	*storage.Storage
	directory *directory
}

// SetUserinfoFromToken implements op.Storage.
func (s groupStorage) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, tokenID, subject, origin string) error {
	s.directory.mu.Lock()
	info.AppendClaims("groups", s.directory.groups[subject])
	s.directory.mu.Unlock()
	return s.Storage.SetUserinfoFromToken(ctx, info, tokenID, subject, origin)
}

// provider is an OpenID provider: that of zitadel/oidc, which is certified, behind a handler that can forge ID tokens.
type provider struct {
	*httptest.Server
	*directory
	storage *storage.Storage

	mu      sync.Mutex // guards the rest
	handler http.Handler
	forge   func(idToken string) string // nil = ID tokens stay as they are
	down    bool
}

func newProvider() *provider {
	p := &provider{directory: newDirectory()}
	p.Server = httptest.NewServer(p)
	return p
}

// serve begins to serve a client that is sent back to a redirect URI.
func (p *provider) serve(redirect string) {
	p.storage = storage.NewStorageWithClients(p.directory, map[string]*storage.Client{
		clientID: storage.WebClient(clientID, clientSecret, redirect),
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handler = exampleop.SetupServer(p.URL, groupStorage{p.storage, p.directory}, nil, false)
}

// ServeHTTP implements http.Handler.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	handler, forge, down := p.handler, p.forge, p.down
	p.mu.Unlock()
	if down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	if forge == nil || r.URL.Path != "/oauth/token" {
		handler.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	body := map[string]any{}
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err == nil && body["id_token"] != nil {
		body["id_token"] = forge(body["id_token"].(string))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
		return
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// with changes the provider for the time of a test that runs alone.
func (p *provider) with(t *testing.T, forge func(string) string, down bool) {
	t.Helper()
	set := func(f func(string) string, d bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.forge, p.down = f, d
	}
	set(forge, down)
	t.Cleanup(func() { set(nil, false) })
}

// resigned returns an ID token with other claims, signed with a key; nil = the key of the provider.
func (p *provider) resigned(t *testing.T, token string, key any, change func(map[string]any)) string {
	t.Helper()
	parsed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256})
	require.NoError(t, err)
	claims := map[string]any{}
	require.NoError(t, json.Unmarshal(parsed.UnsafePayloadWithoutVerification(), &claims))
	if change != nil {
		change(claims)
	}
	signing, err := p.storage.SigningKey(t.Context())
	require.NoError(t, err)
	if key == nil {
		key = signing.Key()
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: signing.ID()}}, nil)
	require.NoError(t, err)
	raw, err := json.Marshal(claims)
	require.NoError(t, err)
	signed, err := signer.Sign(raw)
	require.NoError(t, err)
	text, err := signed.CompactSerialize()
	require.NoError(t, err)
	return text
}
