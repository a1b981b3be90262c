// Package live streams events of jobs as they happen: over WebSockets, in the format of editors, and as server-sent
// events of one job. It promises that a stream ends when its key is revoked, and that a slow client is disconnected
// rather than misses a message. Package fanout makes the messages.
package live

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
)

// Source publishes messages about an account's jobs; fanout.Fanout implements it.
type Source interface {
	// Subscribe returns a subscription, which the caller must close, and the state that its messages continue.
	Subscribe(ctx context.Context, account string) (*stream.Subscription, stream.Snapshot, error)
}

// Deps are the dependencies of the surface.
type Deps struct {
	Edge     *edge.Edge
	Source   Source
	Reader   jobio.Reader
	Queue    jobio.Queue
	Steps    jobio.Steps // nil = progress is counted by whole nodes
	Links    jobio.Links
	Features func() map[string]any // the feature flags for a client that sends its own
}

// Options are the tunables of the surface.
type Options struct {
	MaxSockets    int  // WebSockets of one account on this process
	MaxStreams    int  // event streams of one account on this process
	RouteByClient bool // WebSocket messages of a job go only to the client that submitted it
}

// Surface serves the routes of this package.
type Surface struct {
	Deps
	opts    Options
	sockets *limit.Connections
	streams *limit.Connections
	buffers sync.Pool // of the WebSocket library
	batches sync.Pool // of batchConn
}

// New returns the surface.
func New(deps Deps, opts Options) *Surface {
	return &Surface{Deps: deps, opts: opts, sockets: limit.NewConnections(opts.MaxSockets), streams: limit.NewConnections(opts.MaxStreams)}
}

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route { return append(s.socketRoutes(), s.eventRoutes()...) }

// Times of an event stream. Clients give up after 45 s of silence.
const (
	sseKeepAlive = 10 * time.Second
	sseThrottle  = 500 * time.Millisecond // between two progress, preview or position events
	sseWrite     = 10 * time.Second
	sseMaxTime   = time.Hour // then the stream ends and the client reconnects
)

func (s *Surface) eventRoutes() []edge.Route {
	return edge.V2(edge.Route{Method: http.MethodGet, Path: "/jobs/:id/events", Live: true, Mounted: true, Handle: s.getEvents})
}

// endID begins the id of the event that reports the end of a job. A client that reconnects with such an id has
// received the end, and it is not sent again, even if the job runs again after a failover that lost the end.
const endID = "end-"

// getEvents streams the events of a job until the job has ended: GET /api/v2/jobs/{id}/events.
func (s *Surface) getEvents(c *gin.Context) error {
	j, err := jobio.Find(c, s.Reader)
	if err != nil {
		return err
	}
	if strings.HasPrefix(c.GetHeader("Last-Event-ID"), endID) {
		edge.NoContent(c) // 204 stops browsers from reconnecting
		return nil
	}
	if !s.streams.Acquire(j.Account) {
		return httperr.RetryLater(2*time.Second, fault.CodeTooManyStreams, "the account has too many open event streams; close one and try again")
	}
	defer s.streams.Release(j.Account)
	sub, snap, err := s.Source.Subscribe(c.Request.Context(), j.Account)
	if err != nil {
		return err
	}
	defer sub.Close()
	if j, err = jobio.Find(c, s.Reader); err != nil { // read again: the job may have changed before the subscription
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), sseMaxTime)
	defer cancel()
	e := &eventStream{
		surface: s, c: c, ctx: ctx, base: s.Edge.BaseURL(c.Request), names: jobio.NamesOf(c, s.Edge, j),
		out: http.NewResponseController(c.Writer), job: j,
	}
	e.writeHeaders()
	defer edge.SetWriteTimeout(e.out, 0) //nolint:errcheck // a connection that fails has no requests to come
	if err := e.run(sub, snap); err != nil && !isEndOfStream(err) {
		return fmt.Errorf("event stream of job %s: %w", j.ID, err) // only logged: the answer has begun
	}
	return nil
}

