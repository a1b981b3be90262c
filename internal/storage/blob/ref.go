package blob

import (
	"encoding/hex"
	"hash"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Ref is the BLAKE3 digest (256 bits) of a blob's bytes. It is comparable and usable as a map key. No blob has the
// zero Ref.
type Ref [32]byte

// refPrefix names the hash function in the written form of a Ref.
const refPrefix = "blake3:"

// Sum returns the digest of data.
func Sum(data []byte) Ref { return blake3.Sum256(data) }

// NewHash returns a hash whose digest RefOf returns as a Ref.
func NewHash() hash.Hash { return blake3.New() }

// RefOf returns the digest of the bytes written to h so far. NewHash made h.
func RefOf(h hash.Hash) Ref {
	var r Ref
	h.Sum(r[:0])
	return r
}

// ParseRef parses "blake3:" followed by 64 hex digits in upper or lower case. Other texts are Invalid.
func ParseRef(s string) (Ref, error) {
	digits, ok := strings.CutPrefix(s, refPrefix)
	if !ok || len(digits) != hex.EncodedLen(len(Ref{})) {
		return Ref{}, malformed()
	}
	var r Ref
	if _, err := hex.Decode(r[:], []byte(digits)); err != nil {
		return Ref{}, malformed()
	}
	return r, nil
}

func malformed() error {
	return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a hash must have the form blake3:<64 hex digits>")
}

// String returns the written form, "blake3:" and 64 lower-case hex digits.
func (r Ref) String() string { return refPrefix + r.Hex() }

// Hex returns the 64 lower-case hex digits without the prefix, the form of storage keys.
func (r Ref) Hex() string { return hex.EncodeToString(r[:]) }

// IsZero reports whether r is the zero Ref.
func (r Ref) IsZero() bool { return r == Ref{} }

// MarshalText implements encoding.TextMarshaler; the zero Ref is the empty text.
func (r Ref) MarshalText() ([]byte, error) {
	if r.IsZero() {
		return nil, nil
	}
	return []byte(r.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler; empty text is the zero Ref.
func (r *Ref) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*r = Ref{}
		return nil
	}
	parsed, err := ParseRef(string(text))
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}
