package uiworkflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// subgraph is a graph that one node of another graph stands for. Links within it begin at inlet if they come from
// outside, and end at outlet if they lead outside; their slots are those of the node.
type subgraph struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Inputs []struct {
		Name  string `json:"name"`
		Label string `json:"label"`
	} `json:"inputs"`
	Nodes []*savedNode `json:"nodes"`
	Links []link       `json:"links"`
}

// slot returns the slot of an input of the node that stands for s, or -1. The node may leave out inputs without a
// link.
func (s *subgraph) slot(outer *savedNode, name string) int {
	for i, in := range s.Inputs {
		if in.Name == name {
			return i
		}
	}
	if len(s.Inputs) > 0 {
		return -1
	}
	return slices.IndexFunc(outer.Inputs, func(in savedInput) bool { return in.Name == name })
}

// fields returns the inputs of a subgraph that its node shows as fields: those that set a field within.
func (s *subgraph) fields(outer *savedNode) (names []string) {
	if len(s.Inputs) == 0 {
		for _, in := range outer.Inputs {
			if in.isField() {
				names = append(names, in.Name)
			}
		}
		return names
	}
	shown := map[int]bool{}
	for _, l := range s.Links {
		at := slices.IndexFunc(s.Nodes, func(n *savedNode) bool { return n != nil && n.ID.String() == l.to })
		if l.from == inlet && at >= 0 && l.toSlot >= 0 && l.toSlot < len(s.Nodes[at].Inputs) && s.Nodes[at].Inputs[l.toSlot].isField() {
			shown[l.slot] = true
		}
	}
	for slot, in := range s.Inputs {
		if shown[slot] {
			names = append(names, in.Name)
		}
	}
	return names
}

const (
	inlet  = "-10"
	outlet = "-20"
)

const (
	maxUnfolded = 20_000 // nodes, including those of unfolded subgraphs: a few nested subgraphs can contain very many
	maxNesting  = 32     // levels of nested subgraphs
)

// unfolder puts the nodes of subgraphs in place of the nodes that stand for them, as the editor does when it queues a
// workflow. Node 3 of the subgraph of node 12 becomes node 12:3.
type unfolder struct {
	definitions map[string]*subgraph
	flat        workflow
	hosts       map[string]host // the nodes that stand for subgraphs, by their ids in the unfolded workflow
	links       int64           // the last id that was given
	nodes       int             // visited so far
}

// host is a node that stands for a subgraph.
type host struct {
	*savedNode
	within *subgraph
}

// unfold unfolds a workflow. The links have new ids.
func unfold(w workflow) (*unfolder, error) {
	u := &unfolder{definitions: map[string]*subgraph{}, hosts: map[string]host{}}
	for _, s := range w.Definitions.Subgraphs {
		if s != nil {
			u.definitions[s.ID] = s
		}
	}
	err := u.graph("", w.Nodes, w.Links, maxNesting)
	return u, err
}

// graph adds the nodes and links of a graph. path is the prefix of the nodes' ids.
func (u *unfolder) graph(path string, nodes []*savedNode, links []link, depth int) error {
	if depth < 0 {
		return invalid("The workflow nests subgraphs deeper than %d levels.", maxNesting)
	}
	ids := map[int64]int64{}
	for _, l := range links {
		u.links++
		ids[l.id] = u.links
	}
	folded := map[string]bool{}
	for _, n := range nodes {
		if n == nil {
			continue
		}
		if u.nodes++; u.nodes > maxUnfolded {
			return invalid("The workflow has more than %d nodes in its subgraphs.", maxUnfolded)
		}
		made := placed(n, path, ids)
		within := u.definitions[n.Type]
		if within == nil || n.Mode == muted || n.Mode == bypassed {
			u.flat.Nodes = append(u.flat.Nodes, made)
			continue
		}
		folded[n.ID.String()] = true
		u.hosts[made.ID.String()] = host{made, within}
		if err := u.inside(made, within, depth-1); err != nil {
			return err
		}
	}
	for _, l := range links {
		l.id = ids[l.id]
		switch from := l.from; {
		case from == inlet:
			l.from, l.slot = inletOf(path, l.slot), 0
		case folded[from]:
			l.from, l.slot = outletOf(path+from+":", l.slot), 0
		default:
			l.from = path + from
		}
		u.flat.Links = append(u.flat.Links, l)
	}
	return nil
}

// placed returns a copy of a node of a graph with the ids that the node and its links have in the unfolded workflow.
// Links that the graph does not have are dropped.
func placed(n *savedNode, path string, ids map[int64]int64) *savedNode {
	made := *n
	made.ID = json.Number(path + n.ID.String())
	made.Inputs = slices.Clone(n.Inputs)
	for i, in := range made.Inputs {
		if in.Link != nil {
			id := ids[*in.Link]
			made.Inputs[i].Link = &id
		}
	}
	return &made
}

