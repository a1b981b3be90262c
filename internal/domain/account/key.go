package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"time"
)

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
