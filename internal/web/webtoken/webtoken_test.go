package webtoken_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/webtoken"
)

const secret = "a secret of more than thirty-two bytes"

// then is what every clock of these tests shows at first.
var then = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// book knows some accounts and what it was asked for.
type book struct {
	mu    sync.Mutex
	asked []account.TokenClaims
}

func (b *book) AccountOf(_ context.Context, n account.TokenClaims) (account.Account, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, n)
	switch n.Text {
	case "acme":
		return account.Account{ID: "id-of-acme", Tier: account.TierPro, Active: true, Access: account.Access{Models: []string{"bfl/*"}}}, nil
	case "banned":
		return account.Account{}, account.Suspended()
	case "down":
		return account.Account{}, fault.New(fault.Unavailable, "", "the store is away")
	}
	return account.Account{}, fault.New(fault.NotFound, "", "no such account")
}

func claims(change ...any) jwt.MapClaims {
	c := jwt.MapClaims{"sub": "acme", "iat": then.Unix(), "nbf": then.Unix(), "exp": then.Add(time.Hour).Unix()}
	for i := 0; i < len(change); i += 2 {
		if name, _ := change[i].(string); change[i+1] == nil {
			delete(c, name)
		} else {
			c[name] = change[i+1]
		}
	}
	return c
}

func sign(t testing.TB, method jwt.SigningMethod, kid string, key any, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, c)
	if kid != "" {
		token.Header["kid"] = kid
	}
	text, err := token.SignedString(key)
	require.NoError(t, err)
	return text
}

func hs(t testing.TB, c jwt.MapClaims) string {
	t.Helper()
	return sign(t, jwt.SigningMethodHS256, "", []byte(secret), c)
}

func verifier(t testing.TB, o webtoken.Options) (*webtoken.Verifier, *book) {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return then }
	}
	b := &book{}
	v, err := webtoken.New(o, b)
	require.NoError(t, err)
	return v, b
}

func refused(t *testing.T, v *webtoken.Verifier, token, why string) {
	t.Helper()
	id, err := v.Authenticate(t.Context(), token)
	require.Equal(t, fault.Unauthenticated, fault.KindOf(err), "%s: %v", why, err)
	require.Equal(t, fault.CodeUnauthorized, fault.CodeOf(err))
	require.Zero(t, id)
}

func TestValidTokenAuthenticatesItsAccount(t *testing.T) {
	t.Parallel()
	v, b := verifier(t, webtoken.Options{Secret: secret})
	id, err := v.Authenticate(t.Context(), hs(t, claims()))
	require.NoError(t, err)
	require.Equal(t, account.Identity{
		Account: "id-of-acme", Tier: account.TierPro, Active: true, Access: account.Access{Models: []string{"bfl/*"}},
		Scopes: []account.Scope{account.ScopeRead, account.ScopeWrite},
	}, id)
	require.Equal(t, "acme", b.asked[0].Text)
	require.True(t, then.Equal(b.asked[0].IssuedAt))
}

