package eventlogtest

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Memory is an in-memory log for tests: a Store, a Tail and Checkpoints that pass the same suites as those of
// PostgreSQL. Its events are lost when the process ends.
type Memory struct {
	registry *eventlog.Registry

	mu       sync.Mutex // guards all below
	events   []eventlog.Recorded
	byID     map[uuid.UUID]int
	streams  map[string]*memoryStream
	appended chan struct{} // closed and replaced at every append
	groups   map[string]*memoryGroup
}

type memoryStream struct {
	account string
	events  []int // indexes
	closed  bool
}

var (
	_ eventlog.Store       = (*Memory)(nil)
	_ eventlog.Tail        = (*Memory)(nil)
	_ eventlog.Checkpoints = (*Memory)(nil)
)

// NewMemory returns an empty log with the event types of registry.
func NewMemory(registry *eventlog.Registry) *Memory {
	return &Memory{
		registry: registry, byID: map[uuid.UUID]int{}, streams: map[string]*memoryStream{},
		appended: make(chan struct{}), groups: map[string]*memoryGroup{},
	}
}

// Append implements eventlog.Store.
func (m *Memory) Append(ctx context.Context, a eventlog.Append) ([]eventlog.Recorded, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a.Stream == "" || a.Account == "" || len(a.Events) == 0 || a.Expected < eventlog.AnyVersion {
		return nil, fault.New(fault.Invalid, "", "an append lacks stream, account or events")
	}
	data := make([]json.RawMessage, len(a.Events))
	for i, e := range a.Events {
		var err error
		if data[i], err = m.registry.Encode(e); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if first, known := m.byID[a.Events[0].ID]; known {
		if m.events[first].Stream != a.Stream || m.events[first].Account != a.Account {
			return nil, eventlog.Refuse(eventlog.ErrDuplicate, a, 0)
		}
		return m.repeats(a), nil
	}
	s, err := m.admit(a)
	if err != nil {
		return nil, err
	}
	return m.record(s, a, data), nil
}

func (m *Memory) repeats(a eventlog.Append) []eventlog.Recorded {
	var out []eventlog.Recorded
	for _, e := range a.Events {
		if i, known := m.byID[e.ID]; known {
			out = append(out, m.events[i])
		}
	}
	return out
}

// admit returns the stream of the append, which may be new, or refuses the append.
func (m *Memory) admit(a eventlog.Append) (*memoryStream, error) {
	s := m.streams[a.Stream]
	if s == nil {
		s = &memoryStream{account: a.Account}
	}
	version := int64(len(s.events))
	switch {
	case s.account != a.Account:
		return nil, eventlog.Refuse(eventlog.ErrForeign, a, version)
	case s.closed && !a.Reopen:
		return nil, eventlog.Refuse(eventlog.ErrClosed, a, version)
	case a.Expected != eventlog.AnyVersion && a.Expected != version:
		return nil, eventlog.Refuse(eventlog.ErrVersion, a, version)
	}
	for _, e := range a.Events {
		if _, taken := m.byID[e.ID]; taken {
			return nil, eventlog.Refuse(eventlog.ErrDuplicate, a, version)
		}
	}
	return s, nil
}

func (m *Memory) record(s *memoryStream, a eventlog.Append, data []json.RawMessage) []eventlog.Recorded {
	m.streams[a.Stream] = s
	out := make([]eventlog.Recorded, len(a.Events))
	for i, e := range a.Events {
		s.events = append(s.events, len(m.events))
		out[i] = eventlog.Recorded{
			Position: int64(len(m.events)) + 1, Stream: a.Stream, Version: int64(len(s.events)), ID: e.ID, Type: e.Type,
			Account: a.Account, Data: data[i], Meta: a.Meta, RecordedAt: time.Now().UTC().Truncate(time.Microsecond),
		}
		m.byID[e.ID] = len(m.events)
		m.events = append(m.events, out[i])
	}
	s.closed = s.closed || a.Close
	close(m.appended)
	m.appended = make(chan struct{})
	return out
}

// ReadStream implements eventlog.Store.
func (m *Memory) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventlog.Recorded, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []eventlog.Recorded
	if s := m.streams[stream]; s != nil {
		for _, i := range s.events[min(int(after), len(s.events)):] {
			if len(out) < limit {
				out = append(out, m.events[i])
			}
		}
	}
	return out, nil
}

// Decode returns the data of a recorded event as the struct of its registered type.
func (m *Memory) Decode(rec eventlog.Recorded) (any, error) {
	return m.registry.Decode(rec.Type, rec.Data)
}

// Next implements eventlog.Tail.
func (m *Memory) Next(ctx context.Context, after int64, limit int) ([]eventlog.Recorded, error) {
	for {
		m.mu.Lock()
		changed := m.appended
		rest := m.events[min(int(after), len(m.events)):]
		m.mu.Unlock()
		if len(rest) > 0 {
			return append([]eventlog.Recorded(nil), rest[:min(limit, len(rest))]...), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Start implements eventlog.Tail: it is the present end, as for a process that begins now.
func (m *Memory) Start() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.events))
}

// Recheck implements eventlog.Tail. An in-memory log loses no events.
func (m *Memory) Recheck() {}

// memoryGroup is one consumer group: a token that represents its lock, and a position.
type memoryGroup struct {
	token    chan struct{}
	mu       sync.Mutex // guards position
	position int64
}

// Lock implements eventlog.Checkpoints.
func (m *Memory) Lock(ctx context.Context, group string) (eventlog.LockedGroup, error) {
	m.mu.Lock()
	g := m.groups[group]
	if g == nil {
		g = &memoryGroup{token: make(chan struct{}, 1)}
		g.token <- struct{}{}
		m.groups[group] = g
	}
	m.mu.Unlock()
	select {
	case <-g.token:
		return &memoryLock{group: g, lost: make(chan struct{})}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memoryLock struct {
	group *memoryGroup
	lost  chan struct{}
	once  sync.Once
}

func (h *memoryLock) Position(context.Context) (int64, error) {
	h.group.mu.Lock()
	defer h.group.mu.Unlock()
	return h.group.position, nil
}

// Save moves the checkpoint of a group that was locked before.
func (m *Memory) Save(_ context.Context, group string, b eventlog.Batch) error {
	m.mu.Lock()
	g := m.groups[group]
	m.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.position != b.After {
		return fault.New(fault.Conflict, fault.CodeCheckpointMoved, "the group is at %d, not %d", g.position, b.After)
	}
	g.position = b.UpTo
	return nil
}

func (h *memoryLock) Lost() <-chan struct{} { return h.lost }

func (h *memoryLock) Release() {
	h.once.Do(func() {
		close(h.lost)
		h.group.token <- struct{}{}
	})
}
