// Package webtoken checks JSON Web Tokens that an operator's issuer signs, and finds the account that a token names.
// It accepts four algorithms. It promises that the algorithm alone determines the source of the key, so that a token
// can never make a public key serve as a secret. It signs nothing and stores no tokens.
package webtoken

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

// minSecret is the minimum length of a shared secret in bytes: the length of its digest (RFC 7518, section 3.2).
const minSecret = 32

// maxToken bounds a token in bytes.
const maxToken = 16 << 10

// maxSkew bounds the allowed difference of clocks: a larger one would make the expiry of a token meaningless.
const maxSkew = 5 * time.Minute

// Options define which tokens are valid.
type Options struct {
	Secret   string        // secret of HS256, at least 32 bytes; "" = HS256 is refused
	JWKS     string        // https address of the issuer's keys (http on loopback); "" = RS256, ES256 and EdDSA are refused
	Issuer   string        // iss must equal it; "" = any
	Audience string        // aud must contain it; "" = any
	Claim    string        // claim that names the account, with dots between nested members; default "sub"
	Tier     string        // claim with the account's tier; "" = tokens have no tier
	Scopes   string        // claim with the rights read and write, a list or words; "" = every token has both
	Begins   bool          // nbf is required; otherwise it is optional (RFC 7519, section 4.1.5), but always checked if present
	Skew     time.Duration // allowed difference of clocks, at most five minutes; default 30 seconds
	Client   *http.Client  // client for the JWKS; default a client with bounds
	Log      *slog.Logger
	Now      func() time.Time // default time.Now
}

// Accounts finds the accounts that tokens name.
type Accounts interface {
	// AccountOf returns the account that a token names. An unknown account is NotFound, a suspended one Denied.
	AccountOf(ctx context.Context, n account.TokenClaims) (account.Account, error)
}

// Verifier checks tokens. Its methods are safe for concurrent use.
type Verifier struct {
	opts     Options
	accounts Accounts
	keys     *keySet
	accepted []jose.SignatureAlgorithm // HS256 with the shared secret, the others with keys of the JWKS
}

// Check returns an error if the options are not valid.
func (o Options) Check() error {
	switch {
	case o.Secret == "" && o.JWKS == "":
		return errors.New("tokens cannot be checked without a secret or a JWKS address")
	case o.Secret != "" && len(o.Secret) < minSecret:
		return fmt.Errorf("the secret of tokens must have at least %d bytes", minSecret)
	case o.Skew < 0 || o.Skew > maxSkew:
		return fmt.Errorf("the clocks of tokens may differ by %s at most", maxSkew)
	case o.JWKS != "":
		return checkAddress(o.JWKS)
	}
	return nil
}

// New returns a verifier of tokens that looks their accounts up in accounts.
func New(opts Options, accounts Accounts) (*Verifier, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	opts.setDefaults()
	v := &Verifier{opts: opts, accounts: accounts}
	if opts.Secret != "" {
		v.accepted = append(v.accepted, jose.HS256)
	}
	if opts.JWKS != "" {
		v.accepted = append(v.accepted, jose.RS256, jose.ES256, jose.EdDSA)
		v.keys = &keySet{opts: opts}
	}
	return v, nil
}

