package activities

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	// maxOutputByJob bounds the UI outputs of all nodes of a job together, in bytes: texts and names of files. Every
	// view, poll and watcher of the job gets all of them, so a text of a megabyte in a thousand nodes would be a
	// gigabyte for each.
	maxOutputByJob = 8 << 20
	// maxOutputByNode bounds the UI output of one node, which is most of the event of its end.
	maxOutputByNode = eventlog.MaxEventBytes - 256<<10
	// fileBytes is the approximate size of the description of a saved file besides its names.
	fileBytes = 320
)

// outputSizes adds up the UI outputs of the nodes of a job. A node that runs again replaces its earlier output.
type outputSizes struct {
	mu     sync.Mutex // guards both below
	byNode map[string]int
	total  int
}

// add counts the UI output of a node, or refuses it.
func (s *outputSizes) add(id string, size int) error {
	if size > maxOutputByNode {
		return fault.New(fault.Exhausted, fault.CodeUIOutputTooLarge,
			"the UI output of the node, its texts and file names, has more than %d bytes", maxOutputByNode)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byNode == nil {
		s.byNode = map[string]int{}
	}
	if total := s.total - s.byNode[id] + size; total > maxOutputByJob {
		return fault.New(fault.Exhausted, fault.CodeUIOutputTooLarge,
			"the UI outputs of this job, its texts and file names, have more than %d bytes", maxOutputByJob)
	}
	s.total += size - s.byNode[id]
	s.byNode[id] = size
	return nil
}

// outputBytes is the approximate size of the event of a node's end.
func outputBytes(ui json.RawMessage, saved []job.OutputFile, log []string) int {
	size := len(ui)
	for _, f := range saved {
		size += fileBytes + len(f.Filename) + len(f.Subfolder) + len(f.ContentType)
	}
	for _, line := range log {
		size += len(line)
	}
	return size
}

// uiOutput encodes the UI output of a node and counts it. An output that is too large is Exhausted.
func (c *chain) uiOutput(id string, res node.Result, saved []job.OutputFile) (json.RawMessage, error) {
	var ui json.RawMessage
	if len(res.UI) > 0 {
		var err error
		if ui, err = json.Marshal(res.UI); err != nil {
			return nil, fmt.Errorf("encode the UI output of node %s: %w", id, err)
		}
	}
	return ui, c.plan.outputs.add(id, outputBytes(ui, saved, c.log.lines()))
}
