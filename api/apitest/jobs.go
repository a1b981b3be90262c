package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// MemoryJobs keeps jobs by account and records what it was asked.
type MemoryJobs struct {
	mu        sync.Mutex
	Jobs      map[job.ID]job.Job
	Submitted []job.Submission
	Refuse    error
}

// Put keeps a job.
func (m *MemoryJobs) Put(j job.Job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Jobs[j.ID] = j
}

// Submit queues a job, or refuses with what a test set.
func (m *MemoryJobs) Submit(_ context.Context, sub job.Submission) (job.Submitted, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Refuse != nil {
		return job.Submitted{}, m.Refuse
	}
	m.Submitted = append(m.Submitted, sub)
	id := job.NewID()
	if sub.PublicID != "" {
		id = job.IDOfChoice(sub.Account, sub.PublicID)
	}
	j := job.Job{
		ID: id, Chosen: sub.PublicID, Account: sub.Account, State: job.Queued, Surface: sub.Surface, Version: 1, Number: 7,
		SubmittedAt: Then, UpdatedAt: Then, Metadata: sub.Metadata,
	}
	if sub.Number != nil {
		j.Number = *sub.Number
	}
	m.Jobs[j.ID] = j
	return job.Submitted{Job: j}, nil
}

// Last returns the newest submission.
func (m *MemoryJobs) Last() job.Submission {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Submitted[len(m.Submitted)-1]
}

func (m *MemoryJobs) cancel(owner string, want func(job.Job) bool) []job.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var done []job.ID
	for id, j := range m.Jobs {
		if j.Account == owner && !j.State.Final() && want(j) {
			j.State, j.EndedAt = job.Canceled, &Then
			m.Jobs[id] = j
			done = append(done, id)
		}
	}
	slices.Sort(done)
	return done
}

// CancelAs cancels the named jobs.
func (m *MemoryJobs) CancelAs(ctx context.Context, r job.CancelRequest) ([]job.ID, error) {
	return m.CancelMany(ctx, r.Account, r.IDs, r.RequestID)
}

// CancelMany cancels the named jobs.
func (m *MemoryJobs) CancelMany(_ context.Context, owner string, ids []job.ID, _ string) ([]job.ID, error) {
	return m.cancel(owner, func(j job.Job) bool { return slices.Contains(ids, j.ID) }), nil
}

// ClearPending cancels the jobs that wait.
func (m *MemoryJobs) ClearPending(_ context.Context, owner, _ string) ([]job.ID, error) {
	return m.cancel(owner, func(j job.Job) bool { return j.State == job.Queued }), nil
}

// Interrupt cancels the jobs that run, or the one that is named.
func (m *MemoryJobs) Interrupt(_ context.Context, owner string, only job.ID, _ string) ([]job.ID, error) {
	return m.cancel(owner, func(j job.Job) bool { return j.State == job.Running && (only == "" || only == j.ID) }), nil
}

// Job returns a job of its owner.
func (m *MemoryJobs) Job(_ context.Context, owner string, id job.ID) (job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j, ok := m.Jobs[id]; ok && j.Account == owner {
		return j, nil
	}
	return job.Job{}, fault.New(fault.NotFound, fault.CodeJobNotFound, "no such job")
}

// ByPublicID finds a job by the id that its owner knows.
func (m *MemoryJobs) ByPublicID(_ context.Context, owner string, id job.PublicID) (job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.Jobs {
		if j.Account == owner && j.PublicID() == id {
			return j, nil
		}
	}
	return job.Job{}, fault.New(fault.NotFound, fault.CodeJobNotFound, "no such job")
}

// IDs returns the ids of the jobs that exist.
func (m *MemoryJobs) IDs(ctx context.Context, owner string, public []job.PublicID) (ids []job.ID, _ error) {
	for _, id := range public {
		if j, err := m.ByPublicID(ctx, owner, id); err == nil {
			ids = append(ids, j.ID)
		}
	}
	return ids, nil
}

// PublicIDs returns the ids that owners know.
func (m *MemoryJobs) PublicIDs(_ context.Context, ids []job.ID) ([]job.PublicID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	public := make([]job.PublicID, len(ids))
	for i, id := range ids {
		public[i] = m.Jobs[id].PublicID()
	}
	return public, nil
}

// Active returns the jobs that have not ended, by number.
func (m *MemoryJobs) Active(_ context.Context, owner string) ([]job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var active []job.Job
	for _, j := range m.Jobs {
		if j.Account == owner && !j.State.Final() {
			active = append(active, j)
		}
	}
	slices.SortFunc(active, func(a, b job.Job) int { return cmp.Compare(a.Number, b.Number) })
	return active, nil
}

// Remaining counts the jobs that have not ended.
func (m *MemoryJobs) Remaining(ctx context.Context, owner string) (int64, error) {
	active, err := m.Active(ctx, owner)
	return int64(len(active)), err
}

