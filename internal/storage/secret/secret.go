// Package secret holds the root key of a deployment, and derives from it the cipher that encrypts credentials, and
// the signing keys. It promises that the key never leaves the process, and that an encrypted credential can only be
// decrypted for its owner, such as a job.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Size is the length of the key in bytes.
const Size = 32

// Key is the root key of a deployment. All replicas share it.
type Key struct{ root [Size]byte }

// Parse reads a key of 64 hex digits.
func Parse(s string) (*Key, error) {
	raw, err := hex.DecodeString(strings.TrimSpace(s))
	if err != nil || len(raw) != Size {
		return nil, fmt.Errorf("a secret key must be %d bytes in hex", Size)
	}
	return &Key{root: [Size]byte(raw)}, nil
}

// LoadOrCreate reads the key from a file. If there is no file, it creates a key in a file that only its owner can
// read.
func LoadOrCreate(path string) (*Key, error) {
	raw, err := os.ReadFile(path)
	if err == nil {
		return Parse(string(raw))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	var k Key
	rand.Read(k.root[:]) // never fails
	if err := create(path, hex.EncodeToString(k.root[:])+"\n"); err != nil {
		return nil, fmt.Errorf("store a new secret key: %w", err)
	}
	return LoadOrCreate(path) // if another process was faster, use its key
}

// create writes a complete file or none. It does not change an existing file.
func create(path, content string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // the linked name remains
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Derive returns a key of Size bytes for a purpose. Keys of different purposes are independent.
func (k *Key) Derive(purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, k.root[:], nil, "millrace/"+purpose, Size)
}

// Sealer encrypts small secrets, each for one owner (AES-256-GCM).
type Sealer struct{ aead cipher.AEAD }

// Sealer returns the cipher for credentials.
func (k *Key) Sealer() (*Sealer, error) {
	key, err := k.Derive("credentials")
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead: aead}, nil
}

// Seal encrypts a secret such that only Open with the same owner decrypts it.
func (s *Sealer) Seal(owner, secret string) []byte {
	return s.aead.Seal(nil, nil, []byte(secret), []byte(owner)) //nolint:gosec // the cipher draws its own nonce
}

// Open decrypts a secret that Seal encrypted for the same owner. Every other input is Denied.
func (s *Sealer) Open(owner string, sealed []byte) (string, error) {
	plain, err := s.aead.Open(nil, nil, sealed, []byte(owner))
	if err != nil {
		return "", fault.New(fault.Denied, "", "the credential cannot be decrypted: the secret key has changed, or the credential belongs to "+
			"another owner")
	}
	return string(plain), nil
}

// Sealers encrypt with the first of several keys and decrypt with all of them, so that secrets survive the
// replacement of a key.
type Sealers []*Sealer

// NewSealers returns the sealers of keys, the current key first.
func NewSealers(keys []*Key) (Sealers, error) {
	all := make(Sealers, len(keys))
	for i, key := range keys {
		var err error
		if all[i], err = key.Sealer(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Seal is Sealer.Seal with the current key.
func (s Sealers) Seal(owner, secret string) []byte { return s[0].Seal(owner, secret) }

// Open is Sealer.Open with the key that encrypted the secret.
func (s Sealers) Open(owner string, sealed []byte) (text string, err error) {
	for _, one := range s {
		if text, err = one.Open(owner, sealed); err == nil {
			return text, nil
		}
	}
	return "", err
}
