package fanout

import (
	"bytes"
	"cmp"
	ordered "container/list"
	"encoding/json"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

// accountState is the state of one account's unfinished jobs. Its methods take events and
// frames and return messages; they do no I/O. It is not safe for concurrent use.
type accountState struct {
	jobs     map[job.ID]*watchedJob
	previews *previews // of all accounts
	rename   bool      // exception types become those of the self-hosted runtime
	ended    []job.Job // that have just ended, oldest first

	tasks map[task.ID]bool // exports and downloads that have started; progress of others is dropped
}

func newAccountState(rename bool, kept *previews) *accountState {
	return &accountState{
		jobs: map[job.ID]*watchedJob{}, previews: kept, rename: rename, tasks: map[task.ID]bool{},
	}
}

// apply folds an event and returns its messages, in order. It returns none for an event that
// is already folded, or that belongs to a job whose first event is not known.
func (a *accountState) apply(rec eventlog.Recorded, data any) []*stream.Message {
	id, ok := job.IDOfStream(rec.Stream)
	if !ok {
		return nil
	}
	w := a.jobs[id]
	if w == nil {
		if rec.Version != 1 {
			return nil
		}
		w = &watchedJob{nodes: newNodes(), previews: a.previews, rename: a.rename}
		a.jobs[id] = w
	}
	if rec.Version <= w.job.Version {
		return nil
	}
	w.job = job.Fold(w.job, rec, data)
	if w.job.State.Final() {
		delete(a.jobs, id)
		a.previews.drop(w)
		a.remember(w.job)
	}
	return w.stamp(w.messages(data, rec.RecordedAt, len(a.jobs)))
}

// adopt adds a job from its folded state. The job must not have been admitted.
func (a *accountState) adopt(j job.Job) {
	a.jobs[j.ID] = &watchedJob{job: j, nodes: newNodes(), previews: a.previews, rename: a.rename}
}

const (
	// endedWithin is how long the last messages of a job are repeated to clients that connect after its end.
	endedWithin = time.Minute
	// maxEnded bounds the jobs of an account whose last messages are repeated.
	maxEnded = 64
)

// remember keeps a job that has ended for clients that connect after its end.
func (a *accountState) remember(j job.Job) {
	if j.ClientID == "" || j.EndedAt == nil {
		return
	}
	a.ended = append(a.ended, j)
	a.ended = slices.Delete(a.ended, 0, max(0, len(a.ended)-maxEnded))
}

// farewells returns the last messages of the jobs that have just ended.
func (a *accountState) farewells() (all []*stream.Message) {
	a.ended = slices.DeleteFunc(a.ended, func(j job.Job) bool { return time.Since(*j.EndedAt) > endedWithin })
	for _, j := range a.ended {
		w := &watchedJob{job: j, rename: a.rename}
		all = append(append(all, w.verdict(*j.EndedAt)...), w.over()...)
	}
	return all
}

// frame returns the messages of a live frame: none, unless the node is running. A frame that arrives before
// the event that starts its run is buffered until that event.
func (a *accountState) frame(f stream.Frame) []*stream.Message {
	w := a.jobs[f.Job]
	switch {
	case w == nil:
		return nil
	case f.Run > w.startedRun:
		w.buffer.add(f)
		return nil
	case w.job.State != job.Running || w.job.Run != f.Run:
		return nil
	}
	return w.frame(f)
}

// snapshot returns the state of the account's jobs that have begun, in run order. It leaves out queued jobs,
// of which there may be thousands: no message has been sent about them yet.
func (a *accountState) snapshot() stream.Snapshot {
	snap := stream.Snapshot{Remaining: len(a.jobs), Ended: a.farewells()}
	for _, w := range a.jobs {
		if w.job.State == job.Queued {
			continue
		}
		snap.Jobs = append(snap.Jobs, stream.Live{
			Job: w.job, LastNode: w.lastNode(), Progress: w.progress(), Preview: w.preview,
		})
	}
	slices.SortFunc(snap.Jobs, func(a, b stream.Live) int { return inRunOrder(a.Job, b.Job) })
	return snap
}

// lastNode returns the display id of the node last reported as executing, for clients that reconnect.
func (w *watchedJob) lastNode() string {
	if n := w.nodes.byID[w.executing]; n != nil {
		_, display, _ := n.within.Places(w.executing)
		return display
	}
	return w.executing
}

func inRunOrder(a, b job.Job) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), a.SubmittedAt.Compare(b.SubmittedAt), cmp.Compare(a.ID, b.ID))
}

