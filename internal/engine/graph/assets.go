package graph

import "fmt"

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
