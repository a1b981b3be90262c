package fanout

import (
	"encoding/json"
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
)

// maxShownNodes bounds the nodes of one progress_state message. The self-hosted runtime repeats every node that has
// begun, so its messages grow with the square of the graph. Beyond this bound, only the running nodes and those that
// finished last are listed.
const maxShownNodes = 256

// The states of a node in progress_state.
const (
	nodeRunning  = "running"
	nodeFinished = "finished"
)

// nodeState is one node that has begun in this run.
type nodeState struct {
	id, class  string
	state      string
	value, max int
	reported   bool // a frame has reported the steps; otherwise they are 0 or 1 of 1
	attempt    int
	within     *job.Expansion
	entry      []byte // `"id":{…}` in the form of progress_state; nil = not rendered yet
}

// nodes are the nodes of one run, in the order in which they began.
type nodes struct {
	byID  map[string]*nodeState
	order []*nodeState
}

func newNodes() nodes { return nodes{byID: map[string]*nodeState{}} }

// begin marks a node as running. A node that runs again keeps its progress.
func (n *nodes) begin(id, class string, attempt int) *nodeState {
	s := n.byID[id]
	if s == nil {
		s = &nodeState{id: id, class: class, max: 1}
		n.byID[id] = s
		n.order = append(n.order, s)
	}
	s.state, s.attempt, s.entry = nodeRunning, max(s.attempt, attempt), nil
	return s
}

func (n *nodes) finish(id, class string) {
	s := n.byID[id]
	if s == nil {
		s = n.begin(id, class, 0)
	}
	s.state, s.value, s.entry = nodeFinished, s.max, nil
}

func (n *nodes) running(id string) *nodeState {
	if s := n.byID[id]; s != nil && s.state == nodeRunning {
		return s
	}
	return nil
}

// advance sets the node's progress from a frame. It returns false, and changes nothing, if the progress would
// decrease.
func (s *nodeState) advance(value, limit int) bool {
	if int64(value)*int64(s.max) < int64(s.value)*int64(limit) {
		return false
	}
	s.value, s.max, s.reported, s.entry = value, limit, true, nil
	return true
}

// steps returns the progress of the running nodes that have reported steps.
func (n *nodes) steps() map[string]stream.Step {
	steps := map[string]stream.Step{}
	for _, s := range n.order {
		if s.state == nodeRunning && s.max > 1 && (s.within == nil || s.within.Counts) {
			steps[s.id] = stream.Step{Value: s.value, Max: s.max}
		}
	}
	return steps
}

// listed returns the nodes that a progress_state message lists.
func (n *nodes) listed() []*nodeState {
	if len(n.order) <= maxShownNodes {
		return n.order
	}
	shown := make([]*nodeState, 0, maxShownNodes)
	for _, s := range slices.Backward(n.order) {
		if s.state == nodeRunning || len(shown) < maxShownNodes/2 {
			shown = append(shown, s)
		}
		if len(shown) == maxShownNodes {
			break
		}
	}
	slices.Reverse(shown)
	return shown
}

// text returns a progress_state message. A graph of many nodes sends many long ones, so their entries are rendered once and then only
// copied: marshalling would read all of them again.
func (n *nodes) text(id job.PublicID) []byte {
	shown := shownOnce(n.listed())
	empty := text("progress_state", progressStateData{PromptID: id})
	size := len(empty)
	for _, s := range shown {
		if s.entry == nil {
			s.entry = s.renderEntry(id)
		}
		size += len(s.entry) + len(",")
	}
	const end = "}}}" // of the nodes, the data and the message
	b := append(make([]byte, 0, size), empty[:len(empty)-len(end)]...)
	for i, s := range shown {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, s.entry...)
	}
	return append(b, end...)
}

// shownOnce returns the nodes without those of versions for which another one is shown in the place of the node that called: one that
// runs, or the last.
func shownOnce(all []*nodeState) []*nodeState {
	chosen := map[string]*nodeState{}
	for _, s := range all {
		if s.within != nil && s.within.Class != "" {
			if other := chosen[s.within.Real]; other == nil || other.state != nodeRunning || s.state == nodeRunning {
				chosen[s.within.Real] = s
			}
		}
	}
	if len(chosen) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(s *nodeState) bool {
		return s.within != nil && s.within.Class != "" && chosen[s.within.Real] != s
	})
}

func (s *nodeState) renderEntry(id job.PublicID) []byte {
	shown, _ := s.within.Shown(s.id, s.class)
	key, err := json.Marshal(shown)
	if err != nil {
		panic(err) // a string always marshals
	}
	parent, display, root := s.within.Places(s.id)
	value, err := json.Marshal(nodeProgressData{
		Value: steps{s.value, s.reported}, Max: steps{s.max, s.reported}, State: s.state, NodeID: shown, PromptID: id,
		DisplayNodeID: display, ParentNodeID: parent, RealNodeID: root,
	})
	if err != nil {
		panic(err) // a plain struct always marshals
	}
	return append(append(key, ':'), value...)
}
