package fanout

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

// room is what is known about one account's unfinished jobs. It is pure: facts and
// frames in, messages out. Its owner serialises the calls.
type room struct {
	jobs   map[job.ID]*watched
	rename bool // exception types become those of the self-hosted runtime

	packing map[export.ID]bool // exports that the log says are being packed: progress before and after says nothing
}

func newRoom(rename bool) *room {
	return &room{jobs: map[job.ID]*watched{}, rename: rename, packing: map[export.ID]bool{}}
}

// apply folds a fact and returns what watchers learn from it, in order. Facts that are
// already folded, or that belong to a job whose beginning is unknown, say nothing.
func (r *room) apply(rec eventlog.Recorded, data any) []*stream.Message {
	id, ok := job.IDOfStream(rec.Stream)
	if !ok {
		return nil
	}
	w := r.jobs[id]
	if w == nil {
		if rec.Version != 1 {
			return nil
		}
		w = &watched{nodes: newNodes(), rename: r.rename}
		r.jobs[id] = w
	}
	if rec.Version <= w.job.Version {
		return nil
	}
	w.job = job.Fold(w.job, rec, data)
	if w.job.State.Final() {
		delete(r.jobs, id)
	}
	return w.stamp(w.tell(data, rec.RecordedAt, len(r.jobs)))
}

// adopt takes over a job from its folded state; it must not have begun to run.
func (r *room) adopt(j job.Job) { r.jobs[j.ID] = &watched{job: j, nodes: newNodes(), rename: r.rename} }

// frame returns what watchers learn from a live frame: nothing, unless the node runs. One that overtook the
// fact of its run's start waits for it.
func (r *room) frame(f stream.Frame) []*stream.Message {
	w := r.jobs[f.Job]
	switch {
	case w == nil:
		return nil
	case f.Run > w.begun:
		w.held.keep(f)
		return nil
	case w.job.State != job.Running || w.job.Run != f.Run:
		return nil
	}
	return w.frame(f)
}

// snapshot returns the state of the room: of the jobs that have begun, in run order. Nothing has been said
// yet of those that wait, and there may be thousands.
func (r *room) snapshot() stream.Snapshot {
	snap := stream.Snapshot{Remaining: len(r.jobs)}
	for _, w := range r.jobs {
		if w.job.State == job.Queued {
			continue
		}
		snap.Jobs = append(snap.Jobs, stream.Live{
			Job: w.job, LastNode: w.lastShown(), Progress: w.progress(), Preview: w.preview,
		})
	}
	slices.SortFunc(snap.Jobs, func(a, b stream.Live) int { return inRunOrder(a.Job, b.Job) })
	return snap
}

// lastShown is the node reported as executing last, as clients that come back are shown it.
func (w *watched) lastShown() string {
	if n := w.nodes.byID[w.last]; n != nil {
		_, display, _ := n.within.Places(w.last)
		return display
	}
	return w.last
}

func inRunOrder(a, b job.Job) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), a.SubmittedAt.Compare(b.SubmittedAt), cmp.Compare(a.ID, b.ID))
}

// watched is one unfinished job as its watchers have been told about it.
type watched struct {
	job     job.Job
	nodes   nodes
	begun   int    // the run that was told to have started last
	last    string // the node reported as executing last
	cached  bool   // execution_cached was sent in this run
	high    float64
	preview *stream.Message
	held    held
	rename  bool
}

// tell returns the messages of a fact that has just been folded (cloud facts, section 8,
// "Order"). remaining is the number of the account's unfinished jobs.
func (w *watched) tell(data any, at time.Time, remaining int) []*stream.Message {
	switch e := data.(type) {
	case job.SubmittedV1:
		return []*stream.Message{status(remaining)}
	case job.AdmittedV1:
		return []*stream.Message{w.say("notification", notificationData{"Your workflow has a slot and starts now.", w.job.ID})}
	case job.StartedV1:
		return w.startRun(e, at, remaining)
	case job.NodesCachedV1:
		return w.cachedNodes(e.Run, e.Nodes, at)
	case job.NodeStartedV1:
		if e.Run == w.job.Run {
			return w.startNode(e, at)
		}
	case job.NodeExecutedV1:
		if e.Run == w.job.Run {
			return w.endNode(e, at)
		}
	case job.SucceededV1:
		return w.endRun(remaining, w.say("execution_success", lifecycleData{w.job.ID, at.UnixMilli()}))
	case job.FailedV1:
		return w.endRun(remaining, w.say("execution_error", executionError(w.failed(), at)))
	case job.CanceledV1, job.ExpiredV1:
		return w.endRun(remaining, w.interrupted(at)...)
	}
	return nil
}

// failed returns the job as its failure is told.
func (w *watched) failed() job.Job {
	j := w.job
	if w.rename {
		j.Error = j.Error.InRuntimeNames()
	}
	return j
}

func (w *watched) startRun(e job.StartedV1, at time.Time, remaining int) []*stream.Message {
	if e.Run != w.job.Run {
		return nil
	}
	w.nodes, w.cached, w.last, w.preview = newNodes(), false, "", nil
	w.begun = e.Run
	w.held.begin(e.Run)
	return []*stream.Message{status(remaining), w.say("execution_start", lifecycleData{w.job.ID, at.UnixMilli()})}
}

