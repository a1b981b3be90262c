// Package nodevalue stores the values that nodes pass to other nodes in other activities: images, masks, sounds,
// texts and numbers. A value is content-addressed and belongs to one job; the most recent values stay in memory. It
// does not promise to keep values: a lost value is reported as missing, and its producer runs again.
package nodevalue

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

const (
	inlinePrefix = "data:"
	// inlineMax is the size of the largest scalar that is stored in a workflow history instead of a blob.
	inlineMax = 256
)

// Store stores values that nodes pass between activities as content-addressed blobs, with the most recent ones in
// memory.
type Store struct {
	blobs    blob.Store
	maxBytes int64 // bound of one decoded value

	adds   sync.Mutex                    // one value is added at a time
	recent *expirable.LRU[string, entry] // bounded by bytes
	used   atomic.Int64
	budget int64
}

type entry struct {
	value node.Value
	size  int64
}

// New returns a store that keeps values in blobs, and up to budget bytes of them in memory too, each for that long after it
// was written or read from its blob. Get refuses a value larger than maxBytes.
func New(blobs blob.Store, budget, maxBytes int64, recency time.Duration) *Store {
	s := &Store{blobs: blobs, maxBytes: maxBytes, budget: budget}
	s.recent = expirable.NewLRU(0, func(_ string, e entry) { s.used.Add(-e.size) }, recency)
	return s
}

// ownerBytes is the length of the job id before each stored value. It makes equal values of two jobs different blobs,
// so that the job that ends first does not delete the value of the other.
const ownerBytes = 16

func ownerOf(id job.ID) []byte {
	sum := blake3.Sum256([]byte(id))
	return sum[:ownerBytes]
}

// Put stores a value of a job and returns its reference: inline for small scalars, otherwise a blob.
func (s *Store) Put(ctx context.Context, owner job.ID, value node.Value) (string, error) {
	if ref, ok := inline(value); ok {
		return ref, nil
	}
	w, err := s.blobs.Create(ctx, blob.Relaxed)
	if err != nil {
		return "", fmt.Errorf("store a value: %w", err)
	}
	defer w.Abort()
	if _, err := w.Write(ownerOf(owner)); err != nil {
		return "", fmt.Errorf("store a value: %w", err)
	}
	if err := node.EncodeValue(w, value); err != nil {
		return "", fmt.Errorf("store a value: %w", err)
	}
	stored, err := w.Commit(ctx)
	if err != nil {
		return "", fmt.Errorf("store a value: %w", err)
	}
	s.remember(stored.Ref.String(), value, stored.Size)
	return stored.Ref.String(), nil
}

func inline(value node.Value) (string, bool) {
	switch value.(type) {
	case int64, float64, string, bool, node.Blocker:
	default:
		return "", false
	}
	var b bytes.Buffer
	if err := node.EncodeValue(&b, value); err != nil || b.Len() > inlineMax {
		return "", false
	}
	raw, err := json.Marshal(b.Bytes())
	if err != nil {
		return "", false
	}
	return inlinePrefix + string(raw), true
}

// Get returns the value of a reference. A lost value is NotFound with CodeValueMissing.
func (s *Store) Get(ctx context.Context, ref string) (node.Value, error) {
	ref = strings.TrimPrefix(ref, cachedPrefix)
	if raw, ok := strings.CutPrefix(ref, inlinePrefix); ok {
		var b []byte
		if err := json.Unmarshal([]byte(raw), &b); err != nil {
			return nil, fmt.Errorf("decode an inline value: %w", err)
		}
		return node.DecodeValue(bytes.NewReader(b), inlineMax)
	}
	if value, ok := s.recall(ref); ok {
		return value, nil
	}
	return s.load(ctx, ref)
}

func (s *Store) load(ctx context.Context, name string) (node.Value, error) {
	ref, err := blob.ParseRef(name)
	if err != nil {
		return nil, fmt.Errorf("value reference: %w", err)
	}
	r, err := s.blobs.Open(ctx, ref)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.Wrap(err, fault.NotFound, fault.CodeValueMissing, "the value %s is missing", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read value %s: %w", name, err)
	}
	defer r.Close()
	var value node.Value
	if _, err = io.CopyN(io.Discard, r, ownerBytes); err == nil {
		value, err = node.DecodeValue(r, s.maxBytes)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, fault.CodeValueMissing, "the value %s is damaged", name)
	}
	s.remember(name, value, r.Size())
	return value, nil
}

// PutDoc stores a document of a job.
func (s *Store) PutDoc(ctx context.Context, owner job.ID, doc []byte) (string, error) {
	w, err := s.blobs.Create(ctx, blob.Relaxed)
	if err != nil {
		return "", fmt.Errorf("store a document: %w", err)
	}
	defer w.Abort()
	if _, err := w.Write(slices.Concat(ownerOf(owner), doc)); err != nil {
		return "", fmt.Errorf("store a document: %w", err)
	}
	stored, err := w.Commit(ctx)
	if err != nil {
		return "", fmt.Errorf("store a document: %w", err)
	}
	return stored.Ref.String(), nil
}

// Doc returns a document that PutDoc stored. A lost document is NotFound with CodeValueMissing.
func (s *Store) Doc(ctx context.Context, name string) ([]byte, error) {
	ref, err := blob.ParseRef(name)
	if err != nil {
		return nil, fmt.Errorf("document reference: %w", err)
	}
	r, err := s.blobs.Open(ctx, ref)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.Wrap(err, fault.NotFound, fault.CodeValueMissing, "the document %s is missing", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read document %s: %w", name, err)
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, s.maxBytes))
	if err != nil || len(raw) < ownerBytes {
		return nil, fault.New(fault.NotFound, fault.CodeValueMissing, "the document %s is damaged", name)
	}
	return raw[ownerBytes:], nil
}

// Forget deletes the blobs of values that no node of their job will read again. It keeps a blob that refs also names
// as a value of the cache: a node may pass a value on, which is then stored as the same blob.
func (s *Store) Forget(ctx context.Context, refs []string) error {
	kept := map[string]bool{}
	for _, name := range refs {
		if bare, ok := strings.CutPrefix(name, cachedPrefix); ok {
			kept[bare] = true
		}
	}
	for _, name := range refs {
		ref, err := blob.ParseRef(name)
		if err != nil || kept[name] {
			continue // the value is inline, or belongs to the cache
		}
		s.drop(name)
		if _, err := s.blobs.Remove(ctx, ref, time.Now().Add(time.Minute)); err != nil {
			return fmt.Errorf("delete value %s: %w", name, err)
		}
	}
	return nil
}

// recall returns a value from memory.
func (s *Store) recall(ref string) (node.Value, bool) {
	e, ok := s.recent.Get(ref)
	return e.value, ok
}

// remember keeps a value in memory and removes the least recently used ones.
func (s *Store) remember(ref string, value node.Value, size int64) {
	s.adds.Lock()
	defer s.adds.Unlock()
	if size > s.budget/2 || s.recent.Contains(ref) {
		return
	}
	s.used.Add(size)
	s.recent.Add(ref, entry{value, size})
	for s.used.Load() > s.budget {
		if _, _, removed := s.recent.RemoveOldest(); !removed {
			return
		}
	}
}

func (s *Store) drop(ref string) { s.recent.Remove(ref) }