// watchedJob is one unfinished job, and what the messages sent so far said about it.
type watchedJob struct {
	job        job.Job
	nodes      nodes
	startedRun int    // the last run whose start was published
	executing  string // the node last reported as executing
	cached     bool   // execution_cached was sent in this run
	high       float64
	buffer     frameBuffer
	rename     bool

	previews *previews // which keeps the two fields below
	preview  *stream.Message
	element  *ordered.Element
}

// messages returns the messages of an event that has just been folded, in the order in which
// the hosted service sends them. remaining is the number of the account's unfinished jobs.
func (w *watchedJob) messages(data any, at time.Time, remaining int) []*stream.Message {
	switch e := w.job.Calls.Place(data).(type) {
	case job.SubmittedV1:
		return []*stream.Message{status(remaining)}
	case job.AdmittedV1:
		return []*stream.Message{w.message("notification", notificationData{"Your workflow has a slot and starts now.", w.job.PublicID()})}
	case job.StartedV1:
		return w.startRun(e, at, remaining)
	case job.NodesCachedV1:
		if e.More && w.cached { // nodes that a server had cached follow those that this service had cached
			w.cached = len(e.Nodes) == 0
		}
		return w.cachedNodes(e.Run, e.Nodes, at)
	case job.NodeStartedV1:
		if e.Run == w.job.Run {
			return w.startNode(e, at)
		}
	case job.NodeExecutedV1:
		if e.Run == w.job.Run {
			return w.endNode(e, at)
		}
	case job.SucceededV1, job.FailedV1, job.CanceledV1, job.ExpiredV1:
		return append(w.verdict(at), append([]*stream.Message{status(remaining)}, w.over()...)...)
	}
	return nil
}

// failed returns the job with its error in the form for clients.
func (w *watchedJob) failed() job.Job {
	j := w.job
	if w.rename {
		j.Error = j.Error.InRuntimeNames()
	}
	return j
}

func (w *watchedJob) startRun(e job.StartedV1, at time.Time, remaining int) []*stream.Message {
	if e.Run != w.job.Run {
		return nil
	}
	w.nodes, w.cached, w.executing = newNodes(), false, ""
	w.previews.drop(w)
	again := w.startedRun == e.Run
	w.startedRun = e.Run
	w.buffer.dropOtherRuns(e.Run)
	if again { // clients give up a prompt that starts twice
		return []*stream.Message{status(remaining)}
	}
	return []*stream.Message{status(remaining), w.message("execution_start", lifecycleData{w.job.PublicID(), at.UnixMilli()})}
}

func (w *watchedJob) cachedNodes(run int, ids []string, at time.Time) []*stream.Message {
	if run != w.job.Run || w.cached {
		return nil
	}
	w.cached = true
	return []*stream.Message{w.message("execution_cached", cachedData{w.job.Calls.Shown(ids), w.job.PublicID(), at.UnixMilli()})}
}

// startNode returns the messages of a node's start and of the frames buffered for it. The first
// node of a run is preceded by execution_cached, even if the run has no event for cached nodes.
func (w *watchedJob) startNode(e job.NodeStartedV1, at time.Time) []*stream.Message {
	messages := w.cachedNodes(w.job.Run, nil, at)
	w.nodes.begin(e.Node, e.Class, e.Attempt).within = e.Within
	w.executing = e.Node
	_, display, _ := e.Within.Places(e.Node)
	shown, _ := e.Within.Shown(e.Node, e.Class)
	messages = append(messages, w.progressState(), w.message("executing", executingData{shown, display, w.job.PublicID()}))
	for _, f := range w.buffer.remove(e.Node) {
		messages = append(messages, w.frame(f)...)
	}
	return messages
}

func (w *watchedJob) endNode(e job.NodeExecutedV1, at time.Time) []*stream.Message {
	messages := w.cachedNodes(w.job.Run, nil, at)
	if !e.Cached && w.nodes.running(e.Node) == nil {
		messages = append(messages, w.startNode(job.NodeStartedV1{Node: e.Node, Class: e.Class, Within: e.Within}, at)...)
	}
	if e.Blocked != "" {
		messages = append(messages, w.message("notification", notificationData{blockage(e), w.job.PublicID()}))
	}
	shown, _ := e.Within.Shown(e.Node, e.Class)
	if len(e.UI) > 0 {
		_, display, _ := e.Within.Places(e.Node)
		messages = append(messages, w.message("executed", executedData{shown, display, e.UI, w.job.PublicID()}))
	}
	if e.Cached && len(e.UI) == 0 {
		return messages // a cached node inside a run is only listed in execution_cached
	}
	w.nodes.finish(e.Node, e.Class)
	w.buffer.drop(e.Node)
	if w.preview != nil && w.preview.Frame.Node == shown {
		w.previews.drop(w)
	}
	return append(messages, w.progressState())
}

