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
	// maxOutputByJob bounds what all nodes of a job show together: texts, and names of files. Every view of the
	// job, every poll and every watcher carries all of it, so a text of a megabyte that a thousand nodes
	// show would be a gigabyte to each of them.
	maxOutputByJob = 8 << 20
	// maxOutputByNode bounds what one node shows; the event of its end holds that and little more.
	maxOutputByNode = eventlog.MaxEventBytes - 256<<10
	// fileBytes is about what the description of a saved file takes beside its names.
	fileBytes = 320
)

// outputSizes adds up what the nodes of a job show. A node that runs again replaces what it showed before.
type outputSizes struct {
	mu     sync.Mutex // guards both below
	byNode map[string]int
	total  int
}

// take counts what a node shows, or refuses it.
func (s *outputSizes) take(id string, size int) error {
	if size > maxOutputByNode {
		return fault.New(fault.Exhausted, fault.CodeUIOutputTooLarge, "the node shows more than %d bytes of texts and file names", maxOutputByNode)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byNode == nil {
		s.byNode = map[string]int{}
	}
	if total := s.total - s.byNode[id] + size; total > maxOutputByJob {
		return fault.New(fault.Exhausted, fault.CodeUIOutputTooLarge, "the nodes of this job show more than %d bytes of texts and file names in all", maxOutputByJob)
	}
	s.total += size - s.byNode[id]
	s.byNode[id] = size
	return nil
}

// outputBytes is about what an event of a node's end takes.
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

// uiOutput encodes what a node shows and counts it; what is too much is Exhausted.
func (c *chain) uiOutput(id string, res node.Result, saved []job.OutputFile) (json.RawMessage, error) {
	var ui json.RawMessage
	if len(res.UI) > 0 {
		var err error
		if ui, err = json.Marshal(res.UI); err != nil {
			return nil, fmt.Errorf("encode what node %s shows: %w", id, err)
		}
	}
	return ui, c.plan.outputs.take(id, outputBytes(ui, saved, c.log.lines()))
}