// The inlets and outlets of a subgraph become reroutes in the unfolded workflow.
func inletOf(path string, slot int) string  { return fmt.Sprintf("%sin %d", path, slot) }
func outletOf(path string, slot int) string { return fmt.Sprintf("%sout %d", path, slot) }

func (u *unfolder) reroute(id string, in *int64) {
	u.flat.Nodes = append(u.flat.Nodes, &savedNode{ID: json.Number(id), Type: "Reroute", Inputs: []savedInput{{Link: in}}})
}

// inside adds the nodes of a subgraph in place of outer, the node that stands for it.
func (u *unfolder) inside(outer *savedNode, s *subgraph, depth int) error {
	path := outer.ID.String() + ":"
	nodes, err := withOuterValues(outer, s)
	if err != nil {
		return err
	}
	for _, in := range outer.Inputs {
		u.reroute(inletOf(path, s.slot(outer, in.Name)), in.Link)
	}
	first := u.links // the links of s get the next ids, in order
	for i, l := range s.Links {
		if l.to == outlet {
			id := first + int64(i) + 1
			u.reroute(outletOf(path, l.toSlot), &id)
		}
	}
	return u.graph(path, nodes, s.Links, depth)
}

// withOuterValues returns the nodes of a subgraph with the values that outer, the node that stands for the subgraph, shows as
// its own fields. If outer saves no values, the nodes keep theirs.
func withOuterValues(outer *savedNode, s *subgraph) ([]*savedNode, error) {
	listed, err := shownValues(outer, s)
	for name, value := range outer.set { // a subgraph around outer shows the field as its own
		if slot := s.slot(outer, name); slot >= 0 {
			listed = append(listed, shownValue{slot: slot, value: value})
		}
	}
	if err != nil || len(listed) == 0 {
		return s.Nodes, err
	}
	nodes, at := make([]*savedNode, len(s.Nodes)), map[string]*savedNode{}
	for i, n := range s.Nodes {
		if n == nil {
			continue
		}
		copied := *n
		copied.set = map[string]json.RawMessage{}
		nodes[i], at[n.ID.String()] = &copied, &copied
	}
	for _, v := range listed {
		if v.slot < 0 {
			if n := at[v.node]; n != nil {
				n.set[v.name] = v.value
			}
			continue
		}
		for _, l := range s.Links {
			if n := at[l.to]; l.from == inlet && l.slot == v.slot && n != nil && l.toSlot >= 0 && l.toSlot < len(n.Inputs) {
				n.set[n.Inputs[l.toSlot].Name] = v.value
			}
		}
	}
	return nodes, nil
}

// shownValue is the value of a field that a subgraph's node shows: the value of one of its own inputs or, if slot is
// negative, of a widget of a node within.
type shownValue struct {
	slot       int
	node, name string
	value      json.RawMessage
}

// shownValues returns the values of the fields of a subgraph's node. Versions of the editor save them differently;
// values that do not match the fields are refused.
func shownValues(outer *savedNode, s *subgraph) (fields []shownValue, err error) {
	raw, proxies := bytes.TrimSpace(outer.Values), outer.Properties.Proxies
	if len(outer.Named) > 0 && len(proxies) == 0 {
		for name, value := range outer.Named {
			if slot := s.slot(outer, name); slot >= 0 {
				fields = append(fields, shownValue{slot: slot, value: value})
			}
		}
		return fields, nil
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var values []json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, invalid("Node %s: the values of the subgraph cannot be read.", outer.ID)
	}
	if len(values) == 0 {
		return nil, nil
	}
	if len(proxies) == 0 {
		for _, name := range s.fields(outer) {
			proxies = append(proxies, []any{"-1", name})
		}
	}
	if len(proxies) != len(values) {
		return nil, invalid("Node %s: the subgraph has %d values for %d fields; export the workflow in the editor as API format.", outer.ID,
			len(values), len(proxies))
	}
	for i, proxy := range proxies {
		field, ok := proxied(outer, s, proxy)
		if !ok {
			return nil, invalid("Node %s: the fields of the subgraph cannot be read.", outer.ID)
		}
		field.value = values[i]
		fields = append(fields, field)
	}
	return fields, nil
}

// proxied returns the field that an entry of the proxies names. Node -1 is the subgraph's own node.
func proxied(outer *savedNode, s *subgraph, proxy []any) (shownValue, bool) {
	if len(proxy) < 2 {
		return shownValue{}, false
	}
	node, name := fmt.Sprint(proxy[0]), fmt.Sprint(proxy[1])
	if node != "-1" {
		return shownValue{slot: -1, node: node, name: name}, true
	}
	slot := s.slot(outer, name)
	return shownValue{slot: slot}, slot >= 0
}