// List returns a page of jobs; its cursor is an offset.
func (m *MemoryJobs) List(ctx context.Context, owner string, q jobs.Query) (jobs.Page, error) {
	found, total, err := m.ListAt(ctx, owner, jobs.Order{States: q.States, Limit: q.Limit, Offset: int(q.Before)})
	page := jobs.Page{Jobs: found}
	if next := q.Before + int64(len(found)); next < total {
		page.Next = next
	}
	return page, err
}

// ListAt returns the jobs in those states, newest first, and how many there are.
func (m *MemoryJobs) ListAt(_ context.Context, owner string, o jobs.Order) ([]job.Job, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []job.Job
	for _, j := range m.Jobs {
		if j.Account == owner && (len(o.States) == 0 || slices.Contains(o.States, j.State)) {
			found = append(found, j)
		}
	}
	slices.SortFunc(found, func(a, b job.Job) int { return cmp.Compare(b.ID, a.ID) })
	total := len(found)
	return found[min(o.Offset, total):min(o.Offset+o.Limit, total)], int64(total), nil
}

// Line pages by the number of jobs before, so that tests with few of them see several pages.
func (m *MemoryJobs) Line(ctx context.Context, owner string, q jobs.Line) (jobs.LinePage, error) {
	active, err := m.Active(ctx, owner)
	line := slices.DeleteFunc(active, func(j job.Job) bool { return q.Waiting != (j.State == job.Queued) })
	from := 0
	if q.After != nil {
		from = int(q.After.Submitted)
	}
	to := min(from+3, len(line))
	page := jobs.LinePage{Jobs: line[from:to]}
	if to < len(line) {
		page.Next = &jobs.Place{Submitted: int64(to)}
	}
	return page, err
}

// QueuePositions returns how many jobs are before each that waits.
func (m *MemoryJobs) QueuePositions(ctx context.Context, owner string, ids []job.ID) (map[job.ID]int64, error) {
	active, err := m.Active(ctx, owner)
	positions, ahead := map[job.ID]int64{}, int64(0)
	for _, j := range active {
		if j.State != job.Queued {
			continue
		}
		if slices.Contains(ids, j.ID) {
			positions[j.ID] = ahead
		}
		ahead++
	}
	return positions, err
}

// Load returns the same source for every job.
func (m *MemoryJobs) Load(context.Context, string, job.ID) (job.Source, error) {
	return job.Source{
		Prompt:    json.RawMessage(`{"1":{"class_type":"A","inputs":{}}}`),
		ExtraData: map[string]json.RawMessage{"client_id": json.RawMessage(`"c"`)},
	}, nil
}

// LoadWithin returns the source of a job and whether it fits.
func (m *MemoryJobs) LoadWithin(ctx context.Context, owner string, id job.ID, most int64) (job.Source, bool, error) {
	src, err := m.Load(ctx, owner, id)
	return src, int64(len(src.Prompt)) <= most, err
}

// Steps returns the progress of two nodes, one of which is gone.
func (m *MemoryJobs) Steps(context.Context, job.ID, int) (map[string]stream.Step, error) {
	return map[string]stream.Step{"7": {Value: 1, Max: 4}, "gone": {Value: 1, Max: 2}}, nil
}

// HubLive subscribes to a hub and hands out the snapshot that a test set.
type HubLive struct {
	Hub  *stream.Hub
	mu   sync.Mutex
	Snap stream.Snapshot
}

// Subscribe subscribes to the hub.
func (l *HubLive) Subscribe(_ context.Context, owner string) (*stream.Subscription, stream.Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Hub.Subscribe(owner), l.Snap, nil
}

const (
	JobA = job.ID("aaaaaaaa-2222-4333-8444-555555555555")
	JobB = job.ID("bbbbbbbb-2222-4333-8444-555555555555")
)

// FinishedJob is a job with a picture, a text and a story.
func FinishedJob(id job.ID, state job.State) job.Job {
	started, ended := Then.Add(time.Second), Then.Add(2*time.Second)
	j := job.Job{
		ID: id, Account: account.LocalID, State: state, Number: 4, Run: 1, SubmittedAt: Then, AdmittedAt: &Then, StartedAt: &started,
		EndedAt: &ended, UpdatedAt: ended, Targets: []string{"9"}, Cached: []string{"3"}, Executed: []string{"9"},
		Outputs: []job.NodeOutput{
			{Node: "8", Class: "PreviewAny", UI: json.RawMessage(`{"text":["hello"]}`)},
			{
				Node: "9", Class: "SaveImage", UI: json.RawMessage(`{"images":[{"filename":"a.png","subfolder":"","type":"output"}]}`),
				Files: []job.OutputFile{{Asset: "x", Filename: "a.png", Folder: "output", ContentType: "image/png"}},
			},
		},
	}
	if state == job.Failed {
		j.Error = &job.Failure{Message: "bad", Node: "9", Class: "SaveImage", ExceptionType: "OOMError"}
	}
	return j
}

// Undocumented are the parts of a harness over another reader, for a server that nothing stands before.
func Undocumented(t *testing.T, reader jobio.Reader) (deps Deps) {
	t.Helper()
	StartWith(t, Options{}, func(d *Deps) { d.Reader, deps = reader, *d })
	deps.Reader = reader
	return deps
}
