package driving

import (
	"context"
	"fmt"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

// createList is the class that makes a list of up to maxListed values.
const (
	createList = "CreateList"
	maxListed  = 10
)

// primitive returns the class that turns a constant into a value which a list can read.
func primitive(value any) (class string, ok bool) {
	switch value.(type) {
	case string:
		return "PrimitiveStringMultiline", true
	case int64:
		return "PrimitiveInt", true
	case float64:
		return "PrimitiveFloat", true
	case bool:
		return "PrimitiveBoolean", true
	}
	return "", false
}

// moveList moves the values of a list and joins them to a list again. A list of one value is equivalent to the value.
func (c *compiled) moveList(ctx context.Context, list node.List) (any, error) {
	if len(list) == 1 {
		return c.move(ctx, list[0])
	}
	if len(list) == 0 {
		return nil, cannotCross("an empty list cannot be moved to a server")
	}
	if !c.offers(createList) {
		return nil, cannotCross("the server has no class %s to make a list of %d values", createList, len(list))
	}
	links := make([]any, len(list))
	for i, value := range list {
		moved, err := c.move(ctx, value)
		if err != nil {
			return nil, err
		}
		if class, ok := primitive(moved); ok {
			moved = linkTo(c.add(class, map[string]any{"value": moved}), 0)
		}
		links[i] = moved
	}
	for len(links) > 1 {
		links = c.listed(links)
	}
	return links[0], nil
}

// listed joins values, or lists of values, to lists of up to maxListed.
func (c *compiled) listed(links []any) []any {
	var lists []any
	for group := range slices.Chunk(links, maxListed) {
		inputs := make(map[string]any, len(group))
		for i, link := range group {
			inputs[fmt.Sprintf("inputs.input%d", i)] = link
		}
		lists = append(lists, linkTo(c.add(createList, inputs), 0))
	}
	return lists
}

// findLists reports, for every output of the nodes, whether its value may be a list: because the class declares it,
// or because the node runs once for each element of a list that it reads.
func (c *compiled) findLists() [][]bool {
	nodes := c.r.Segment.Nodes
	mapped := make([]bool, len(nodes))
	for _, in := range c.r.Segment.Inputs {
		if list, ok := c.r.Inputs[in.From].(node.List); ok && len(list) != 1 {
			mapped[in.Node] = true
		}
	}
	lists := make([][]bool, len(nodes))
	for i := range nodes {
		class, known := c.r.Classes.Lookup(nodes[i].Class)
		if !known {
			continue
		}
		for _, link := range nodes[i].Links { // all link to earlier nodes
			mapped[i] = mapped[i] || link.Slot < len(lists[link.Unit]) && lists[link.Unit][link.Slot]
		}
		lists[i] = make([]bool, len(class.Outputs))
		for slot, out := range class.Outputs {
			lists[i][slot] = out.IsList || mapped[i] && !class.InputIsList
		}
	}
	return lists
}