// isEndOfStream reports whether err is an ordinary end of a stream: the client left, the time is up, or the hub
// closed the subscription.
func isEndOfStream(err error) bool {
	var closed *stream.Closed
	return errors.As(err, &closed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, errClientNotReading)
}

var errClientNotReading = errors.New("the client does not read")

// eventStream is one SSE connection. One goroutine runs it.
type eventStream struct {
	surface *Surface
	c       *gin.Context
	ctx     context.Context //nolint:containedctx // the request's, bounded; the stream lives as long
	base    string
	names   jobio.Names
	out     *http.ResponseController

	job          job.Job // as last sent
	outputs      []string
	high         float64          // highest progress sent
	progress     *stream.Progress // waiting for the throttle
	preview      *stream.Message  // waiting for the throttle
	queueChanged bool             // the queue changed; the position may have changed
	position     *int64           // as last sent
}

func (e *eventStream) writeHeaders() {
	h := e.c.Writer.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	e.c.Status(http.StatusOK)
}

func (e *eventStream) run(sub *stream.Subscription, snap stream.Snapshot) error {
	if err := e.sendCurrent(snap); err != nil || e.job.State.Final() {
		return err
	}
	keepAlive, throttle, recheck := time.NewTicker(sseKeepAlive), time.NewTicker(sseThrottle), time.NewTicker(e.surface.Edge.Recheck())
	defer recheck.Stop()
	defer keepAlive.Stop()
	defer throttle.Stop()
	for {
		var err error
		select {
		case <-e.ctx.Done():
			return e.ctx.Err()
		case <-keepAlive.C:
			err = e.write([]byte(": keep-alive\n\n"))
		case <-recheck.C:
			if !e.surface.Edge.StillValid(e.ctx, edge.Credential(e.c.Request), e.job.Account) {
				return e.event("error", revoked())
			}
		case <-throttle.C:
			err = e.flushThrottled()
		case <-sub.Ready():
			err = e.forward(sub)
		}
		if err != nil || e.job.State.Final() {
			return err
		}
	}
}

// sendCurrent sends the current status, progress, preview and outputs. The outputs of a job that has ended are sent first,
// because the final status is always last.
func (e *eventStream) sendCurrent(snap stream.Snapshot) error {
	if e.job.State.Final() {
		return e.finish()
	}
	if err := e.status(); err != nil {
		return err
	}
	var err error
	if e.progress, err = jobio.Progress(e.ctx, e.surface.Steps, e.job); err != nil {
		return err
	}
	if i := slices.IndexFunc(snap.Jobs, func(l stream.Live) bool { return l.Job.ID == e.job.ID }); i >= 0 {
		e.preview = snap.Jobs[i].Preview
		if p := snap.Jobs[i].Progress; p != nil && (e.progress == nil || p.Value >= e.progress.Value) {
			e.progress = p
		}
	}
	if err := e.flushThrottled(); err != nil {
		return err
	}
	return e.newOutputs()
}

// forward handles a message about the job.
func (e *eventStream) forward(sub *stream.Subscription) error {
	messages, err := sub.Take()
	if err != nil {
		return err
	}
	for _, m := range messages {
		if m.Job == "" || m.Job != e.job.ID {
			e.queueChanged = e.queueChanged || e.job.State == job.Queued
			continue
		}
		if err := e.handle(m); err != nil || e.job.State.Final() {
			return err
		}
	}
	return nil
}

func (e *eventStream) handle(m *stream.Message) error {
	if m.Progress != nil {
		e.progress = m.Progress
	}
	if m.Frame != nil && m.Frame.Kind == stream.FramePreview {
		e.preview = m
	}
	if m.State == nil || m.State.Version <= e.job.Version {
		return nil
	}
	before := e.job.State
	e.job = *m.State
	switch {
	case e.job.State.Final():
		return e.finish()
	case e.job.State != before:
		if err := e.status(); err != nil {
			return err
		}
	}
	return e.newOutputs()
}

