package graph

// Downstream returns a node and all nodes that read its outputs, directly or through others, in document order. It
// returns nil for a node that the graph does not have.
func (g *Graph) Downstream(id string) []string {
	if _, ok := g.Node(id); !ok {
		return nil
	}
	readers := map[string][]string{}
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			if ref, _, good := asReference(in.Value); good {
				readers[ref.node] = append(readers[ref.node], n.ID)
			}
		}
	}
	reached := map[string]bool{id: true}
	for pending := []string{id}; len(pending) > 0; {
		next := pending[0]
		pending = pending[1:]
		for _, reader := range readers[next] {
			if !reached[reader] {
				reached[reader] = true
				pending = append(pending, reader)
			}
		}
	}
	var found []string
	for _, n := range g.Nodes {
		if reached[n.ID] {
			found = append(found, n.ID)
		}
	}
	return found
}
