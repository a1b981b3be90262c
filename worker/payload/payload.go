// Package payload encrypts the data that Temporal stores of workflows: inputs, results, memos, summaries and
// failures. It promises that a payload can be read as long as its key stays in the ring, that unencrypted payloads
// stay readable, and that no error shows a key. A payload whose key is missing blocks its workflow, which continues
// when the key is back. Search attributes, ids and names of workflows and activities are not payloads and are not
// encrypted.
package payload

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// Names in the metadata of an encrypted payload.
const (
	encoding = "binary/encrypted"
	keyID    = "encryption-key-id"
)

// keyBytes is the length of a key of AES-256.
const keyBytes = 32

// Ring is a key ring. The first key encrypts, and all keys decrypt. A nil Ring encrypts nothing.
type Ring struct {
	first string
	keys  map[string]cipher.AEAD
}

var _ converter.PayloadCodec = (*Ring)(nil)

// MissingKeyError is returned for a payload whose key is not in the ring.
type MissingKeyError struct{ ID string }

// Missing begins the text of a MissingKeyError, which Temporal passes on only as text.
const Missing = "a payload is encrypted with key "

// Error implements error.
func (e *MissingKeyError) Error() string {
	return fmt.Sprintf(Missing+"%q, which is not in the key ring; remedy: put the key back, MILLRACE_TEMPORAL_KEYS or "+
		"MILLRACE_TEMPORAL_KEYS_FILE", e.ID)
}

// Parse parses keys of the form ID:KEY, separated by commas or white space, each key 32 bytes in hex. Lines that
// begin with # are comments. Without a key it returns nil.
func Parse(text string) (*Ring, error) {
	r := &Ring{keys: map[string]cipher.AEAD{}}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, entry := range strings.FieldsFunc(line, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r' }) {
			if err := r.add(entry); err != nil {
				return nil, err
			}
		}
	}
	if r.first == "" {
		return nil, nil
	}
	return r, nil
}

// Load parses keys from text, or from a file.
func Load(text, file string) (*Ring, error) {
	if file == "" {
		return Parse(text)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("keys for Temporal (MILLRACE_TEMPORAL_KEYS_FILE): %w; mount the file, or correct the path", err)
	}
	ring, err := Parse(string(raw))
	if err == nil && ring == nil {
		return nil, fmt.Errorf("%s (MILLRACE_TEMPORAL_KEYS_FILE) has no key: put one in, or leave the setting out", file)
	}
	return ring, err
}

// add adds a key. Its errors name only the id.
func (r *Ring) add(entry string) error {
	id, text, ok := strings.Cut(entry, ":")
	if !ok || id == "" {
		return errors.New("a key for Temporal must have the form ID:KEY, such as 2026-11:…, " +
			"with a key of 32 bytes in hex (openssl rand -hex 32)")
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != keyBytes {
		return fmt.Errorf("key %q for Temporal is not 32 bytes in hex (openssl rand -hex 32)", id)
	}
	if r.keys[id] != nil {
		return fmt.Errorf("there are two keys %q for Temporal: give each an id of its own", id)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return fmt.Errorf("key %q for Temporal: %w", id, err)
	}
	if r.keys[id], err = cipher.NewGCM(block); err != nil {
		return fmt.Errorf("key %q for Temporal: %w", id, err)
	}
	r.first = cmp.Or(r.first, id)
	return nil
}

// Encode implements converter.PayloadCodec. It encrypts whole payloads, including their metadata.
func (r *Ring) Encode(payloads []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		raw, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encode a payload: %w", err)
		}
		out[i] = &common.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encoding), keyID: []byte(r.first)},
			Data:     seal(r.keys[r.first], r.first, raw),
		}
	}
	return out, nil
}

// seal returns a nonce and the ciphertext. It also authenticates the id of the key.
func seal(key cipher.AEAD, id string, raw []byte) []byte {
	nonce := make([]byte, key.NonceSize(), key.NonceSize()+len(raw)+key.Overhead())
	rand.Read(nonce) // it never fails
	return key.Seal(nonce, nonce, raw, []byte(id))
}

// Decode implements converter.PayloadCodec. It returns unencrypted payloads unchanged.
func (r *Ring) Decode(payloads []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		id, encrypted := KeyOf(p)
		if !encrypted {
			out[i] = p
			continue
		}
		raw, err := r.open(id, p.GetData())
		if err != nil {
			return nil, err
		}
		out[i] = &common.Payload{}
		if err := proto.Unmarshal(raw, out[i]); err != nil {
			return nil, fmt.Errorf("decode a payload: %w", err)
		}
	}
	return out, nil
}

func (r *Ring) open(id string, data []byte) ([]byte, error) {
	if !r.Has(id) {
		return nil, &MissingKeyError{id}
	}
	key := r.keys[id]
	if len(data) < key.NonceSize() {
		return nil, fmt.Errorf("a payload of key %q is truncated", id)
	}
	raw, err := key.Open(nil, data[:key.NonceSize()], data[key.NonceSize():], []byte(id))
	if err != nil {
		return nil, fmt.Errorf("a payload cannot be decrypted with key %q: the key has another value, or the payload was changed", id)
	}
	return raw, nil
}

// Has reports whether the ring has a key. A nil Ring has none.
func (r *Ring) Has(id string) bool { return r != nil && r.keys[id] != nil }

// KeyOf returns the id of the key that encrypted a payload.
func KeyOf(p *common.Payload) (id string, encrypted bool) {
	return string(p.GetMetadata()[keyID]), string(p.GetMetadata()[converter.MetadataEncoding]) == encoding
}
