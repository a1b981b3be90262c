package activities

import (
	"bytes"
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// CodeValueMissing marks a stored value that is gone; its producer must run again.
const CodeValueMissing = "value_missing"

const (
	inlinePrefix = "data:"
	// inlineMax is the largest scalar that travels in a workflow history instead of a blob.
	inlineMax = 256
)

// Values keeps what flows between nodes of different activities: content-addressed
// blobs, with the most recent ones in memory.
type Values struct {
	store    blob.Store
	maxBytes int64 // of one decoded value

	mu     sync.Mutex
	recent *list.List // of entry, most recent first
	byRef  map[string]*list.Element
	held   int64
	budget int64
}

type entry struct {
	ref   string
	value node.Value
	size  int64
}

// NewValues keeps values in store and up to budget bytes of them in memory. A value
// larger than maxBytes is refused when read.
func NewValues(store blob.Store, budget, maxBytes int64) *Values {
	return &Values{store: store, maxBytes: maxBytes, budget: budget, recent: list.New(), byRef: map[string]*list.Element{}}
}

// ownerBytes stand before each stored value and tell its job: equal values of two jobs are two blobs,
// so that the one that ends first does not take the other's away.
const ownerBytes = 16

func ownerOf(id job.ID) []byte {
	sum := blake3.Sum256([]byte(id))
	return sum[:ownerBytes]
}

// Put stores a value of a job and returns its reference: inline for small scalars, otherwise a blob.
func (v *Values) Put(ctx context.Context, owner job.ID, value node.Value) (string, error) {
	if ref, ok := inline(value); ok {
		return ref, nil
	}
	w, err := v.store.Create(ctx, blob.Relaxed)
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
	v.remember(entry{stored.Ref.String(), value, stored.Size})
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

// Get returns the value of a reference. One that is gone is NotFound with CodeValueMissing.
func (v *Values) Get(ctx context.Context, ref string) (node.Value, error) {
	ref = strings.TrimPrefix(ref, cachedPrefix)
	if raw, ok := strings.CutPrefix(ref, inlinePrefix); ok {
		var b []byte
		if err := json.Unmarshal([]byte(raw), &b); err != nil {
			return nil, fmt.Errorf("decode an inline value: %w", err)
		}
		return node.DecodeValue(bytes.NewReader(b), inlineMax)
	}
	if value, ok := v.recall(ref); ok {
		return value, nil
	}
	return v.load(ctx, ref)
}

func (v *Values) load(ctx context.Context, name string) (node.Value, error) {
	ref, err := blob.ParseRef(name)
	if err != nil {
		return nil, fmt.Errorf("value reference: %w", err)
	}
	r, err := v.store.Open(ctx, ref)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.Wrap(err, fault.NotFound, CodeValueMissing, "the value %s is gone", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read value %s: %w", name, err)
	}
	defer r.Close()
	var value node.Value
	if _, err = io.CopyN(io.Discard, r, ownerBytes); err == nil {
		value, err = node.DecodeValue(r, v.maxBytes)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, CodeValueMissing, "the value %s is damaged", name)
	}
	v.remember(entry{name, value, r.Size()})
	return value, nil
}

// PutDoc stores bytes of a job beside its values.
func (v *Values) PutDoc(ctx context.Context, owner job.ID, doc []byte) (string, error) {
	w, err := v.store.Create(ctx, blob.Relaxed)
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

// Doc returns what PutDoc stored. What is gone is NotFound with CodeValueMissing.
func (v *Values) Doc(ctx context.Context, name string) ([]byte, error) {
	ref, err := blob.ParseRef(name)
	if err != nil {
		return nil, fmt.Errorf("document reference: %w", err)
	}
	r, err := v.store.Open(ctx, ref)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.Wrap(err, fault.NotFound, CodeValueMissing, "the document %s is gone", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read document %s: %w", name, err)
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, v.maxBytes))
	if err != nil || len(raw) < ownerBytes {
		return nil, fault.New(fault.NotFound, CodeValueMissing, "the document %s is damaged", name)
	}
	return raw[ownerBytes:], nil
}

// Forget deletes values that no node of their job will read again, as far as they are blobs. A value that is among
// refs also as one of the cache stays: what a node gave may be handed on, and is then stored as the same blob.
func (v *Values) Forget(ctx context.Context, refs []string) error {
	kept := map[string]bool{}
	for _, name := range refs {
		if bare, ok := strings.CutPrefix(name, cachedPrefix); ok {
			kept[bare] = true
		}
	}
	for _, name := range refs {
		ref, err := blob.ParseRef(name)
		if err != nil || kept[name] {
			continue // inline, or of the cache
		}
		v.drop(name)
		if _, err := v.store.Remove(ctx, ref, time.Now().Add(time.Minute)); err != nil {
			return fmt.Errorf("delete value %s: %w", name, err)
		}
	}
	return nil
}

func (v *Values) recall(ref string) (node.Value, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, ok := v.byRef[ref]
	if !ok {
		return nil, false
	}
	v.recent.MoveToFront(e)
	return e.Value.(entry).value, true
}

func (v *Values) remember(e entry) {
	if e.size > v.budget/2 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.byRef[e.ref]; ok {
		return
	}
	v.byRef[e.ref] = v.recent.PushFront(e)
	for v.held += e.size; v.held > v.budget; {
		oldest := v.recent.Back()
		v.recent.Remove(oldest)
		delete(v.byRef, oldest.Value.(entry).ref)
		v.held -= oldest.Value.(entry).size
	}
}

func (v *Values) drop(ref string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e, ok := v.byRef[ref]; ok {
		v.recent.Remove(e)
		delete(v.byRef, ref)
		v.held -= e.Value.(entry).size
	}
}
