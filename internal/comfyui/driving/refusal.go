package driving

import (
	"errors"

	"github.com/millrace-dev/millrace/internal/comfyui"
)

// attributeRefusal returns the refusal of a prompt with nodes of the graph in place of the nodes that were added for them,
// because clients do not see added nodes. Any other error is returned unchanged.
func (c *compiled) attributeRefusal(err error) error {
	var refused *comfyui.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	nodes := make(map[string]comfyui.NodeErrors, len(refused.Nodes))
	for id, e := range refused.Nodes {
		if owner, added := c.serves[id]; added {
			id, e.Class = owner, c.nodes[owner].Class
		}
		nodes[id] = e
	}
	return &comfyui.Refusal{Err: refused.Err, Nodes: nodes}
}
