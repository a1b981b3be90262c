// Package signedurl makes and checks links to the content of an asset that need no credential. It promises that
// nobody without the key can make a link, or change the file, the type or the expiry of one. The route that serves a
// link checks whether the asset may still be read.
package signedurl

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Prefix is the beginning of the path of a link: Prefix + asset + "/" + filename.
const Prefix = "/files/"

// Key is a signing key. A link names the key that signed it, so that keys can be rotated: sign with the new key, and accept
// both until the links of the old one have expired.
type Key struct {
	ID     string // short, public
	Secret []byte // at least 16 bytes
}

// Options tune a Signer. The zero value is safe.
type Options struct {
	TTL    time.Duration // shortest lifetime of a link; default 15 minutes
	Window time.Duration // expiries are rounded up to a multiple of it; default 5 minutes
	Now    func() time.Time
}

// The defaults are long enough to follow a redirect or to show a page, and short enough that a leaked link is of
// little use. Within a window a file has the same link, so that answers keep their ETag.
const (
	defaultTTL    = 15 * time.Minute
	defaultWindow = 5 * time.Minute
)

// minSecret is the minimum length of a key in bytes.
const minSecret = 16

// Signer makes and checks links.
type Signer struct {
	keys []Key
	opts Options
}

// New returns a signer that signs with the first key and accepts links of all keys.
func New(keys []Key, opts Options) (*Signer, error) {
	if len(keys) == 0 {
		return nil, errors.New("signed links need a key")
	}
	for i, k := range keys {
		if k.ID == "" || len(k.Secret) < minSecret || slices.ContainsFunc(keys[:i], func(o Key) bool { return o.ID == k.ID }) {
			return nil, errors.New("every link key needs a distinct id and a secret of at least 16 bytes")
		}
	}
	if opts.TTL <= 0 {
		opts.TTL = defaultTTL
	}
	if opts.Window <= 0 {
		opts.Window = defaultWindow
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Signer{keys: slices.Clone(keys), opts: opts}, nil
}

// Grant describes the access that a valid link gives.
type Grant struct {
	Asset       string
	Filename    string
	Hash        blob.Ref
	ContentType string
	Expires     time.Time
}

// Sign returns the path and query of a link to the content of an asset, and its expiry. A link with a malformed hash
// serves nothing.
func (s *Signer) Sign(asset, hash, filename, contentType string) (path string, expires time.Time) {
	expires = s.opts.Now().Add(s.opts.TTL + s.opts.Window - 1).Truncate(s.opts.Window).UTC()
	return s.sign(expires, asset, hash, filename, contentType), expires
}

// SignFor is Sign for a link that expires after exactly ttl: the expiry is not rounded to a window.
func (s *Signer) SignFor(ttl time.Duration, asset, hash, filename, contentType string) (path string, expires time.Time) {
	expires = s.opts.Now().Add(ttl).Truncate(time.Second).UTC()
	return s.sign(expires, asset, hash, filename, contentType), expires
}

func (s *Signer) sign(expires time.Time, asset, hash, filename, contentType string) string {
	ref, _ := blob.ParseRef(hash) // hashes are read from records; the zero Ref matches no blob
	g := Grant{Asset: asset, Filename: filename, Hash: ref, ContentType: contentType, Expires: expires}
	key := s.keys[0]
	q := url.Values{
		"e":   {strconv.FormatInt(expires.Unix(), 10)},
		"h":   {base64.RawURLEncoding.EncodeToString(ref[:])},
		"k":   {key.ID},
		"t":   {contentType},
		"sig": {base64.RawURLEncoding.EncodeToString(key.sum(g))},
	}
	return Prefix + asset + "/" + url.PathEscape(filename) + "?" + q.Encode()
}

// sum authenticates every field together with its length, so that bytes cannot move from one field to another.
func (k Key) sum(g Grant) []byte {
	mac := hmac.New(sha256.New, k.Secret)
	for _, field := range []string{k.ID, g.Asset, g.Filename, string(g.Hash[:]), g.ContentType, strconv.FormatInt(g.Expires.Unix(), 10)} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(field)))
		mac.Write(n[:])
		mac.Write([]byte(field))
	}
	return mac.Sum(nil)
}

// Verify returns the grant of the link with these parts of the path and this query. An expired link and an invalid
// signature are Denied with the same message.
func (s *Signer) Verify(asset, filename string, q url.Values) (Grant, error) {
	seconds, err := strconv.ParseInt(q.Get("e"), 10, 64)
	if err != nil {
		return Grant{}, denied()
	}
	hash, err := base64.RawURLEncoding.DecodeString(q.Get("h"))
	if err != nil || len(hash) != len(blob.Ref{}) {
		return Grant{}, denied()
	}
	sig, err := base64.RawURLEncoding.DecodeString(q.Get("sig"))
	if err != nil {
		return Grant{}, denied()
	}
	g := Grant{
		Asset: asset, Filename: filename, Hash: blob.Ref(hash), ContentType: q.Get("t"),
		Expires: time.Unix(seconds, 0).UTC(),
	}
	i := slices.IndexFunc(s.keys, func(k Key) bool { return k.ID == q.Get("k") })
	if i < 0 || !hmac.Equal(sig, s.keys[i].sum(g)) || !s.opts.Now().Before(g.Expires) {
		return Grant{}, denied()
	}
	return g, nil
}

func denied() error {
	return fault.New(fault.Denied, fault.CodeForbidden, "the link is invalid or has expired")
}
