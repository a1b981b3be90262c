// Package nodecache says when the result of a node is that of an earlier job of the same account, and
// what then need not run. It decides only; what it decides on is
// kept by a Store, and running nodes is package activities' business.
package nodecache

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"slices"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// generation is part of every key. Raise it when results of many classes change; for one class there is
// node.Class.Version.
const generation = 1

// Key identifies the result of a node: its class, constants, what it loads, and the same of all it reads.
// The zero key is that of a node whose result cannot be known before it runs.
type Key [32]byte

// IsZero reports whether the node is never answered from the cache.
func (k Key) IsZero() bool { return k == Key{} }

// String returns the key in hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Scope separates what must not share results: accounts, and surfaces, which make other files of the same
// nodes.
type Scope struct{ Account, Surface string }

// Fingerprint identifies what the constants of a node do not show, such as the content of files.
type Fingerprint func(class *node.Class, constants node.Args) (string, error)

// Keys returns the keys of a plan's units. A unit gets none when its class says so, when what it loads
// cannot be told, or when anything that it may read has none. Ids of nodes are no part of a key, except
// those of classes that are not idempotent or ask for their id. What was handed to an expansion has the key
// of its content.
func Keys(scope Scope, plan *graph.Plan, classes *node.Registry, fingerprint Fingerprint) []Key {
	keys := make([]Key, len(plan.Nodes))
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		if n.Given != "" {
			keys[i] = given(scope, n.Digest)
		} else if class, ok := classes.Lookup(n.Class); ok {
			keys[i] = keyOf(scope, n, class, keys, fingerprint)
		}
	}
	return keys
}

// given is the key of a value that was handed to an expansion.
func given(scope Scope, digest string) Key {
	if digest == "" {
		return Key{}
	}
	h := blake3.New()
	write(h, "given", fmt.Sprint(generation), scope.Account, scope.Surface, digest)
	return Key(h.Sum(nil))
}

// Digest identifies the content of a value, the same in every job. It is "" where the value only names its content,
// as a video that is part of a file does: another file may have that name tomorrow.
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
		return Key{} // the node itself will say why
	}
	h := blake3.New()
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
	return Key(h.Sum(nil))
}

// write adds parts that cannot be confused with others: each stands behind its length.
func write(h hash.Hash, parts ...string) {
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:]) // a hash takes everything
		h.Write([]byte(part))
	}
}

// loadsLinked reports whether the name of a file comes from another node: which file it is shows only when
// the node runs.
func loadsLinked(class *node.Class, n *graph.PlanNode) bool {
	return slices.ContainsFunc(class.Inputs, func(in node.Input) bool {
		_, linked := n.Links[in.Name]
		return in.Folder != "" && linked
	})
}

// AsksForID reports whether a class is given its node's id, so that results differ from node to node.
func AsksForID(class *node.Class) bool {
	return slices.ContainsFunc(class.Inputs, func(in node.Input) bool {
		return in.Section == node.Hidden && in.Type == "UNIQUE_ID"
	})
}
