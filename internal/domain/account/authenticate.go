package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Anyone accepts every caller as the local account (mode none) and ignores credentials.
type Anyone struct{}

// Authenticate returns the local identity.
func (Anyone) Authenticate(context.Context, string) (Identity, error) { return Local(), nil }

// Static accepts one token as the local account (mode token).
type Static struct{ hash KeyHash }

// NewStatic returns the authenticator of that token. An empty token is Invalid.
func NewStatic(token string) (*Static, error) {
	if token == "" {
		return nil, fault.New(fault.Invalid, "", "auth mode token needs a token")
	}
	return &Static{hash: HashKey(token)}, nil
}

// Authenticate returns the local identity for the right token, otherwise Unauthenticated.
func (s *Static) Authenticate(_ context.Context, secret string) (Identity, error) {
	hash := HashKey(secret)
	if subtle.ConstantTimeCompare(hash[:], s.hash[:]) != 1 {
		return Identity{}, unauthenticated(secret)
	}
	return Local(), nil
}

// KeyFinder looks keys up.
type KeyFinder interface {
	// IdentityByKey returns the identity of the key with that hash. An unknown
	// or revoked key is NotFound.
	IdentityByKey(ctx context.Context, hash KeyHash) (Identity, error)
}

// Keys accepts the API keys of accounts (mode keys).
type Keys struct{ finder KeyFinder }

// NewKeys returns the authenticator over the stored keys.
func NewKeys(finder KeyFinder) *Keys { return &Keys{finder: finder} }

// Authenticate returns the identity of the key, or Unauthenticated for an unknown
// one. A failure of the store keeps its kind.
func (k *Keys) Authenticate(ctx context.Context, secret string) (Identity, error) {
	if secret == "" || len(secret) > maxSecret {
		return Identity{}, unauthenticated(secret)
	}
	id, err := k.finder.IdentityByKey(ctx, HashKey(secret))
	if fault.Is(err, fault.NotFound) {
		return Identity{}, unauthenticated(secret)
	}
	return id, err
}

func unauthenticated(secret string) error {
	if secret == "" {
		return fault.New(fault.Unauthenticated, fault.CodeUnauthorized, "a credential is required")
	}
	return fault.New(fault.Unauthenticated, fault.CodeUnauthorized, "the credential is not valid")
}

const (
	keyLead     = "millrace-"
	keyEntropy  = 25 // bytes: 200 bits, 40 base32 digits without padding
	shownDigits = 6  // of those 40, stored in clear so that people can distinguish keys
	maxSecret   = 512
)

// KeyHash is the SHA-256 of a key. A slow hash is not necessary, because a key is random and too long to guess.
type KeyHash [sha256.Size]byte

// HashKey returns the hash under which a key is stored.
func HashKey(secret string) KeyHash { return sha256.Sum256([]byte(secret)) }

// Key is a stored API key; the secret itself is not part of it.
type Key struct {
	ID        string
	Account   string
	Prefix    string // the public beginning, such as "millrace-k3x7pa"
	Scopes    []Scope
	CreatedAt time.Time
	RevokedAt *time.Time
	LastUsed  *time.Time // accurate to a minute; nil = never
}

// NewSecret makes a key and returns it with its public prefix.
func NewSecret() (secret, prefix string) {
	var b [keyEntropy]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	secret = keyLead + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
	return secret, secret[:len(keyLead)+shownDigits]
}

// Authenticator checks credentials of one kind.
type Authenticator interface {
	// Authenticate returns the identity of the secret, or Unauthenticated if it is not valid.
	Authenticate(ctx context.Context, secret string) (Identity, error)
}

// KeysOrTokens accepts API keys and tokens. The form of a credential decides which check applies: a refused token is
// never tried as a key.
type KeysOrTokens struct {
	Keys   Authenticator
	Tokens Authenticator
	Shaped func(secret string) bool // reports whether a secret has the form of a token
}

// Authenticate implements Authenticator.
func (e KeysOrTokens) Authenticate(ctx context.Context, secret string) (Identity, error) {
	if !IsKey(secret) && e.Shaped(secret) {
		return e.Tokens.Authenticate(ctx, secret)
	}
	return e.Keys.Authenticate(ctx, secret)
}

// hostedKeyPrefix begins the keys of the hosted service. Its SDKs may send such a key, which is checked as a key and
// refused.
const hostedKeyPrefix = "comfyui-"

// IsKey reports whether a credential begins like an API key.
func IsKey(secret string) bool {
	return strings.HasPrefix(secret, hostedKeyPrefix) || strings.HasPrefix(secret, keyLead)
}

// TokenClaims are the claims of a signed token about an account.
type TokenClaims struct {
	Text     string    // id or name of the account
	Tier     Tier      // "" = the token names none
	IssuedAt time.Time // zero = not in the token
}

// OnlyLocal finds the account of a token in the modes none and token.
type OnlyLocal struct{}

// AccountOf returns the local account if the token names it.
func (OnlyLocal) AccountOf(_ context.Context, n TokenClaims) (Account, error) {
	if n.Text != LocalID {
		return Account{}, fault.New(fault.NotFound, "", "the account does not exist: modes none and token have only the local account")
	}
	return Account{ID: LocalID, Tier: TierLocal, Active: true}, nil
}

// maxName bounds the name of an account, in characters.
const maxName = 200

// CheckName returns Invalid for a name that people could not type or could not distinguish from others: it is empty,
// too long or surrounded by spaces, or has unprintable characters.
func CheckName(name string) error {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName ||
		strings.TrimSpace(name) != name || strings.ContainsFunc(name, unprintable) {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest,
			"the name of an account must have 1 to %d printable characters, without spaces around them", maxName)
	}
	return nil
}

// Suspended is the refusal of every credential of a suspended account.
func Suspended() error {
	return fault.New(fault.Denied, fault.CodeForbidden, "this account is suspended")
}