func (w *watched) cachedNodes(run int, ids []string, at time.Time) []*stream.Message {
	if run != w.job.Run || w.cached {
		return nil
	}
	w.cached = true
	return []*stream.Message{w.say("execution_cached", cachedData{list(ids), w.job.ID, at.UnixMilli()})}
}

// startNode announces a node, and what its worker already showed of it. execution_cached
// comes before every node, also where no fact said so.
func (w *watched) startNode(e job.NodeStartedV1, at time.Time) []*stream.Message {
	messages := w.cachedNodes(w.job.Run, nil, at)
	w.nodes.begin(e.Node, e.Class, e.Attempt).within = e.Within
	w.last = e.Node
	_, display, _ := e.Within.Places(e.Node)
	messages = append(messages, w.progressState(), w.say("executing", executingData{e.Node, display, w.job.ID}))
	for _, f := range w.held.take(e.Node) {
		messages = append(messages, w.frame(f)...)
	}
	return messages
}

func (w *watched) endNode(e job.NodeExecutedV1, at time.Time) []*stream.Message {
	messages := w.cachedNodes(w.job.Run, nil, at)
	if !e.Cached && w.nodes.running(e.Node) == nil {
		messages = append(messages, w.startNode(job.NodeStartedV1{Node: e.Node, Class: e.Class, Within: e.Within}, at)...)
	}
	if e.Blocked != "" {
		messages = append(messages, w.say("execution_error", blockage(w.job, e, at)))
	}
	if len(e.UI) > 0 {
		_, display, _ := e.Within.Places(e.Node)
		messages = append(messages, w.say("executed", executedData{e.Node, display, e.UI, w.job.ID}))
	}
	if e.Cached && len(e.UI) == 0 {
		return messages // a cached node in the middle is listed in execution_cached only
	}
	w.nodes.finish(e.Node, e.Class)
	w.held.drop(e.Node)
	if w.preview != nil && w.preview.Frame.Node == e.Node {
		w.preview = nil
	}
	return append(messages, w.progressState())
}

// endRun ends a job: the verdict first, then the shorter queue, and last that nothing
// executes any more. A job that never began to run only leaves the queue; but a failure is always told.
func (w *watched) endRun(remaining int, verdict ...*stream.Message) []*stream.Message {
	messages := append(verdict, status(remaining))
	if w.job.StartedAt != nil {
		messages = append(messages, w.say("executing", overData{nil, w.job.ID}))
	}
	return messages
}

func (w *watched) interrupted(at time.Time) []*stream.Message {
	if w.job.StartedAt == nil || w.job.State != job.Canceled {
		return nil
	}
	m := w.say("execution_interrupted", interruption(w.job, at))
	m.Broadcast = true
	return []*stream.Message{m}
}

// frame returns the messages of a live frame of this run. One that overtook the fact of
// its node's start waits for it; one whose node has ended is dropped.
func (w *watched) frame(f stream.Frame) []*stream.Message {
	n := w.nodes.byID[f.Node]
	switch {
	case n == nil:
		w.held.keep(f)
		return nil
	case n.state != nodeRunning || f.Attempt < n.attempt:
		return nil
	}
	n.attempt, f.Within = f.Attempt, n.within
	if f.Kind != stream.FrameProgress {
		return []*stream.Message{w.show(f)}
	}
	if !n.advance(f.Value, f.Max) {
		return nil
	}
	m := w.say("progress", progressData{f.Value, f.Max, w.job.ID, f.Node})
	m.Progress = w.progress()
	return []*stream.Message{w.progressState(), m}
}

func (w *watched) show(f stream.Frame) *stream.Message {
	m := &stream.Message{Job: w.job.ID, ClientID: w.job.ClientID, Frame: &f, Broadcast: f.Kind == stream.FrameText}
	if f.Kind == stream.FramePreview {
		w.preview = m
	}
	return m
}

// progress returns the job's progress, which never falls.
func (w *watched) progress() *stream.Progress {
	p := stream.ProgressOf(w.job, w.last, w.nodes.steps())
	if p != nil {
		w.high = max(w.high, p.Value)
		p.Value = w.high
	}
	return p
}

// stamp adds the job's new state to the last message, so that adapters that render
// states and not messages follow in the same order.
func (w *watched) stamp(messages []*stream.Message) []*stream.Message {
	if len(messages) == 0 {
		messages = []*stream.Message{{ClientID: w.job.ClientID}}
	}
	last := messages[len(messages)-1]
	state := w.job
	last.Job, last.State, last.Progress = w.job.ID, &state, w.progress()
	return messages
}

func (w *watched) progressState() *stream.Message {
	return w.say("progress_state", progressStateData{w.job.ID, w.nodes.render(w.job.ID)})
}

func (w *watched) say(kind string, data any) *stream.Message {
	return &stream.Message{Job: w.job.ID, ClientID: w.job.ClientID, Text: text(kind, data)}
}

func status(remaining int) *stream.Message {
	return &stream.Message{Broadcast: true, Text: StatusText(remaining, "")}
}
