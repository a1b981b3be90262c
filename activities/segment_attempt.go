package activities

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
)

// segmentAttempt is one attempt to run a segment, under a lease. It records the events of the nodes and implements
// driving.Recorder.
type segmentAttempt struct {
	*segmentRun
	lease   server.Lease
	row     *server.Server
	srv     comfyui.Server
	shown   []nodecache.Shown
	loading time.Duration  // run time of the nodes that load models
	freedAt time.Time      // when the prompt ended
	made    []comfyui.File // files of the prompt on its server of which the account has copies

	ended   map[string]bool      // nodes whose end earlier attempts, or drivers, recorded
	past    []job.SegmentEndedV1 // earlier attempts that were given up
	running string               // the node that an earlier driver of this attempt saw run, or ""
}

var _ driving.Recorder = (*segmentAttempt)(nil)

// begin adds the event of the segment's server, which is recorded with its first node, and reads what earlier
// attempts recorded.
func (s *segmentAttempt) begin(ctx context.Context) error {
	l := s.lease
	if s.ended = map[string]bool{}; !l.Fresh || l.Attempt > 1 {
		if err := s.readPast(ctx); err != nil {
			return err
		}
	}
	nodes := s.pn.Segment.Nodes
	event := job.SegmentPlacedV1{
		Run: s.params.Run, Segment: s.unit, Count: len(nodes), Attempt: l.Attempt, Server: string(l.Server), URL: s.row.URL,
		Prompt: l.Prompt(l.Attempt).String(), Fence: l.Fence, Reason: l.Reason,
	}
	for i := range nodes[:min(len(nodes), job.SegmentNodes)] {
		event.Nodes = append(event.Nodes, nodes[i].ID)
	}
	s.events.addNth(s.pn.ID, l.Attempt-1, job.TypeSegmentPlaced, event)
	return nil
}

// readPast reads from the log what earlier attempts and drivers of the segment recorded.
func (s *segmentAttempt) readPast(ctx context.Context) error {
	events := eventlog.Read(ctx, s.g.Events, s.params.Job.Stream(), 0)
	_, err := eventlog.Fold(s.g.Types, events, s, func(s *segmentAttempt, _ eventlog.Recorded, data any) *segmentAttempt {
		switch e := data.(type) {
		case job.NodesCachedV1:
			for _, id := range e.Nodes {
				s.ended[id] = s.ended[id] || e.Run == s.params.Run
			}
		case job.NodeExecutedV1:
			s.ended[e.Node] = s.ended[e.Node] || e.Run == s.params.Run
		case job.NodeStartedV1:
			if _, _, root := e.Within.Places(e.Node); e.Run == s.params.Run && e.Attempt == s.lease.Attempt && s.classOf(root) != "" {
				s.running = root
			}
		case job.SegmentEndedV1:
			// A driver that was lost may have recorded the end of this attempt: it decides nothing for the driver that continues it.
			if e.Run == s.params.Run && e.Segment == s.unit && e.Outcome == job.SegmentGivenUp && e.Attempt < s.lease.Attempt {
				s.past = append(s.past, e)
			}
		}
		return s
	})
	if err != nil {
		return fmt.Errorf("read the earlier attempts of a segment of job %s: %w", s.params.Job, err)
	}
	for _, p := range s.past { // the wait of a new driver lacks what earlier drivers decided
		switch id := server.ID(p.Server); p.Cause {
		case job.MachineFailed, job.ServerLost, job.NodeHung, job.OutputRefused, job.NotBegun:
			if !slices.Contains(s.wait.Avoid, id) {
				s.wait.Avoid = append(s.wait.Avoid, id)
			}
		case job.NoMemory, job.PromptRefused, job.FileMissing, job.Interrupted:
		}
	}
	if s.lease.Fresh {
		s.running = "" // no driver has followed this prompt
	}
	return nil
}

// freeServer frees the server for another segment while the outputs of this one are copied.
func (s *segmentAttempt) freeServer() {
	s.freedAt = time.Now()
	s.Pool.Vacate(s.lease)
}

// used returns how long the segment occupied its slot on the server.
func (s *segmentAttempt) used() time.Duration {
	if s.freedAt.IsZero() {
		return max(0, time.Since(s.lease.Since))
	}
	return max(0, s.freedAt.Sub(s.lease.Since))
}

// end adds the event of the attempt's end, which is appended with the next events. why and ran are those of an attempt that was
// given up.
func (s *segmentAttempt) end(outcome string, why job.Cause, ran string, cause error) {
	event := job.SegmentEndedV1{
		Run: s.params.Run, Segment: s.unit, Node: s.pn.Segment.Nodes[0].ID, Attempt: s.lease.Attempt, Server: string(s.lease.Server),
		URL: s.row.URL, Millis: s.used().Milliseconds(), Outcome: outcome, Price: s.row.Price, Cause: why, Ran: ran,
	}
	if cause != nil {
		event.Problem = s.problem(cause)
	}
	s.events.addNth(s.pn.ID, s.lease.Attempt-1, job.TypeSegmentEnded, event)
}

