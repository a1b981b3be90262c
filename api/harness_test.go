package api_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/api/about"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// harness is the API over parts that live in memory. End-to-end tests over the real
// ones are in test/e2e; here stands what those cannot force.
type harness struct {
	jobs *memoryJobs
	hub  *stream.Hub
	live *hubLive
	logs *bytes.Buffer
	url  string
}

// memoryJobs keeps jobs by account and records what it was asked.
type memoryJobs struct {
	mu        sync.Mutex
	jobs      map[job.ID]job.Job
	submitted []job.Submission
	refuse    error
}

func (m *memoryJobs) put(j job.Job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs[j.ID] = j
}

func (m *memoryJobs) Submit(_ context.Context, sub job.Submission) (job.Submitted, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil {
		return job.Submitted{}, m.refuse
	}
	m.submitted = append(m.submitted, sub)
	id := job.NewID()
	if sub.PublicID != "" {
		id = job.IDOfChoice(sub.Account, sub.PublicID)
	}
	j := job.Job{ID: id, Chosen: sub.PublicID, Account: sub.Account, State: job.Queued, Surface: sub.Surface, Version: 1, Number: 7, SubmittedAt: then, UpdatedAt: then, Metadata: sub.Metadata}
	if sub.Number != nil {
		j.Number = *sub.Number
	}
	m.jobs[j.ID] = j
	return job.Submitted{Job: j}, nil
}

func (m *memoryJobs) last() job.Submission {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.submitted[len(m.submitted)-1]
}

func (m *memoryJobs) cancel(owner string, want func(job.Job) bool) []job.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var done []job.ID
	for id, j := range m.jobs {
		if j.Account == owner && !j.State.Final() && want(j) {
			j.State, j.EndedAt = job.Canceled, &then
			m.jobs[id] = j
			done = append(done, id)
		}
	}
	slices.Sort(done)
	return done
}

func (m *memoryJobs) CancelAs(ctx context.Context, r job.CancelRequest) ([]job.ID, error) {
	return m.CancelMany(ctx, r.Account, r.IDs, r.RequestID)
}

func (m *memoryJobs) CancelMany(_ context.Context, owner string, ids []job.ID, _ string) ([]job.ID, error) {
	return m.cancel(owner, func(j job.Job) bool { return slices.Contains(ids, j.ID) }), nil
}

func (m *memoryJobs) ClearPending(_ context.Context, owner, _ string) ([]job.ID, error) {
	return m.cancel(owner, func(j job.Job) bool { return j.State == job.Queued }), nil
}

func (m *memoryJobs) Interrupt(_ context.Context, owner string, only job.ID, _ string) ([]job.ID, error) {
	return m.cancel(owner, func(j job.Job) bool { return j.State == job.Running && (only == "" || only == j.ID) }), nil
}

func (m *memoryJobs) Job(_ context.Context, owner string, id job.ID) (job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j, ok := m.jobs[id]; ok && j.Account == owner {
		return j, nil
	}
	return job.Job{}, fault.New(fault.NotFound, fault.CodeJobNotFound, "no such job")
}

func (m *memoryJobs) ByPublicID(_ context.Context, owner string, id job.PublicID) (job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.jobs {
		if j.Account == owner && j.PublicID() == id {
			return j, nil
		}
	}
	return job.Job{}, fault.New(fault.NotFound, fault.CodeJobNotFound, "no such job")
}

func (m *memoryJobs) IDs(ctx context.Context, owner string, public []job.PublicID) (ids []job.ID, _ error) {
	for _, id := range public {
		if j, err := m.ByPublicID(ctx, owner, id); err == nil {
			ids = append(ids, j.ID)
		}
	}
	return ids, nil
}

func (m *memoryJobs) PublicIDs(_ context.Context, ids []job.ID) ([]job.PublicID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	public := make([]job.PublicID, len(ids))
	for i, id := range ids {
		public[i] = m.jobs[id].PublicID()
	}
	return public, nil
}

func (m *memoryJobs) Active(_ context.Context, owner string) ([]job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var active []job.Job
	for _, j := range m.jobs {
		if j.Account == owner && !j.State.Final() {
			active = append(active, j)
		}
	}
	slices.SortFunc(active, func(a, b job.Job) int { return cmp.Compare(a.Number, b.Number) })
	return active, nil
}

func (m *memoryJobs) Remaining(ctx context.Context, owner string) (int64, error) {
	active, err := m.Active(ctx, owner)
	return int64(len(active)), err
}

func (m *memoryJobs) List(ctx context.Context, owner string, q jobs.Query) (jobs.Page, error) {
	found, total, err := m.ListAt(ctx, owner, jobs.Order{States: q.States, Limit: q.Limit, Offset: int(q.Before)})
	page := jobs.Page{Jobs: found}
	if next := q.Before + int64(len(found)); next < total {
		page.Next = next
	}
	return page, err
}

func (m *memoryJobs) ListAt(_ context.Context, owner string, o jobs.Order) ([]job.Job, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []job.Job
	for _, j := range m.jobs {
		if j.Account == owner && (len(o.States) == 0 || slices.Contains(o.States, j.State)) {
			found = append(found, j)
		}
	}
	slices.SortFunc(found, func(a, b job.Job) int { return cmp.Compare(b.ID, a.ID) })
	total := len(found)
	return found[min(o.Offset, total):min(o.Offset+o.Limit, total)], int64(total), nil
}

