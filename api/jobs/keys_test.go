package jobs_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/api/assets"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

// keyedJobs records jobs under their keys. A commit may lose its answer, and the database may be away afterwards.
type keyedJobs struct {
	*apitest.MemoryJobs
	assets.IdempotencyKeys

	mu       sync.Mutex // guards all below
	made     map[string]job.ID
	sources  map[job.ID]job.Source
	answered map[string]bool
	loses    bool // the answer of the next commit
	away     bool // for what is read
}

func startKeyed(t *testing.T) (*apitest.Harness, *keyedJobs) {
	t.Helper()
	k := &keyedJobs{made: map[string]job.ID{}, sources: map[job.ID]job.Source{}, answered: map[string]bool{}}
	h := apitest.StartWith(t, apitest.Options{}, func(d *apitest.Deps) {
		k.MemoryJobs, _ = d.Jobs.(*apitest.MemoryJobs)
		d.Jobs, d.Reader, d.Queue, d.Sources, d.Keys = k, k, k, k, k
	})
	return h, k
}

func (k *keyedJobs) reused() error {
	return fault.New(fault.Conflict, fault.CodeIdempotencyKeyReuse, "this Idempotency-Key was already used in the last 24 hours")
}

func (k *keyedJobs) Submit(ctx context.Context, sub job.Submission) (job.Submitted, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made[sub.IdempotencyKey] != "" {
		return job.Submitted{}, k.reused()
	}
	done, err := k.MemoryJobs.Submit(ctx, sub)
	if err != nil {
		return done, err
	}
	k.made[sub.IdempotencyKey] = done.Job.ID
	k.sources[done.Job.ID] = job.Source{Prompt: sub.Prompt, ExtraData: sub.ExtraData}
	if k.loses {
		k.loses = false
		return job.Submitted{}, fault.New(fault.Unavailable, "", "the connection broke")
	}
	return done, nil
}

func (k *keyedJobs) Load(_ context.Context, _ string, id job.ID) (job.Source, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sources[id], nil
}

func (k *keyedJobs) QueuePositions(ctx context.Context, owner string, ids []job.ID) (map[job.ID]int64, error) {
	k.mu.Lock()
	away := k.away
	k.mu.Unlock()
	if away {
		return nil, fault.New(fault.Unavailable, "", "the database is away")
	}
	return k.MemoryJobs.QueuePositions(ctx, owner, ids)
}

func (k *keyedJobs) Check(_ context.Context, _, _, key string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.away:
		return fault.New(fault.Unavailable, "", "the database is away")
	case k.made[key] != "":
		return k.reused()
	}
	return nil
}

func (k *keyedJobs) Unanswered(_ context.Context, _, _, key string) (uuid.UUID, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answered[key] || k.made[key] == "" {
		return uuid.Nil, false, nil
	}
	return uuid.MustParse(string(k.made[key])), true, nil
}

func (k *keyedJobs) Answered(_ context.Context, _, _, key string, _ uuid.UUID) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answered[key] = true
	return nil
}

func (k *keyedJobs) jobOf(key string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return string(k.made[key])
}

// A client that was answered with a failure, although its job was recorded, learns the job when it sends the same
// request again. A key that was answered is refused.
func TestKeyWithoutStoredAnswerReturnsItsJob(t *testing.T) {
	t.Parallel()
	h, k := startKeyed(t)
	k.loses, k.away = true, true
	const body = `{"workflow":{"1":{"class_type":"A","inputs":{"text":"a < b"}}},"metadata":{"a":"b"},"priority":3,` +
		`"extra_data":{"extra_pnginfo":{"x":1}}}`
	post := func(body string) apitest.Reply { return h.Do(t, "POST", "/api/v2/jobs", body, "Idempotency-Key", "k") }
	require.Equal(t, http.StatusServiceUnavailable, post(body).Status)
	k.away = false
	for _, other := range []string{
		`{"workflow":{"1":{"class_type":"A","inputs":{"text":"a < c"}}},"metadata":{"a":"b"},"priority":3,` +
			`"extra_data":{"extra_pnginfo":{"x":1}}}`,
		`{"workflow":{"1":{"class_type":"A","inputs":{"text":"a < b"}}},"metadata":{"a":"c"},"priority":3,` +
			`"extra_data":{"extra_pnginfo":{"x":1}}}`,
		`{"workflow":{"1":{"class_type":"A","inputs":{"text":"a < b"}}},"metadata":{"a":"b"},"priority":4,` +
			`"extra_data":{"extra_pnginfo":{"x":1}}}`,
		`{"workflow":{"1":{"class_type":"A","inputs":{"text":"a < b"}}},"metadata":{"a":"b"},"priority":3}`,
	} {
		require.Equal(t, http.StatusUnprocessableEntity, post(other).Status, "another request: %s", other)
	}
	again := post(body)
	require.Equal(t, http.StatusCreated, again.Status, again.Body)
	require.Equal(t, k.jobOf("k"), again.JSON(t)["id"])
	require.Contains(t, again.Header.Get("Location"), k.jobOf("k"))
	third := post(body)
	require.Equal(t, http.StatusUnprocessableEntity, third.Status)
	require.Contains(t, third.Body, "idempotency_key_reuse")
	require.Len(t, k.Submitted, 1, "one job was made")
}

// What is recorded is answered, also when the database is away by the time the answer is made.
func TestARecordedJobIsAnsweredWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	h, k := startKeyed(t)
	k.away = true
	got := h.Do(t, "POST", "/api/v2/jobs", `{"workflow":{}}`, "Idempotency-Key", "k")
	require.Equal(t, http.StatusCreated, got.Status, got.Body)
	require.Equal(t, k.jobOf("k"), got.JSON(t)["id"])
	require.Nil(t, got.JSON(t)["queue_position"])
}

// While the database answers again, the request whose commit lost its answer is answered at once.
func TestUnansweredCommitIsResolved(t *testing.T) {
	t.Parallel()
	h, k := startKeyed(t)
	k.loses = true
	got := h.Do(t, "POST", "/api/v2/jobs", `{"workflow":{}}`, "Idempotency-Key", "k")
	require.Equal(t, http.StatusCreated, got.Status, got.Body)
	require.Equal(t, k.jobOf("k"), got.JSON(t)["id"])
}
