// Package nodecache decides which nodes of a job do not run, because an earlier job of the same account computed
// their results. A Store stores the results; package activities runs the nodes.
package nodecache

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// generation is part of every key. Raise it when the results of many classes change. For one class, raise
// node.Class.Version instead.
const generation = 1

// Key identifies the result of a node. It is a hash of its class, its constants, the files it loads, and the keys of
// the nodes it reads. The zero Key means that the result cannot be known before the node runs.
type Key [32]byte

// IsZero reports whether the node is never cached.
func (k Key) IsZero() bool { return k == Key{} }

// String returns the key in hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Scope separates results that must not be shared: those of different accounts, and those of different APIs, for
// which the same nodes make different files. The result of a segment is only shared within Job, by a job and its
// retries from a node, because it is unknown whether the server's classes are pure.
type Scope struct{ Account, Surface, Job string }

// Fingerprint identifies inputs of a node beyond its constants, such as the content of files.
type Fingerprint func(class *node.Class, constants node.Args) (string, error)

// Keys returns the keys of a plan's units. A unit has no key if its class forbids caching, if the files that it loads
// are unknown, or if a unit that it may read has no key. A node's id is part of its key only if its class is not
// idempotent or uses the id. The key of a value that is passed to an expansion is the hash of its content.
func Keys(scope Scope, plan *graph.Plan, classes *node.Registry, fingerprint Fingerprint) []Key {
	keys := make([]Key, len(plan.Nodes))
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		if n.Given != "" {
			keys[i] = passedKey(scope, n.Digest)
		} else if n.Segment != nil {
			keys[i] = segmentKey(scope, n, classes, keys, fingerprint)
		} else if class, ok := classes.Lookup(n.Class); ok {
			keys[i] = keyOf(scope, n, class, keys, fingerprint)
		}
	}
	return keys
}

// passedKey returns the key of a value passed to an expansion.
func passedKey(scope Scope, digest string) Key {
	if digest == "" {
		return Key{}
	}
	h := &bytes.Buffer{}
	write(h, "given", fmt.Sprint(generation), scope.Account, scope.Surface, digest)
	return Key(blake3.Sum256(h.Bytes()))
}

// Digest identifies the content of a value across jobs. It is "" for a value that only refers to its content by a
// name, such as a part of a video file, because the name may later belong to another file.
func Digest(value node.Value) (string, error) {
	if names(value) {
		return "", nil
	}
	h := blake3.New()
	if err := node.EncodeValue(h, value); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func names(value node.Value) bool {
	switch v := value.(type) {
	case *media.Video:
		return v.File != ""
	case node.List:
		return slices.ContainsFunc(v, names)
	}
	return false
}

func keyOf(scope Scope, n *graph.PlanNode, class *node.Class, keys []Key, fingerprint Fingerprint) Key {
	if class.Uncached || loadsLinked(class, n) {
		return Key{}
	}
	print, err := fingerprint(class, n.Constants)
	if err != nil {
		return Key{} // the node will fail with the reason
	}
	h := &bytes.Buffer{}
	write(h, "node", fmt.Sprint(generation), scope.Account, scope.Surface, n.Class, fmt.Sprint(class.Version), print)
	if class.NotIdempotent || AsksForID(class) {
		write(h, "id", n.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Constants)) {
		value := n.Constants[name]
		text, err := json.Marshal(value)
		if err != nil {
			return Key{}
		}
		write(h, "constant", name, fmt.Sprintf("%T", value), string(text))
	}
	for _, name := range n.LinkNames() {
		link := n.Links[name]
		if keys[link.Unit].IsZero() {
			return Key{}
		}
		write(h, "link", name, string(keys[link.Unit][:]), fmt.Sprint(link.Slot))
	}
	return Key(blake3.Sum256(h.Bytes()))
}

// segmentKey returns the key of a segment: a hash of its nodes with their ids, its inputs, and the outputs that are
// read.
func segmentKey(scope Scope, n *graph.PlanNode, classes *node.Registry, keys []Key, fingerprint Fingerprint) Key {
	if scope.Job == "" {
		return Key{}
	}
	h := &bytes.Buffer{}
	write(h, "segment", fmt.Sprint(generation), scope.Account, scope.Surface, scope.Job)
	for i := range n.Segment.Nodes {
		in := &n.Segment.Nodes[i]
		class, known := classes.Lookup(in.Class)
		if !known || loadsLinked(class, in) {
			return Key{}
		}
		print, err := fingerprint(class, in.Constants)
		if err != nil {
			return Key{} // the node will fail with the reason
		}
		raw, err := json.Marshal([]any{in.ID, in.Class, class.Version, print, in.Constants, in.Links})
		if err != nil {
			return Key{}
		}
		write(h, "node", string(raw))
	}
	for _, in := range n.Segment.Inputs {
		link := n.Links[in.From]
		if keys[link.Unit].IsZero() {
			return Key{}
		}
		write(h, "input", fmt.Sprint(in.Node), in.Input, string(keys[link.Unit][:]), fmt.Sprint(link.Slot))
	}
	for _, out := range n.Segment.Outputs {
		write(h, "output", fmt.Sprint(out.Node), fmt.Sprint(out.Slot), string(out.Type))
	}
	return Key(blake3.Sum256(h.Bytes()))
}

// write adds parts to the hash, each prefixed with its length so that different lists never collide.
func write(h *bytes.Buffer, parts ...string) {
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.WriteString(part)
	}
}

// loadsLinked reports whether a file name comes from another node, so that the file is known only when the node runs.
func loadsLinked(class *node.Class, n *graph.PlanNode) bool {
	return slices.ContainsFunc(class.Inputs, func(in node.Input) bool {
		_, linked := n.Links[in.Name]
		return in.Folder != "" && linked
	})
}

// AsksForID reports whether a class reads its node's id, so that its results differ between nodes.
func AsksForID(class *node.Class) bool {
	return slices.ContainsFunc(class.Inputs, func(in node.Input) bool {
		return in.Section == node.Hidden && in.Type == "UNIQUE_ID"
	})
}