// Line pages by the number of jobs before, so that tests with few of them see several pages.
func (m *memoryJobs) Line(ctx context.Context, owner string, q jobs.Line) (jobs.LinePage, error) {
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

func (m *memoryJobs) QueuePositions(ctx context.Context, owner string, ids []job.ID) (map[job.ID]int64, error) {
	positions := map[job.ID]int64{}
	for _, id := range ids {
		if ahead, ok, err := m.QueuePosition(ctx, owner, id); ok || err != nil {
			if positions[id] = ahead; err != nil {
				return nil, err
			}
		}
	}
	return positions, nil
}

func (m *memoryJobs) QueuePosition(ctx context.Context, owner string, id job.ID) (int64, bool, error) {
	active, err := m.Active(ctx, owner)
	ahead := int64(0)
	for _, j := range active {
		switch {
		case j.State != job.Queued:
		case j.ID == id:
			return ahead, true, err
		default:
			ahead++
		}
	}
	return 0, false, err
}

func (m *memoryJobs) Load(context.Context, string, job.ID) (job.Source, error) {
	return job.Source{
		Prompt:    json.RawMessage(`{"1":{"class_type":"A","inputs":{}}}`),
		ExtraData: map[string]json.RawMessage{"client_id": json.RawMessage(`"c"`)},
	}, nil
}

func (m *memoryJobs) LoadWithin(ctx context.Context, owner string, id job.ID, most int64) (job.Source, bool, error) {
	src, err := m.Load(ctx, owner, id)
	return src, int64(len(src.Prompt)) <= most, err
}

func (m *memoryJobs) Steps(context.Context, job.ID, int) (map[string]stream.Step, error) {
	return map[string]stream.Step{"7": {Value: 1, Max: 4}, "gone": {Value: 1, Max: 2}}, nil
}

// hubLive subscribes to a hub and hands out the snapshot that a test set.
type hubLive struct {
	hub  *stream.Hub
	mu   sync.Mutex
	snap stream.Snapshot
}

func (l *hubLive) Subscribe(_ context.Context, owner string) (*stream.Subscription, stream.Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hub.Subscribe(owner), l.snap, nil
}

type plainLinks struct{}

func (plainLinks) Sign(asset, _, filename, _ string) (string, time.Time) {
	return "/files/" + asset + "/" + filename + "?sig=x", then.Add(time.Hour)
}

type parts []about.Part

func (p parts) Check(context.Context) []about.Part { return p }

// twoKeys accepts the keys of two accounts, and one that may only read.
type twoKeys struct{}

func (twoKeys) IdentityByKey(_ context.Context, hash account.KeyHash) (account.Identity, error) {
	all := []account.Scope{account.ScopeRead, account.ScopeWrite}
	for secret, id := range map[string]account.Identity{
		"key-a": {Account: "a", Tier: account.TierPro, Active: true, Scopes: all},
		"key-b": {Account: "b", Tier: account.TierPro, Active: true, Scopes: all},
		"read":  {Account: "a", Tier: account.TierPro, Active: true, Scopes: all[:1]},
		"lapse": {Account: "c", Tier: account.TierPro, Scopes: all},
	} {
		if account.HashKey(secret) == hash {
			return id, nil
		}
	}
	return account.Identity{}, fault.New(fault.NotFound, "", "no such key")
}

var then = time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC)

func start(t testing.TB, opts api.Options) *harness { return startWith(t, opts, func(*api.Deps) {}) }

// startWith starts the API over parts that change may replace.
func startWith(t testing.TB, opts api.Options, change func(*api.Deps)) *harness {
	h := &harness{jobs: &memoryJobs{jobs: map[job.ID]job.Job{}}, hub: stream.NewHub(stream.HubOptions{}), logs: &bytes.Buffer{}}
	h.live = &hubLive{hub: h.hub}
	var auth edge.Authenticator = account.Anyone{}
	switch opts.Mode {
	case account.ModeKeys:
		auth = account.NewKeys(twoKeys{})
	case account.ModeToken:
		static, err := account.NewStatic("s3cret")
		require.NoError(t, err)
		auth = static
	case account.ModeNone, "":
	}
	deps := api.Deps{
		Auth: auth, Jobs: h.jobs, Reader: h.jobs, Sources: h.jobs, Steps: h.jobs, Links: plainLinks{}, Live: h.live,
		Readiness: parts{{Name: "postgresql", OK: true, Required: true}, {Name: "temporal", Detail: "not reachable"}},
		Logger:    slog.New(slog.NewTextHandler(&lockedWriter{w: h.logs}, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	change(&deps)
	handler, err := api.New(deps, opts)
	require.NoError(t, err)
	server := httptest.NewServer(documented(t, opts, handler))
	t.Cleanup(server.Close)
	t.Cleanup(h.hub.Stop)
	h.url = server.URL
	return h
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// reply is an answer that was read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request; headers come in pairs.
func (h *harness) do(t *testing.T, method, path, body string, headers ...string) reply {
	req, err := http.NewRequestWithContext(t.Context(), method, h.url+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	return h.send(t, req)
}

func (h *harness) send(t *testing.T, req *http.Request) reply {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return reply{res.StatusCode, res.Header, string(raw)}
}

func (r reply) json(t *testing.T) map[string]any {
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.body), &v), r.body)
	return v
}