// finish sends the remaining outputs and then the final status.
func (e *eventStream) finish() error {
	e.preview = nil
	if e.job.State == job.Succeeded {
		e.progress = stream.ProgressOf(e.job, "", nil)
	}
	return errors.Join(e.flushThrottled(), e.newOutputs(), e.status())
}

type statusEvent struct {
	Status        job.State `json:"status"`
	QueuePosition *int64    `json:"queue_position,omitempty"`
}

func (e *eventStream) status() error {
	event := statusEvent{Status: e.job.State}
	if e.job.State == job.Queued {
		position, err := jobio.QueuePosition(e.ctx, e.surface.Queue, e.job)
		if err != nil {
			return err
		}
		event.QueuePosition, e.position = position, position
	}
	return e.sendStatus(event)
}

// sendStatus sends a status with the id that a reconnecting client sends back.
func (e *eventStream) sendStatus(event statusEvent) error {
	id := strconv.FormatInt(e.job.Version, 10)
	if event.Status.Final() {
		id = endID + id
	}
	return e.send(id, "status", event)
}

type previewEvent struct {
	NodeID      string `json:"node_id"`
	ContentType string `json:"content_type"`
	Data        string `json:"data_base64"`
}

// flushThrottled sends the latest progress, preview and position that were not sent yet.
func (e *eventStream) flushThrottled() error {
	if e.queueChanged && e.job.State == job.Queued {
		e.queueChanged = false
		if err := e.newPosition(); err != nil {
			return err
		}
	}
	if p := e.progress; p != nil {
		e.progress = nil
		if p.Value >= e.high {
			e.high = p.Value
			if err := e.event("progress", e.names.Progress(p)); err != nil {
				return err
			}
		}
	}
	if m := e.preview; m != nil {
		e.preview = nil
		f := m.Frame
		return e.event("preview", previewEvent{e.shown(f), f.ContentType, base64.StdEncoding.EncodeToString(f.Data)})
	}
	return nil
}

// shown returns the node of a frame as the client knows it.
func (e *eventStream) shown(f *stream.Frame) string {
	_, _, real := f.Within.Places(f.Node)
	if name := e.names.Node(real); name != real {
		return name
	}
	return f.Node
}

func (e *eventStream) newPosition() error {
	position, err := jobio.QueuePosition(e.ctx, e.surface.Queue, e.job)
	if err != nil || position == nil || (e.position != nil && *position == *e.position) {
		return err
	}
	e.position = position
	return e.sendStatus(statusEvent{Status: e.job.State, QueuePosition: position})
}

// newOutputs sends the outputs that were not sent yet.
func (e *eventStream) newOutputs() error {
	for _, o := range jobio.Outputs(e.names.Job(e.job)) {
		if slices.Contains(e.outputs, o.File.Asset) {
			continue
		}
		e.outputs = append(e.outputs, o.File.Asset)
		if err := e.event("output", jobio.RenderOutput(e.surface.Links, e.base, e.job.PublicID(), o)); err != nil {
			return err
		}
	}
	return nil
}

func (e *eventStream) event(name string, data any) error { return e.send("", name, data) }

// send sends an event with an id; "" = no id.
func (e *eventStream) send(id, name string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", name, err)
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return e.write(fmt.Appendf(nil, "%sevent: %s\ndata: %s\n\n", id, name, raw))
}

// write sends a frame at once. A write deadline disconnects a client that does not read.
func (e *eventStream) write(frame []byte) error {
	if err := edge.SetWriteTimeout(e.out, sseWrite); err != nil {
		return errors.Join(errClientNotReading, err)
	}
	if _, err := e.c.Writer.Write(frame); err != nil {
		return errors.Join(errClientNotReading, err)
	}
	if err := e.out.Flush(); err != nil {
		return errors.Join(errClientNotReading, err)
	}
	return nil
}

// revoked is the data of the event that ends a stream whose key was revoked.
func revoked() httperr.V2Envelope {
	return httperr.V2Envelope{Error: httperr.V2Error{Code: fault.CodeUnauthorized, Message: "the key is no longer valid"}}
}