func TestClaimsDecideWhetherATokenIsGood(t *testing.T) {
	t.Parallel()
	after := func(d time.Duration) int64 { return then.Add(d).Unix() }
	for name, c := range map[string]struct {
		opts   webtoken.Options
		claims jwt.MapClaims
		good   bool
	}{
		"no end":                        {claims: claims("exp", nil)},
		"no beginning":                  {claims: claims("nbf", nil), good: true},
		"no beginning where it must be": {webtoken.Options{Begins: true}, claims("nbf", nil), false},
		"a beginning where it must be":  {webtoken.Options{Begins: true}, claims(), true},
		"a beginning that is no time":   {claims: claims("nbf", "today")},
		"over":                          {claims: claims("exp", after(-31*time.Second))},
		"over within the skew":          {claims: claims("exp", after(-29*time.Second)), good: true},
		"too early":                     {claims: claims("nbf", after(31*time.Second))},
		"too early within the skew":     {claims: claims("nbf", after(29*time.Second)), good: true},
		"over within a longer skew":     {webtoken.Options{Skew: 2 * time.Minute}, claims("exp", after(-time.Minute)), true},
		"issued in the future":          {claims: claims("iat", after(time.Hour))},
		"an end that is no time":        {claims: claims("exp", "tomorrow")},
		"another issuer":                {webtoken.Options{Issuer: "https://id.example"}, claims("iss", "https://evil.example"), false},
		"no issuer":                     {webtoken.Options{Issuer: "https://id.example"}, claims(), false},
		"the issuer":                    {webtoken.Options{Issuer: "https://id.example"}, claims("iss", "https://id.example"), true},
		"another audience":              {webtoken.Options{Audience: "millrace"}, claims("aud", "others"), false},
		"no audience":                   {webtoken.Options{Audience: "millrace"}, claims(), false},
		"the audience among others":     {webtoken.Options{Audience: "millrace"}, claims("aud", []string{"others", "millrace"}), true},
		"no account":                    {claims: claims("sub", nil)},
		"an empty account":              {claims: claims("sub", "")},
		"an account that is a number":   {claims: claims("sub", 7)},
		"an account that nobody knows":  {claims: claims("sub", "nobody")},
		"another claim":                 {webtoken.Options{Claim: "org"}, claims("sub", "nobody", "org", "acme"), true},
		"a claim within another": {
			webtoken.Options{Claim: "app.org.id"},
			claims("app", map[string]any{"org": map[string]any{"id": "acme"}}), true,
		},
		"a claim that is an address":     {webtoken.Options{Claim: "https://x.example/org"}, claims("https://x.example/org", "acme"), true},
		"a claim within what has none":   {webtoken.Options{Claim: "sub.org"}, claims(), false},
		"a tier that does not exist":     {webtoken.Options{Tier: "plan"}, claims("plan", "gold"), false},
		"a tier that is not a text":      {webtoken.Options{Tier: "plan"}, claims("plan", 3), false},
		"a tier, where none is read":     {claims: claims("plan", 3), good: true},
		"no tier, where one may be said": {webtoken.Options{Tier: "plan"}, claims(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.opts.Secret = secret
			v, _ := verifier(t, c.opts)
			token := hs(t, c.claims)
			if !c.good {
				refused(t, v, token, name)
				return
			}
			id, err := v.Authenticate(t.Context(), token)
			require.NoError(t, err)
			require.Equal(t, "id-of-acme", id.Account)
		})
	}
}

// A token has one meaning: what another program may read in another way is refused, also under a good signature.
func TestTokensWithTwoMeaningsAreRefused(t *testing.T) {
	t.Parallel()
	v, _ := verifier(t, webtoken.Options{Secret: secret})
	signed := func(header, claims string) string {
		text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
		signature, err := jwt.SigningMethodHS256.Sign(text, []byte(secret))
		require.NoError(t, err)
		return text + "." + base64.RawURLEncoding.EncodeToString(signature)
	}
	const header, end = `{"alg":"HS256"}`, `"exp":1777640400}`
	_, err := v.Authenticate(t.Context(), signed(header, `{"sub":"acme",`+end))
	require.NoError(t, err)
	for why, token := range map[string]string{
		"an extension that it must know": signed(`{"alg":"HS256","crit":["exp"],"exp":1}`, `{"sub":"acme",`+end),
		"a known extension":              signed(`{"alg":"HS256","crit":["b64"],"b64":true}`, `{"sub":"acme",`+end),
		"no extension that it must know": signed(`{"alg":"HS256","crit":[]}`, `{"sub":"acme",`+end),
		"extensions that are null":       signed(`{"alg":"HS256","crit":null}`, `{"sub":"acme",`+end),
		"two accounts":                   signed(header, `{"sub":"nobody","sub":"acme",`+end),
		"two ends":                       signed(header, `{"sub":"acme","exp":1,`+end),
		"two accounts within a claim":    signed(header, `{"sub":"acme","org":{"id":"a","id":"b"},`+end),
		"two algorithms":                 signed(`{"alg":"none","alg":"HS256"}`, `{"sub":"acme",`+end),
	} {
		refused(t, v, token, why)
	}
}

