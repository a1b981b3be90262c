package livestore_test

import (
	"context"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// A worker is on the list while it works; one that stops leaves at once, and one that is killed is missed within ten
// seconds.
func TestWorkersThatStoppedAreSeen(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	list := livestore.NewWorkers(pool)
	workers := func() int {
		f, err := list.Workforce(t.Context())
		require.NoError(t, err)
		return f.Workers
	}
	require.Zero(t, workers())

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); list.Run(ctx, "host/1", livestore.Rules{}, slog.New(slog.DiscardHandler)) }()
	require.Eventually(t, func() bool { return workers() == 1 }, time.Minute, 10*time.Millisecond)
	stop()
	<-ended
	require.Zero(t, workers(), "it took itself off the list")

	for age, want := range map[string]int{"5 seconds": 1, "11 seconds": 0} { // without a word, as after kill -9
		_, err := pool.Exec(t.Context(), `insert into workers values ('killed', now() - $1::text::interval)
			on conflict (id) do update set heartbeat = excluded.heartbeat`, age)
		require.NoError(t, err)
		require.Equal(t, want, workers(), age)
	}
}

func TestAdmittedJobsWaitForAWorkerUntilOneBegins(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	list := livestore.NewWorkers(pool)
	id := uuid.New()
	record := func(version int, event string) {
		_, err := pool.Exec(t.Context(), `insert into events (stream, version, id, type, account, data, meta, recorded_at)
			values ('job-' || $1::uuid, $2, $3, $4, 'a', '{}', '{}', now())`, id, version, uuid.New(), event)
		require.NoError(t, err)
	}
	record(1, "job.submitted.v1")
	record(2, "job.admitted.v1")
	_, err := pool.Exec(t.Context(), `insert into job_slots (job_id, account, run, admitted_at) values ($1, 'a', 1,
		now() - interval '20 minutes')`, id)
	require.NoError(t, err)
	f, err := list.Workforce(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, f.Waiting)
	require.InDelta(t, 20, f.Oldest.Minutes(), 1)

	record(3, "job.started.v1")
	f, err = list.Workforce(t.Context())
	require.NoError(t, err)
	require.Equal(t, livestore.Workforce{}, f)
}

// Commands judge by what all running workers agree on; one that was killed has no say.
func TestRulesAreThoseOfTheRunningWorkers(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	list := livestore.NewWorkers(pool)
	_, ok, err := list.Rules(t.Context())
	require.NoError(t, err)
	require.False(t, ok, "nobody works")

	work := func(id string, rules livestore.Rules) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); list.Run(ctx, id, rules, slog.New(slog.DiscardHandler)) }()
		t.Cleanup(func() { stop(); <-ended })
	}
	work("a", livestore.Rules{WebhookAllow: []string{"one:1", "two:2"}, Absent: []string{"SaveVideo"}, Machines: 2})
	work("b", livestore.Rules{WebhookAllow: []string{"two:2", "three:3"}, Absent: []string{"LoadAudio"}, Machines: 1})
	_, err = pool.Exec(t.Context(), `insert into workers values ('killed', now() - interval '9 seconds', '{"webhook_allow": []}')`)
	require.NoError(t, err)
	want := livestore.Rules{WebhookAllow: []string{"two:2"}, Absent: []string{"LoadAudio", "SaveVideo"}, Machines: 3}
	require.Eventually(t, func() bool {
		rules, ok, err := list.Rules(t.Context())
		require.NoError(t, err)
		return ok && reflect.DeepEqual(want, rules)
	}, time.Minute, 10*time.Millisecond)
}
