package activities

import (
	"context"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// segmentRecorder records the events of the nodes of a segment in one attempt. It implements driving.Recorder.
type segmentRecorder struct {
	*segmentRun
	attempt int
	ended   map[string]bool // nodes whose end was recorded by earlier attempts
	shown   []nodecache.Shown
	loading time.Duration // run time of the nodes that load models
	freedAt time.Time     // when the prompt ended
}

var _ driving.Recorder = (*segmentRecorder)(nil)

// begin adds the event of the segment's server, which is recorded with its first node, and reads what earlier
// attempts recorded.
func (s *segmentRecorder) begin(ctx context.Context, l server.Lease, row *server.Server) error {
	if !l.Fresh || l.Attempt > 1 {
		state, err := s.g.foldJob(ctx, s.params.RunRef)
		if err != nil {
			return err
		}
		for _, id := range slices.Concat(state.Executed, state.Cached) {
			s.ended[id] = true
		}
	}
	nodes := s.pn.Segment.Nodes
	event := job.SegmentPlacedV1{
		Run: s.params.Run, Segment: s.unit, Count: len(nodes), Attempt: l.Attempt, Server: string(l.Server), URL: row.URL,
		Prompt: l.Prompt(l.Attempt).String(), Fence: l.Fence, Reason: l.Reason,
	}
	for i := range nodes[:min(len(nodes), job.SegmentNodes)] {
		event.Nodes = append(event.Nodes, nodes[i].ID)
	}
	s.events.addNth(s.pn.ID, l.Attempt-1, job.TypeSegmentPlaced, event)
	return nil
}

// freeServer frees the server for another segment while the outputs of this one are copied.
func (s *segmentRecorder) freeServer(l server.Lease) {
	s.freedAt = time.Now()
	s.Pool.Vacate(l)
}

// used returns how long the segment occupied its slot on the server.
func (s *segmentRecorder) used(l server.Lease) time.Duration {
	if s.freedAt.IsZero() {
		return max(0, time.Since(l.Since))
	}
	return max(0, s.freedAt.Sub(l.Since))
}

// end adds the event of the attempt's end, which is appended with the next events.
func (s *segmentRecorder) end(_ context.Context, l server.Lease, row *server.Server, outcome string, cause error) {
	event := job.SegmentEndedV1{
		Run: s.params.Run, Segment: s.unit, Node: s.pn.Segment.Nodes[0].ID, Attempt: l.Attempt, Server: string(l.Server), URL: row.URL,
		Millis: s.used(l).Milliseconds(), Outcome: outcome, Price: row.Price,
	}
	if cause != nil {
		event.Problem = withoutPaths(cause.Error())
		if len(event.Problem) > maxSegmentProblem {
			event.Problem = event.Problem[:maxSegmentProblem] + "…"
		}
	}
	s.events.addNth(s.pn.ID, l.Attempt-1, job.TypeSegmentEnded, event)
}

// maxSegmentProblem bounds the recorded reason why an attempt ended.
const maxSegmentProblem = 500

// Recorded implements driving.Recorder.
func (s *segmentRecorder) Recorded(id string) bool { return s.ended[id] }

// class returns the class of a node of the graph. Servers do not report the classes of nodes of expansions.
func (s *segmentRecorder) class(id string) string {
	for i := range s.pn.Segment.Nodes {
		if s.pn.Segment.Nodes[i].ID == id {
			return s.pn.Segment.Nodes[i].Class
		}
	}
	return ""
}

// Started implements driving.Recorder.
func (s *segmentRecorder) Started(ctx context.Context, id string, within *job.Expansion) error {
	_, _, root := within.Places(id)
	s.current, s.log = &job.NodeRef{Node: root, Class: s.class(root)}, &nodeLog{}
	s.events.addNth(id, s.attempt-1, job.TypeNodeStarted,
		job.NodeStartedV1{Run: s.params.Run, Node: id, Class: s.class(id), Attempt: s.attempt, Within: within})
	return s.events.flushIfDue(ctx, false)
}

// Cached implements driving.Recorder.
func (s *segmentRecorder) Cached(ctx context.Context, ids []string) error {
	s.events.addNth(s.pn.ID, s.attempt-1, job.TypeNodesCached, job.NodesCachedV1{Run: s.params.Run, Nodes: ids, More: true})
	return s.events.flushIfDue(ctx, false)
}

// Executed implements driving.Recorder.
func (s *segmentRecorder) Executed(ctx context.Context, e driving.Executed) error {
	if s.log == nil {
		s.log = &nodeLog{}
	}
	if s.loads(e.Node) {
		s.loading += e.Took
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
	if len(ui) > 0 {
		s.shown = append(s.shown, nodecache.Shown{Node: e.Node, Class: s.class(e.Node), UI: ui, Files: e.Files, Within: e.Within})
	}
	s.events.add(e.Node, job.TypeNodeExecuted, job.NodeExecutedV1{
		Run: s.params.Run, Node: e.Node, Class: s.class(e.Node), UI: ui, Files: e.Files, Millis: e.Took.Milliseconds(), Log: s.log.lines(),
		Cached: e.Cached, Within: e.Within,
	})
	return s.events.flushIfDue(ctx, false)
}

// loads reports whether a node loads models.
func (s *segmentRecorder) loads(id string) bool {
	for i := range s.pn.Segment.Nodes {
		if n := &s.pn.Segment.Nodes[i]; n.ID == id {
			return len(s.Pool.Models(n.Class, n.Constants)) > 0
		}
	}
	return false
}

// measure records how long loading the models took, if the server did not have them in memory.
func (s *segmentRecorder) measure(ctx context.Context, l server.Lease, row *server.Server) {
	if len(l.Models) == 0 || row.HasLoaded(l.Models) {
		return
	}
	s.loading = max(s.loading, time.Millisecond) // the server had cached them: another prompt had loaded the models
	if err := s.Pool.Store().Loaded(ctx, l.Server, l.Models, s.loading); err != nil && ctx.Err() == nil {
		s.g.Log.Warn("time of loading models not recorded", "server", row.URL, "error", err)
	}
}

// Flush implements driving.Recorder.
func (s *segmentRecorder) Flush(ctx context.Context) error { return s.events.flushIfDue(ctx, true) }

// frames publishes the frames of a node. The start of the node is recorded before its first frame.
func (s *segmentRecorder) frames(id string) *live {
	return &live{ctx: context.Background(), chain: s.chain, node: id, announced: true, attempt: s.attempt}
}

// Progress implements driving.Recorder.
func (s *segmentRecorder) Progress(id string, value, most int) { s.frames(id).Progress(value, most) }

// Preview implements driving.Recorder.
func (s *segmentRecorder) Preview(id, contentType string, data []byte) {
	s.frames(id).Preview(contentType, data)
}

// Text implements driving.Recorder.
func (s *segmentRecorder) Text(id, text string) { s.frames(id).Text(text) }