// verdict returns the message with the outcome of a job that has ended.
func (w *watchedJob) verdict(at time.Time) []*stream.Message {
	switch w.job.State {
	case job.Succeeded:
		return []*stream.Message{w.message("execution_success", lifecycleData{w.job.PublicID(), at.UnixMilli()})}
	case job.Failed:
		return []*stream.Message{w.message("execution_error", executionError(w.failed(), at))}
	default:
		return w.interrupted(at)
	}
}

// over returns the message that no node is executing, if the job ran.
func (w *watchedJob) over() []*stream.Message {
	if w.job.StartedAt == nil {
		return nil
	}
	return []*stream.Message{w.message("executing", overData{nil, w.job.PublicID()})}
}

func (w *watchedJob) interrupted(at time.Time) []*stream.Message {
	if w.job.StartedAt == nil || w.job.State != job.Canceled {
		return nil
	}
	m := w.message("execution_interrupted", interruption(w.job, at))
	m.Broadcast = true
	return []*stream.Message{m}
}

// frame returns the messages of a live frame of this run. A frame that arrives before the event
// that starts its node is buffered; a frame of a node that has ended is dropped.
func (w *watchedJob) frame(f stream.Frame) []*stream.Message {
	n := w.nodes.byID[f.Node]
	switch {
	case n == nil:
		w.buffer.add(f)
		return nil
	case n.state != nodeRunning || f.Attempt < n.attempt:
		return nil
	}
	n.attempt, f.Within, f.Public = f.Attempt, n.within, w.job.PublicID()
	f.Node, _ = n.within.Shown(f.Node, n.class)
	if f.Kind == stream.FrameMessage {
		return w.custom(f)
	}
	if f.Kind != stream.FrameProgress {
		return []*stream.Message{w.show(f)}
	}
	if !n.advance(f.Value, f.Max) {
		return nil
	}
	m := w.message("progress", progressData{f.Value, f.Max, w.job.PublicID(), f.Node})
	m.Progress = w.progress()
	return []*stream.Message{w.progressState(), m}
}

func (w *watchedJob) show(f stream.Frame) *stream.Message {
	m := w.newMessage(nil)
	m.Frame, m.Broadcast = &f, f.Kind == stream.FrameText
	if f.Kind == stream.FramePreview {
		w.previews.add(w, m)
	}
	return m
}

// custom returns a message of a node pack. It goes to every socket of the account, as a server sends it to all of its clients.
func (w *watchedJob) custom(f stream.Frame) []*stream.Message {
	data := bytes.ReplaceAll(f.Data, []byte(w.job.ID), []byte(w.job.PublicID()))
	if !json.Valid(data) {
		return nil
	}
	m := w.message(f.Name, json.RawMessage(data))
	m.Broadcast = true
	return []*stream.Message{m}
}

// progress returns the job's progress, which never decreases.
func (w *watchedJob) progress() *stream.Progress {
	p := stream.ProgressOf(w.job, w.executing, w.nodes.steps())
	if p != nil {
		w.high = max(w.high, p.Value)
		p.Value = w.high
	}
	return p
}

// stamp adds the job's new state to the last message, for adapters that send states instead
// of messages. If there is no message, it makes one without text.
func (w *watchedJob) stamp(messages []*stream.Message) []*stream.Message {
	if len(messages) == 0 {
		messages = []*stream.Message{{ClientID: w.job.ClientID}}
	}
	last := messages[len(messages)-1]
	state := w.job
	last.Job, last.State, last.Progress = w.job.ID, &state, w.progress()
	return messages
}

func (w *watchedJob) progressState() *stream.Message {
	m := w.newMessage(w.nodes.text(w.job.PublicID()))
	m.Whole = true
	return m
}

func (w *watchedJob) message(kind string, data any) *stream.Message {
	return w.newMessage(text(kind, data))
}

func (w *watchedJob) newMessage(text []byte) *stream.Message {
	return &stream.Message{Job: w.job.ID, ClientID: w.job.ClientID, Text: text, InTurn: w.job.InTurn && w.job.StartedAt != nil}
}

func status(remaining int) *stream.Message {
	return &stream.Message{Broadcast: true, Text: StatusText(remaining, "")}
}
