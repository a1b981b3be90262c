package activities

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// segmentStory records what happens to the nodes of a segment in one attempt. It implements driving.Story.
type segmentStory struct {
	*segmentRun
	attempt int
	began   time.Time
	ended   map[string]bool // nodes whose end is recorded
}

var _ driving.Story = (*segmentStory)(nil)

// begin records where the segment runs, and learns what earlier attempts recorded.
func (s *segmentStory) begin(ctx context.Context, l server.Lease, row *server.Server) error {
	s.began = time.Now()
	state, err := s.g.foldJob(ctx, s.params.RunRef)
	if err != nil {
		return err
	}
	for _, id := range state.Executed {
		s.ended[id] = true
	}
	for _, id := range state.Cached {
		s.ended[id] = true
	}
	nodes := s.pn.Segment.Nodes
	fact := job.SegmentPlacedV1{
		Run: s.params.Run, Segment: s.unit, Count: len(nodes), Attempt: l.Attempt, Server: string(l.Server), URL: row.URL,
		Prompt: l.Prompt(l.Attempt).String(), Fence: l.Fence, Reason: l.Reason,
	}
	for i := range nodes[:min(len(nodes), job.SegmentNodes)] {
		fact.Nodes = append(fact.Nodes, nodes[i].ID)
	}
	s.facts.addNth(s.pn.ID, l.Attempt-1, job.TypeSegmentPlaced, fact)
	return s.facts.flush(ctx)
}

// end adds how the attempt ended; it is appended with what follows.
func (s *segmentStory) end(_ context.Context, l server.Lease, row *server.Server, outcome string, cause error) {
	fact := job.SegmentEndedV1{
		Run: s.params.Run, Segment: s.unit, Node: s.pn.Segment.Nodes[0].ID, Attempt: l.Attempt, Server: string(l.Server), URL: row.URL,
		Millis: time.Since(s.began).Milliseconds(), Outcome: outcome,
	}
	if cause != nil {
		fact.Problem = withoutPaths(cause.Error())
		if len(fact.Problem) > maxSegmentProblem {
			fact.Problem = fact.Problem[:maxSegmentProblem] + "…"
		}
	}
	s.facts.addNth(s.pn.ID, l.Attempt-1, job.TypeSegmentEnded, fact)
}

// maxSegmentProblem bounds what is recorded of why an attempt ended.
const maxSegmentProblem = 500

// Recorded implements driving.Story.
func (s *segmentStory) Recorded(id string) bool { return s.ended[id] }

func (s *segmentStory) class(id string) string {
	for i := range s.pn.Segment.Nodes {
		if s.pn.Segment.Nodes[i].ID == id {
			return s.pn.Segment.Nodes[i].Class
		}
	}
	return ""
}

// Started implements driving.Story.
func (s *segmentStory) Started(ctx context.Context, id string) error {
	s.current, s.log = &job.NodeRef{Node: id, Class: s.class(id)}, &nodeLog{}
	s.facts.addNth(id, s.attempt-1, job.TypeNodeStarted, job.NodeStartedV1{Run: s.params.Run, Node: id, Class: s.class(id), Attempt: s.attempt})
	return s.facts.flushIfDue(ctx, false)
}

// Cached implements driving.Story.
func (s *segmentStory) Cached(ctx context.Context, ids []string) error {
	s.facts.addNth(s.pn.ID, s.attempt-1, job.TypeNodesCached, job.NodesCachedV1{Run: s.params.Run, Nodes: ids, More: true})
	return s.facts.flushIfDue(ctx, false)
}

// Executed implements driving.Story.
func (s *segmentStory) Executed(ctx context.Context, e driving.Executed) error {
	if s.log == nil {
		s.log = &nodeLog{}
	}
	files := s.g.Files(s.params.RunRef, e.Node)
	if len(e.Files) == 0 {
		if err := s.saveTexts(ctx, e.UI, files); err != nil {
			return err
		}
		e.Files = files.Saved()
	}
	ui, err := s.uiOutput(e.Node, node.Result{UI: e.UI}, e.Files)
	if err != nil {
		return err
	}
	s.facts.add(e.Node, job.TypeNodeExecuted, job.NodeExecutedV1{
		Run: s.params.Run, Node: e.Node, Class: s.class(e.Node), UI: ui, Files: e.Files, Millis: e.Took.Milliseconds(), Log: s.log.lines(), Cached: e.Cached,
	})
	return s.facts.flushIfDue(ctx, len(e.Files) > 0)
}

// Settle implements driving.Story.
func (s *segmentStory) Settle(ctx context.Context) error { return s.facts.flushIfDue(ctx, true) }

// frames publishes the frames of a node; the log says that it runs before watchers are shown any.
func (s *segmentStory) frames(id string) *live {
	return &live{ctx: context.Background(), chain: s.chain, node: id, announced: true, attempt: s.attempt}
}

// Progress implements driving.Story.
func (s *segmentStory) Progress(id string, value, most int) { s.frames(id).Progress(value, most) }

// Preview implements driving.Story.
func (s *segmentStory) Preview(id, contentType string, data []byte) {
	s.frames(id).Preview(contentType, data)
}

// Text implements driving.Story.
func (s *segmentStory) Text(id, text string) { s.frames(id).Text(text) }