func (o *Options) setDefaults() {
	o.Claim = cmp.Or(o.Claim, "sub")
	o.Skew = cmp.Or(o.Skew, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Client == nil {
		o.Client = boundedClient()
	}
}

// Shaped reports whether a credential has the form of a token: three parts with dots between them.
func Shaped(credential string) bool {
	return strings.Count(credential, ".") == 2 && !strings.HasPrefix(credential, ".") && !strings.ContainsAny(credential, " \t")
}

// Authenticate returns the identity of the account that a token names. An invalid token is Unauthenticated. If the
// issuer's keys cannot be fetched, the error is Unavailable.
func (v *Verifier) Authenticate(ctx context.Context, token string) (account.Identity, error) {
	claims, issued, err := v.check(ctx, token)
	if fault.Is(err, fault.Unavailable) {
		return account.Identity{}, err
	}
	if err != nil {
		return account.Identity{}, unauthenticated(err)
	}
	named, err := v.named(claims)
	if err != nil {
		return account.Identity{}, unauthenticated(err)
	}
	named.IssuedAt = issued
	a, err := v.accounts.AccountOf(ctx, named)
	if fault.Is(err, fault.NotFound) {
		return account.Identity{}, unauthenticated(err)
	}
	if err != nil {
		return account.Identity{}, err
	}
	return account.Identity{Account: a.ID, Tier: a.Tier, Active: a.Active, Access: a.Access, Scopes: v.scopes(claims)}, nil
}

// check returns the claims of a valid token and when the token was issued. It refuses headers and claims with a member
// that is given twice: other programs may read the other value.
func (v *Verifier) check(ctx context.Context, text string) (claims map[string]any, issued time.Time, err error) {
	if len(text) > maxToken || !Shaped(text) || !canonical(text) {
		return nil, issued, errors.New("the credential does not have the form of a token")
	}
	token, err := jwt.ParseSigned(text, v.accepted)
	if err != nil {
		return nil, issued, err
	}
	if demandsExtensions(text) {
		return nil, issued, jose.ErrUnsupportedCriticalHeader
	}
	key, err := v.key(ctx, token.Headers[0])
	if err != nil {
		return nil, issued, err
	}
	var standard struct {
		jwt.Claims
		Subject any `json:"sub"` // some issuers send numbers, which matter only if the claim is to name the account
		ID      any `json:"jti"`
	}
	if err := token.Claims(key, &standard, &claims); err != nil {
		return nil, issued, err
	}
	if standard.Expiry == nil || v.opts.Begins && standard.NotBefore == nil {
		return nil, issued, errors.New("the token lacks exp or nbf")
	}
	expected := jwt.Expected{Issuer: v.opts.Issuer, Time: v.opts.Now()}
	if v.opts.Audience != "" {
		expected.AnyAudience = jwt.Audience{v.opts.Audience}
	}
	return claims, standard.IssuedAt.Time(), standard.ValidateWithLeeway(expected, v.opts.Skew)
}

// demandsExtensions reports whether the header of a canonical token has "crit", of whatever value: it lists extensions that the
// reader must know (RFC 7515, section 4.1.11), and this package knows none.
func demandsExtensions(token string) bool {
	first, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(first)
	var header map[string]json.RawMessage
	if err != nil || json.Unmarshal(raw, &header) != nil {
		return true
	}
	_, demands := header["crit"]
	return demands
}

// canonical reports whether the parts of a token are base64 in its only canonical form, so that a token has one spelling.
func canonical(token string) bool {
	for part := range strings.SplitSeq(token, ".") {
		raw, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || base64.RawURLEncoding.EncodeToString(raw) != part {
			return false
		}
	}
	return true
}

func (v *Verifier) named(claims map[string]any) (n account.TokenClaims, err error) {
	text, ok := Member(claims, v.opts.Claim).(string)
	if !ok || text == "" {
		return n, fmt.Errorf("the token has no text claim %s", v.opts.Claim)
	}
	n.Text = text
	if v.opts.Tier == "" {
		return n, nil
	}
	switch tier := Member(claims, v.opts.Tier).(type) {
	case nil:
	case string:
		n.Tier, err = account.ParseTier(tier)
	default:
		err = fmt.Errorf("the claim %s of the token is not a text", v.opts.Tier)
	}
	return n, err
}

// scopes returns the scopes that a token grants. Unknown scopes are ignored.
func (v *Verifier) scopes(claims map[string]any) []account.Scope {
	if v.opts.Scopes == "" {
		return []account.Scope{account.ScopeRead, account.ScopeWrite}
	}
	var words []string
	switch said := Member(claims, v.opts.Scopes).(type) {
	case string:
		words = strings.Fields(said)
	case []any:
		for _, each := range said {
			if word, ok := each.(string); ok {
				words = append(words, word)
			}
		}
	}
	scopes := []account.Scope{}
	for _, word := range words {
		if s, err := account.ParseScope(strings.TrimPrefix(word, scopeLead)); err == nil && !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// scopeLead is an optional prefix of a scope, for issuers that also serve other services.
const scopeLead = "millrace:"

// key returns the key for checking the signature of a token. It is chosen by the algorithm, which the parser has checked
// against the accepted ones, so that a public key is never used as a secret, or a secret as a public key.
func (v *Verifier) key(ctx context.Context, h jose.Header) (any, error) {
	if h.Algorithm == string(jose.HS256) {
		return []byte(v.opts.Secret), nil
	}
	return v.keys.find(ctx, h.KeyID, h.Algorithm)
}

// Member returns a claim by its path, or nil if there is none.
func Member(claims map[string]any, path string) any {
	if value, ok := claims[path]; ok { // the name of a claim may be a URL with dots
		return value
	}
	name, rest, nested := strings.Cut(path, ".")
	inner, ok := claims[name].(map[string]any)
	if !nested || !ok {
		return nil
	}
	return Member(inner, rest)
}

func unauthenticated(cause error) error {
	return fault.Wrap(cause, fault.Unauthenticated, fault.CodeUnauthorized, "the credential is not valid")
}