// problem returns the reason why an attempt ended, as it is recorded.
func (s *segmentAttempt) problem(cause error) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) { // PostgreSQL refuses NUL
			return ' '
		}
		return r
	}, comfyui.WithoutPaths(cause.Error()))
	return fault.Shorten(text, maxSegmentProblem)
}

// maxSegmentProblem bounds the recorded reason why an attempt ended.
const maxSegmentProblem = 500

// Recorded implements driving.Recorder.
func (s *segmentAttempt) Recorded(id string) bool { return s.ended[id] }

// classOf returns the class of a node of the graph. Servers do not report the classes of nodes of expansions.
func (s *segmentRun) classOf(id string) string {
	for i := range s.pn.Segment.Nodes {
		if s.pn.Segment.Nodes[i].ID == id {
			return s.pn.Segment.Nodes[i].Class
		}
	}
	return ""
}

// Started implements driving.Recorder.
func (s *segmentAttempt) Started(ctx context.Context, id string, within *job.Expansion) error {
	_, _, root := within.Places(id)
	s.current, s.log = &job.NodeRef{Node: root, Class: s.classOf(root)}, &nodeLog{}
	s.events.addNth(id, s.lease.Attempt-1, job.TypeNodeStarted,
		job.NodeStartedV1{Run: s.params.Run, Node: id, Class: s.classOf(id), Attempt: s.lease.Attempt, Within: within})
	return s.events.flushIfDue(ctx, false)
}

// Cached implements driving.Recorder.
func (s *segmentAttempt) Cached(ctx context.Context, ids []string) error {
	s.events.addNth(s.pn.ID, s.lease.Attempt-1, job.TypeNodesCached, job.NodesCachedV1{Run: s.params.Run, Nodes: ids, More: true})
	return s.events.flushIfDue(ctx, false)
}

// Executed implements driving.Recorder.
func (s *segmentAttempt) Executed(ctx context.Context, e driving.Executed) error {
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
		s.shown = append(s.shown, nodecache.Shown{Node: e.Node, Class: s.classOf(e.Node), UI: ui, Files: e.Files, Within: e.Within})
	}
	s.events.add(e.Node, job.TypeNodeExecuted, job.NodeExecutedV1{
		Run: s.params.Run, Node: e.Node, Class: s.classOf(e.Node), UI: ui, Files: e.Files, Millis: e.Took.Milliseconds(), Log: s.log.lines(),
		Cached: e.Cached, Within: e.Within,
	})
	return s.events.flushIfDue(ctx, false)
}

// loads reports whether a node loads models.
func (s *segmentAttempt) loads(id string) bool {
	for i := range s.pn.Segment.Nodes {
		if n := &s.pn.Segment.Nodes[i]; n.ID == id {
			return len(s.Pool.Models(n.Class, n.Constants)) > 0
		}
	}
	return false
}

// measure records how long loading the models took, if the server did not have them in memory, and that the server works again.
func (s *segmentAttempt) measure(ctx context.Context) {
	l, store := s.lease, s.Pool.Store()
	var err error
	if _, now, e := s.Pool.Server(l.Server); e == nil && now.Failing != nil {
		err = store.RecordOutcome(ctx, l.Server, server.Outcome{Job: l.Job})
	}
	if !s.row.HasLoaded(l.Models) {
		s.loading = max(s.loading, time.Millisecond) // the server had cached them: another prompt had loaded the models
		err = errors.Join(err, store.Loaded(ctx, l.Server, l.Models, s.loading))
	}
	if err != nil && ctx.Err() == nil {
		s.g.Log.Warn("outcome on a server not recorded", "server", s.row.URL, "error", err)
	}
}

// Flush implements driving.Recorder.
func (s *segmentAttempt) Flush(ctx context.Context) error { return s.events.flushIfDue(ctx, true) }

// frames publishes the frames of a node. The start of the node is recorded before its first frame.
func (s *segmentAttempt) frames(id string) *live {
	return &live{ctx: context.Background(), chain: s.chain, node: id, announced: true, attempt: s.lease.Attempt}
}

// Progress implements driving.Recorder.
func (s *segmentAttempt) Progress(id string, value, most int) { s.frames(id).Progress(value, most) }

// Preview implements driving.Recorder.
func (s *segmentAttempt) Preview(id, contentType string, data []byte) {
	s.frames(id).Preview(contentType, data)
}

// Text implements driving.Recorder.
func (s *segmentAttempt) Text(id, text string) { s.frames(id).Text(text) }

// Message implements driving.Recorder. The message names the job, not the prompt on the server.
func (s *segmentAttempt) Message(id, kind string, data []byte) {
	prompt := []byte(s.lease.Prompt(s.lease.Attempt).String())
	s.frames(id).message(kind, bytes.ReplaceAll(data, prompt, []byte(s.params.Job)))
}

// Picture implements driving.Recorder.
func (s *segmentAttempt) Picture(id, contentType string, data []byte) {
	if len(data) <= stream.MaxPicture {
		s.frames(id).Picture(contentType, data)
	}
}
