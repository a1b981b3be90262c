package fanout_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/fanout"
)

const (
	owner = "acme"
	id    = job.ID("11111111-2222-4333-8444-555555555555")
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// memoryLog is a log of one process: what is appended is read back and folded as the
// real one would be.
type memoryLog struct {
	mu       sync.Mutex
	events   []eventlog.Recorded
	registry *eventlog.Registry
	now      bool // events are recorded now, not at the time of the tests
}

func newLog(t *testing.T) *memoryLog {
	registry := eventlog.NewRegistry()
	require.NoError(t, job.Register(registry))
	require.NoError(t, export.Events.Register(registry))
	require.NoError(t, download.Events.Register(registry))
	return &memoryLog{registry: registry}
}

func typeName(data any) string {
	switch data.(type) {
	case job.SubmittedV1:
		return job.TypeSubmitted
	case job.AdmittedV1:
		return job.TypeAdmitted
	case job.StartedV1:
		return job.TypeStarted
	case job.NodesCachedV1:
		return job.TypeNodesCached
	case job.NodeStartedV1:
		return job.TypeNodeStarted
	case job.NodeExecutedV1:
		return job.TypeNodeExecuted
	case job.NodeFailedV1:
		return job.TypeNodeFailed
	case job.CancelRequestedV1:
		return job.TypeCancelRequested
	case job.SucceededV1:
		return job.TypeSucceeded
	case job.FailedV1:
		return job.TypeFailed
	case job.CanceledV1:
		return job.TypeCanceled
	default:
		return job.TypeExpired
	}
}

func (l *memoryLog) append(t *testing.T, account string, j job.ID, recorded ...any) []eventlog.Recorded {
	l.mu.Lock()
	defer l.mu.Unlock()
	var added []eventlog.Recorded
	for _, data := range recorded {
		raw, err := json.Marshal(data)
		require.NoError(t, err)
		rec := eventlog.Recorded{
			Position: int64(len(l.events) + 1), Stream: j.Stream(), Version: 1, ID: uuid.New(),
			Type: typeName(data), Account: account, Data: raw, RecordedAt: at,
		}
		if l.now {
			rec.RecordedAt = time.Now()
		}
		for _, e := range l.events {
			if e.Stream == rec.Stream {
				rec.Version = e.Version + 1
			}
		}
		l.events = append(l.events, rec)
		added = append(added, rec)
	}
	return added
}

// ReadStream implements fanout.StreamReader.
func (l *memoryLog) ReadStream(_ context.Context, name string, after int64, limit int) ([]eventlog.Recorded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []eventlog.Recorded
	for _, e := range l.events {
		if e.Stream == name && e.Version > after && len(found) < limit {
			found = append(found, e)
		}
	}
	return found, nil
}

// Active implements fanout.ActiveJobs by folding the whole log.
func (l *memoryLog) Active(_ context.Context, account string) ([]job.Job, error) {
	return l.jobsOf(account, func(j job.Job) bool { return !j.State.Final() })
}

// JustEnded implements fanout.ActiveJobs in the same way.
func (l *memoryLog) JustEnded(_ context.Context, account string, since time.Time) ([]job.Job, error) {
	return l.jobsOf(account, func(j job.Job) bool { return j.EndedAt != nil && j.EndedAt.After(since) })
}

func (l *memoryLog) jobsOf(account string, selected func(job.Job) bool) ([]job.Job, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	folded := map[string]job.Job{}
	for _, e := range l.events {
		data, err := l.registry.Decode(e.Type, e.Data)
		if err != nil {
			return nil, err
		}
		folded[e.Stream] = job.Fold(folded[e.Stream], e, data)
	}
	var found []job.Job
	for _, j := range folded {
		if j.Account == account && selected(j) {
			found = append(found, j)
		}
	}
	return found, nil
}

// watch is a fan-out over a memory log with one watcher of the account owner.
type watch struct {
	log *memoryLog
	hub *stream.Hub
	out *fanout.Fanout
	sub *stream.Subscription
}

func newWatch(t *testing.T) *watch {
	w := &watch{log: newLog(t), hub: stream.NewHub(stream.HubOptions{})}
	w.out = follow(0, w.log, w.log, w.hub)
	w.sub, _ = w.subscribe(t)
	return w
}

// follow returns a fan-out that has seen the log up to position.
func follow(position int64, jobs fanout.ActiveJobs, log *memoryLog, hub *stream.Hub) *fanout.Fanout {
	out := fanout.New(jobs, log, log.registry, hub, slog.New(slog.DiscardHandler))
	out.Begin(position)
	return out
}

func (w *watch) subscribe(t *testing.T) (*stream.Subscription, stream.Snapshot) {
	sub, snap, err := w.out.Subscribe(t.Context(), owner)
	require.NoError(t, err)
	t.Cleanup(sub.Close)
	return sub, snap
}

func (w *watch) happen(t *testing.T, recorded ...any) {
	require.NoError(t, w.out.Handle(t.Context(), w.log.append(t, owner, id, recorded...)))
}

// drain returns what is queued for a subscription; a message without wire form is left out.
func drain(t *testing.T, sub *stream.Subscription) []*stream.Message {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // Next returns what is there, or at once the context's error
	messages, err := sub.Next(ctx)
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
	return messages
}

// frames renders messages as a socket would show them, previews as "<preview>".
func frames(messages []*stream.Message) []string {
	var shown []string
	for _, m := range messages {
		switch {
		case m.Text != nil:
			shown = append(shown, string(m.Text))
		case m.Frame != nil && m.Frame.Kind == stream.FramePreview:
			shown = append(shown, "<preview "+m.Frame.Node+" "+string(m.Frame.Data)+">")
		case m.Frame != nil:
			shown = append(shown, "<text "+m.Frame.Node+" "+string(m.Frame.Data)+">")
		}
	}
	return shown
}

func submitted() job.SubmittedV1 {
	return job.SubmittedV1{Number: 1, Surface: job.SurfaceCloud, ClientID: "c1", Targets: []string{"9"}, NodesTotal: 2}
}

func progress(node string, value, limit int) stream.Frame {
	return stream.Frame{Account: owner, Job: id, Run: 1, Node: node, Kind: stream.FrameProgress, Value: value, Max: limit}
}

func preview(node, data string) stream.Frame {
	return stream.Frame{
		Account: owner, Job: id, Run: 1, Node: node, Kind: stream.FramePreview, ContentType: "image/jpeg", Data: []byte(data),
	}
}