func TestTierOfATokenIsForwarded(t *testing.T) {
	t.Parallel()
	v, b := verifier(t, webtoken.Options{Secret: secret, Tier: "plan"})
	_, err := v.Authenticate(t.Context(), hs(t, claims("plan", "creator")))
	require.NoError(t, err)
	require.Equal(t, account.TierCreator, b.asked[0].Tier)
}

func TestScopesOfATokenAreItsRights(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said any
		want []account.Scope
	}{
		{"read write", []account.Scope{account.ScopeRead, account.ScopeWrite}},
		{"openid millrace:read email read", []account.Scope{account.ScopeRead}},
		{[]string{"millrace:write"}, []account.Scope{account.ScopeWrite}},
		{[]any{1, "read"}, []account.Scope{account.ScopeRead}},
		{"openid", []account.Scope{}},
		{nil, []account.Scope{}},
		{12, []account.Scope{}},
	} {
		v, _ := verifier(t, webtoken.Options{Secret: secret, Scopes: "scope"})
		id, err := v.Authenticate(t.Context(), hs(t, claims("scope", c.said)))
		require.NoError(t, err)
		require.Equal(t, c.want, id.Scopes, "%v", c.said)
	}
}

func TestAccountErrorsKeepTheirKind(t *testing.T) {
	t.Parallel()
	v, _ := verifier(t, webtoken.Options{Secret: secret})
	_, err := v.Authenticate(t.Context(), hs(t, claims("sub", "banned")))
	require.Equal(t, fault.Denied, fault.KindOf(err), "suspended")
	_, err = v.Authenticate(t.Context(), hs(t, claims("sub", "down")))
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "an outage is not a wrong token")
}

// issuer serves a JWKS that tests change.
type issuer struct {
	*httptest.Server
	mu      sync.Mutex
	keys    []jose.JSONWebKey
	answer  http.HandlerFunc // instead of the keys, when not nil
	fetches atomic.Int64
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	i := &issuer{}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.fetches.Add(1)
		i.mu.Lock()
		answer, keys := i.answer, i.keys
		i.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		if err := json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: keys}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) publish(answer http.HandlerFunc, keys ...jose.JSONWebKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer, i.keys = answer, keys
}

func public(kid string, key any) jose.JSONWebKey {
	return jose.JSONWebKey{KeyID: kid, Key: key, Use: "sig"}
}

// pairs are keys of the three kinds; making an RSA key takes long.
var pairs = sync.OnceValue(func() (p struct {
	rsa   *rsa.PrivateKey
	ecdsa *ecdsa.PrivateKey
	ed    ed25519.PrivateKey
},
) {
	p.rsa, _ = rsa.GenerateKey(rand.Reader, 2048)
	p.ecdsa, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, p.ed, _ = ed25519.GenerateKey(rand.Reader)
	return p
})

func (i *issuer) publishAll() {
	p := pairs()
	i.publish(nil, public("r", p.rsa.Public()), public("e", p.ecdsa.Public()), public("d", p.ed.Public()))
}

func TestKeysOfTheIssuer(t *testing.T) {
	t.Parallel()
	i, p := newIssuer(t), pairs()
	i.publishAll()
	v, _ := verifier(t, webtoken.Options{JWKS: i.URL})
	for _, kid := range []string{"", "named"} {
		for name, c := range map[string]struct {
			method jwt.SigningMethod
			key    crypto.Signer
			kid    string
		}{
			"RS256": {jwt.SigningMethodRS256, p.rsa, "r"}, "ES256": {jwt.SigningMethodES256, p.ecdsa, "e"},
			"EdDSA": {jwt.SigningMethodEdDSA, p.ed, "d"},
		} {
			if kid == "" {
				c.kid = "" // the only key for the algorithm is meant
			}
			id, err := v.Authenticate(t.Context(), sign(t, c.method, c.kid, c.key, claims()))
			require.NoError(t, err, name)
			require.Equal(t, "id-of-acme", id.Account)
		}
	}
	require.EqualValues(t, 1, i.fetches.Load(), "keys are kept")
}

