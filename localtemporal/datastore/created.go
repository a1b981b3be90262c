package datastore

import (
	"sync"

	"go.temporal.io/server/common/persistence"
)

// mostCreated bounds the states of one generation. A state is a few kilobytes, and is mostly read within milliseconds.
const mostCreated = 256

// run identifies a run of a workflow.
type run struct {
	shard                    int32
	namespace, workflow, run string
}

// created caches the states of workflows that were created and not read or written since. A state that newer ones push
// out is read from the database.
type created struct {
	mutex      sync.Mutex // guards both
	young, old map[run]*persistence.InternalWorkflowMutableState
}

// begin announces that the state of a run is about to be written.
func (c *created) begin(r run) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.young) >= mostCreated || c.young == nil {
		c.young, c.old = map[run]*persistence.InternalWorkflowMutableState{}, c.young
	}
	c.young[r] = nil
}

// keep caches a written state, unless the run was read or written since begin.
func (c *created) keep(r run, state *persistence.InternalWorkflowMutableState) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, generation := range []map[run]*persistence.InternalWorkflowMutableState{c.young, c.old} {
		if _, expected := generation[r]; expected {
			generation[r] = state
		}
	}
}

// take returns the state of a run and forgets it; nil = the state must be read from the database.
func (c *created) take(r run) *persistence.InternalWorkflowMutableState {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	state := c.young[r]
	if state == nil {
		state = c.old[r]
	}
	delete(c.young, r)
	delete(c.old, r)
	return state
}

func (c *created) forget(r run) { c.take(r) }

func (c *created) forgetAll() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.young, c.old = nil, nil
}
