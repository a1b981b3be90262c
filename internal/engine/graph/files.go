package graph

import (
	"context"
	"fmt"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// seen caches the lookups of the caller's files during a validation: thousands of nodes may name the same file, and
// each lookup is a query. It is not safe for concurrent use.
type seen struct {
	node.Files
	infos map[string]lookupResult[node.Info]
	lists map[node.Folder]lookupResult[[]string]
}

type lookupResult[T any] struct {
	found T
	err   error
}

func remember(files node.Files) *seen {
	return &seen{Files: files, infos: map[string]lookupResult[node.Info]{}, lists: map[node.Folder]lookupResult[[]string]{}}
}

// Stat implements node.Files.
func (s *seen) Stat(ctx context.Context, name string) (node.Info, error) {
	l, known := s.infos[name]
	if !known {
		l.found, l.err = s.Files.Stat(ctx, name)
		s.infos[name] = l
	}
	return l.found, l.err
}

// List implements node.Files. A validation always asks with the same limit, so the limit is not part of the key.
func (s *seen) List(ctx context.Context, folder node.Folder, limit int) ([]string, error) {
	l, known := s.lists[folder]
	if !known {
		l.found, l.err = s.Files.List(ctx, folder, limit)
		s.lists[folder] = l
	}
	return l.found, l.err
}

// AssetRef is an input that names an asset instead of a file: {"__type": "core/ASSET", "info": {"id": …}}.
type AssetRef struct {
	Node  string
	Input string
	ID    string // "" when the reference is malformed
}

// AssetType is the tag of an asset reference.
const AssetType = "core/ASSET"

// AssetRefs lists the asset references of the graph in document order.
func (g *Graph) AssetRefs() []AssetRef {
	var refs []AssetRef
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			object, ok := in.Value.(map[string]any)
			if !ok || object["__type"] != AssetType {
				continue
			}
			ref := AssetRef{Node: n.ID, Input: in.Name}
			if info, ok := object["info"].(map[string]any); ok {
				ref.ID, _ = info["id"].(string)
			}
			refs = append(refs, ref)
		}
	}
	return refs
}

// ReplaceAsset replaces a reference by the name of a file.
func (g *Graph) ReplaceAsset(ref AssetRef, name string) error {
	n, ok := g.byID[ref.Node]
	if !ok {
		return fmt.Errorf("the graph has no node %q", ref.Node)
	}
	n.set(ref.Input, name)
	g.replaced = true
	return nil
}

// wrapped returns the value of {"__value__": …}: a constant list, which would otherwise be read as a link.
func wrapped(value any) (any, bool) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	inner, ok := object["__value__"]
	return inner, ok
}
