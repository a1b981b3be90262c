package activities

import (
	"fmt"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// maxNamed bounds the units whose names are in a history: more names would be most of the history.
const maxNamed = 500

// names returns the id and the class of each unit.
func (p *planned) names() []string {
	if len(p.Nodes) > maxNamed {
		return nil
	}
	all := make([]string, len(p.Nodes))
	for i := range p.Nodes {
		all[i] = nameOf(&p.Nodes[i])
	}
	return all
}

// nameOf returns the id and the class of a node; of a segment, those of its most expensive node.
func nameOf(n *graph.PlanNode) string {
	if n.Segment == nil {
		return n.ID + " " + n.Class
	}
	name := nameOf(heaviestOf(n.Segment.Nodes))
	if rest := len(n.Segment.Nodes) - 1; rest > 0 {
		name += fmt.Sprintf(" and %d more", rest)
	}
	return name
}

// heaviest returns the class of the node that is expected to take longest, or "" for a plan without nodes.
func (p *planned) heaviest() string {
	if len(p.Nodes) == 0 {
		return ""
	}
	n := heaviestOf(p.Nodes)
	if n.Segment != nil {
		n = heaviestOf(n.Segment.Nodes)
	}
	return n.Class
}

// heaviestOf returns the most expensive node. Nodes on servers cost more than nodes of this process.
func heaviestOf(nodes []graph.PlanNode) *graph.PlanNode {
	heaviest := slices.MaxFunc(nodes, func(a, b graph.PlanNode) int {
		if (a.Segment != nil) != (b.Segment != nil) {
			if a.Segment != nil {
				return 1
			}
			return -1
		}
		return int(a.Cost - b.Cost)
	})
	return &heaviest
}