func TestAlgorithmsAreNotConfused(t *testing.T) {
	t.Parallel()
	i, p := newIssuer(t), pairs()
	i.publishAll()
	_, other, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKIXPublicKey(p.rsa.Public())
	require.NoError(t, err)
	armoured := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	both, _ := verifier(t, webtoken.Options{JWKS: i.URL, Secret: secret})
	keys, _ := verifier(t, webtoken.Options{JWKS: i.URL})
	shared, _ := verifier(t, webtoken.Options{Secret: secret})
	none := sign(t, jwt.SigningMethodNone, "", jwt.UnsafeAllowNoneSignatureType, claims())
	good := hs(t, claims())
	parts := strings.Split(good, ".")
	header := func(text string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(text)) + "." + parts[1] + "." + parts[2]
	}
	for why, token := range map[string]string{
		"unsigned": none, "unsigned, with a signature": none + parts[2], "signature taken off": parts[0] + "." + parts[1] + ".",
		"a public key as the secret":     sign(t, jwt.SigningMethodHS256, "r", armoured, claims()),
		"the bytes of one as the secret": sign(t, jwt.SigningMethodHS256, "r", der, claims()),
		"another HMAC":                   sign(t, jwt.SigningMethodHS512, "", []byte(secret), claims()),
		"another RSA":                    sign(t, jwt.SigningMethodPS256, "r", p.rsa, claims()),
		"another hash":                   sign(t, jwt.SigningMethodRS512, "r", p.rsa, claims()),
		"the key id of another kind":     sign(t, jwt.SigningMethodES256, "r", p.ecdsa, claims()),
		"a key that nobody published":    sign(t, jwt.SigningMethodEdDSA, "d", other, claims()),
		"an id that nobody published":    sign(t, jwt.SigningMethodEdDSA, "x", p.ed, claims()),
		"another secret":                 sign(t, jwt.SigningMethodHS256, "", []byte(secret+"!"), claims()),
		"no algorithm":                   header(`{"typ":"JWT"}`),
		"an algorithm in other letters":  header(`{"alg":"hs256"}`),
		"an unknown algorithm":           header(`{"alg":"HS1"}`),
		"a header that is no object":     header(`[]`),
		"two parts":                      parts[0] + "." + parts[1],
		"four parts":                     good + ".x",
		"other claims under the signature": parts[0] + "." +
			base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"acme","exp":9999999999,"nbf":1}`)) + "." + parts[2],
		"a longer token than anybody issues": good + strings.Repeat("A", 20_000),
		"nothing":                            "", "blanks": " . . ",
	} {
		for _, v := range []*webtoken.Verifier{both, keys, shared} {
			refused(t, v, token, why)
		}
	}
	refused(t, keys, good, "HS256 where no secret is set")
	refused(t, shared, sign(t, jwt.SigningMethodEdDSA, "d", p.ed, claims()), "a public key where none is published")
	_, err = both.Authenticate(t.Context(), good)
	require.NoError(t, err)
}

// clock is a clock that tests move.
type clock struct{ passed atomic.Int64 }

func (c *clock) now() time.Time          { return then.Add(time.Duration(c.passed.Load())) }
func (c *clock) advance(d time.Duration) { c.passed.Add(int64(d)) }
func (c *clock) lasting() jwt.MapClaims  { return claims("exp", then.Add(100*time.Hour).Unix()) }
func verifierAt(t testing.TB, c *clock, url string) *webtoken.Verifier {
	t.Helper()
	v, _ := verifier(t, webtoken.Options{JWKS: url, Now: c.now})
	return v
}

func TestKeyRotationIsFetchedAtABoundedRate(t *testing.T) {
	t.Parallel()
	i, p, c := newIssuer(t), pairs(), &clock{}
	i.publish(nil, public("old", p.ed.Public()))
	v := verifierAt(t, c, i.URL)
	old, renewed := sign(t, jwt.SigningMethodEdDSA, "old", p.ed, c.lasting()), sign(t, jwt.SigningMethodES256, "new", p.ecdsa, c.lasting())
	_, err := v.Authenticate(t.Context(), old)
	require.NoError(t, err)
	i.publish(nil, public("old", p.ed.Public()), public("new", p.ecdsa.Public()))
	refused(t, v, renewed, "within the pause")
	c.advance(11 * time.Second)
	_, err = v.Authenticate(t.Context(), renewed)
	require.NoError(t, err, "a key id that is unknown makes it look again")
	require.EqualValues(t, 2, i.fetches.Load())

	i.publish(nil, public("new", p.ecdsa.Public()))
	c.advance(11 * time.Second)
	var flood sync.WaitGroup
	for n := range 200 {
		flood.Go(func() {
			_, err := v.Authenticate(t.Context(), sign(t, jwt.SigningMethodEdDSA, fmt.Sprint("invented-", n), p.ed, c.lasting()))
			if fault.KindOf(err) != fault.Unauthenticated {
				t.Errorf("an invented key id: %v", err)
			}
		})
	}
	flood.Wait()
	require.EqualValues(t, 3, i.fetches.Load(), "one fetch for all invented ids of a pause")
	refused(t, v, old, "a key that was taken back")
}

func TestKeysOutliveAnOutageOfTheIssuer(t *testing.T) {
	t.Parallel()
	i, p, c := newIssuer(t), pairs(), &clock{}
	broken := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	i.publish(broken)
	v := verifierAt(t, c, i.URL)
	token := sign(t, jwt.SigningMethodEdDSA, "d", p.ed, c.lasting())
	for range 3 {
		_, err := v.Authenticate(t.Context(), token)
		require.Equal(t, fault.Unavailable, fault.KindOf(err), "nothing is known, so nothing can be said")
	}
	require.EqualValues(t, 1, i.fetches.Load())
	i.publish(nil, public("d", p.ed.Public()))
	c.advance(11 * time.Second)
	_, err := v.Authenticate(t.Context(), token)
	require.NoError(t, err)
	i.publish(broken)
	c.advance(20 * time.Hour)
	_, err = v.Authenticate(t.Context(), token)
	require.NoError(t, err, "what is known is used while the issuer is away")
	c.advance(5 * time.Hour)
	_, err = v.Authenticate(t.Context(), token)
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "but not for ever")
}

func TestMalformedKeySets(t *testing.T) {
	t.Parallel()
	weak, err := rsa.GenerateKey(rand.Reader, 1024) // too short, on purpose
	require.NoError(t, err)
	p := pairs()
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s) } // a test's server
	}
	for name, answer := range map[string]http.HandlerFunc{
		"no JSON": text("<html>"), "no keys": text(`{"keys":[]}`), "null": text("null"),
		"endless":  text(`{"keys":[],"x":"` + strings.Repeat("x", 2<<20) + `"}`),
		"a secret": text(`{"keys":[{"kty":"oct","k":"` + base64.RawURLEncoding.EncodeToString([]byte(secret)) + `","kid":"d"}]}`),
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://203.0.113.7/keys", http.StatusFound)
		},
		"too short":      keysOf(t, public("d", weak.Public())),
		"for encryption": keysOf(t, jose.JSONWebKey{KeyID: "d", Key: p.ed.Public(), Use: "enc"}),
		"another use":    keysOf(t, jose.JSONWebKey{KeyID: "d", Key: p.rsa.Public(), Algorithm: "RS512"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			i.publish(answer)
			v, _ := verifier(t, webtoken.Options{JWKS: i.URL})
			_, err := v.Authenticate(t.Context(), sign(t, jwt.SigningMethodEdDSA, "d", p.ed, claims()))
			require.Equal(t, fault.Unavailable, fault.KindOf(err))
		})
	}
}

func keysOf(t *testing.T, keys ...jose.JSONWebKey) http.HandlerFunc {
	t.Helper()
	raw, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	require.NoError(t, err)
	return func(w http.ResponseWriter, _ *http.Request) { w.Write(raw) } // a test's server
}

func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]webtoken.Options{
		"nothing to check with": {}, "a short secret": {Secret: "short"}, "a long skew": {Secret: secret, Skew: time.Hour},
		"plain http": {JWKS: "http://id.example/keys"}, "no address": {JWKS: "id.example"}, "a password": {JWKS: "https://u:p@id.example/keys"},
		"a file": {JWKS: "file:///etc/keys"},
	} {
		_, err := webtoken.New(o, &book{})
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "short ", "no setting is repeated")
	}
}

func TestNeitherSecretsNorTokensAreLogged(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.publish(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	var log bytes.Buffer
	v, _ := verifier(t, webtoken.Options{
		Secret: secret, JWKS: i.URL, Issuer: "https://id.example",
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	tokens := []string{
		hs(t, claims("iss", "https://evil.example")), hs(t, claims("exp", 1)), hs(t, claims()) + "x",
		sign(t, jwt.SigningMethodEdDSA, "d", pairs().ed, claims()),
	}
	for _, token := range tokens {
		_, err := v.Authenticate(t.Context(), token)
		require.Error(t, err)
		said := log.String() + err.Error() + fmt.Sprintf("%+v", err)
		for _, private := range append(strings.Split(token, "."), secret, token) {
			require.NotContains(t, said, private)
		}
	}
	require.Contains(t, log.String(), "cannot be fetched", "the operator hears of an issuer that is away")
}

func TestShaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"a.b.c": true, "a.b.": true, "": false, ".b.c": false, "a.b": false, "a.b.c.d": false, "a b.c.d": false, "millrace-abc": false,
	} {
		require.Equal(t, want, webtoken.Shaped(text), text)
	}
}

// FuzzAuthenticate: nothing that is not signed with the secret is ever accepted, and nothing panics.
func FuzzAuthenticate(f *testing.F) {
	good := hs(f, claims())
	parts := strings.Split(good, ".")
	for _, seed := range []string{
		good, parts[0] + "." + parts[1] + ".", "e30.e30.", "..", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", good + "=", strings.ToUpper(good),
	} {
		f.Add(seed)
	}
	v, _ := verifier(f, webtoken.Options{Secret: secret})
	f.Fuzz(func(t *testing.T, token string) {
		id, err := v.Authenticate(t.Context(), token)
		if err == nil && token != good {
			t.Fatalf("accepted %q as %v", token, id)
		}
		if err != nil && fault.KindOf(err) != fault.Unauthenticated {
			t.Fatalf("%q: %v", token, err)
		}
	})
}

// FuzzClaims: whatever a signed token claims is an account, a refusal, or an outage of the store.
func FuzzClaims(f *testing.F) {
	f.Add(`{"sub":"acme","plan":"pro","scope":["read",{}],"app":{"org":[]}}`)
	f.Add(`{"sub":{"sub":"acme"},"exp":1e400,"aud":7}`)
	v, _ := verifier(f, webtoken.Options{Secret: secret, Tier: "plan", Scopes: "app.org", Audience: "x"})
	f.Fuzz(func(t *testing.T, text string) {
		said := jwt.MapClaims{}
		if json.Unmarshal([]byte(text), &said) != nil {
			t.Skip()
		}
		all := claims("aud", "x")
		maps.Copy(all, said)
		id, err := v.Authenticate(t.Context(), hs(t, all))
		if err == nil && id.Account != "id-of-acme" {
			t.Fatalf("%s: %v", text, id)
		}
	})
}
