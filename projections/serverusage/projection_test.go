package serverusage_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	domain "github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/projections/projectiontest"
	"github.com/millrace-dev/millrace/projections/serverusage"
)

func ended(stream, account, server string, attempt int, millis int64, outcome string) projectiontest.Given {
	return projectiontest.Given{Stream: stream, Account: account, Type: job.TypeSegmentEnded, Data: job.SegmentEndedV1{
		Run: 1, Segment: 3, Attempt: attempt, Server: server, URL: "http://" + server, Millis: millis, Outcome: outcome, Price: 1000,
	}}
}

func TestTimeOnServersIsAddedUpByDayAccountAndServer(t *testing.T) {
	t.Parallel()
	types := eventlogtest.Registry(t)
	require.NoError(t, job.Register(types))
	events := projectiontest.Record(t, types,
		ended("job-1", "acme", "a", 1, 2000, job.SegmentGivenUp),
		ended("job-1", "acme", "b", 2, 3000, job.SegmentDone),
		ended("job-2", "acme", "b", 1, 500, job.SegmentFailed),
		ended("job-3", "beta", "b", 1, 1000, job.SegmentDone),
	)
	db, view := projectiontest.NewPool(t), serverusage.NewProjection(types)
	projectiontest.Apply(t, db, view, events...)
	projectiontest.Apply(t, db, view, events[1:]...) // as a reader does that lost its place
	at := events[0].RecordedAt
	days, err := serverusage.NewReader(db).Between(t.Context(), "acme", at.Add(-time.Hour), at.Add(24*time.Hour))
	require.NoError(t, err)
	for i := range days {
		days[i].Day = time.Time{}
	}
	require.Equal(t, []serverusage.Day{
		{Account: "acme", Server: "a", URL: "http://a", Segments: 1, GivenUp: 1, Millis: 2000},
		{Account: "acme", Server: "b", URL: "http://b", Segments: 2, Millis: 3500, Cost: 3500},
	}, days)
	all, err := serverusage.NewReader(db).Between(t.Context(), "", at.Add(-time.Hour), at.Add(24*time.Hour))
	require.NoError(t, err)
	require.Len(t, all, 3)
}

func stopped(stream, machine, server string, seconds int64) projectiontest.Given {
	return projectiontest.Given{Stream: stream, Type: pool.TypeStopped, Data: pool.StoppedV1{
		Machine: machine, Server: domain.ID(server), Seconds: seconds, Price: 1000,
	}}
}

// The time of a machine without work is shared among those for whom it has worked, and none is lost or counted twice.
func TestTimeOfMachinesWithoutWorkIsShared(t *testing.T) {
	t.Parallel()
	types := eventlogtest.Registry(t)
	require.NoError(t, errors.Join(job.Register(types), pool.Register(types)))
	events := projectiontest.Record(t, types,
		ended("job-1", "acme", "m", 1, 500, job.SegmentGivenUp),
		ended("job-2", "acme", "m", 1, 1500, job.SegmentDone),
		ended("job-3", "beta", "m", 1, 1000, job.SegmentDone),
		ended("job-4", "beta", "other", 1, 9000, job.SegmentDone),
		stopped("pool-p", "p-1", "m", 9),
		ended("job-5", "late", "m", 1, 1000, job.SegmentDone),
		stopped("pool-p", "p-2", "", 5), // it never joined
		ended("job-6", "beta", "full", 1, 5000, job.SegmentDone),
		stopped("pool-p", "p-3", "full", 4), // its last segment ended with it
	)
	read := func(batches ...[]eventlog.Recorded) []serverusage.Day {
		db, view := projectiontest.NewPool(t), serverusage.NewProjection(types)
		for _, batch := range batches {
			projectiontest.Apply(t, db, view, batch...)
		}
		at := events[0].RecordedAt
		days, err := serverusage.NewReader(db).Between(t.Context(), "", at.Add(-time.Hour), at.Add(24*time.Hour))
		require.NoError(t, err)
		for i := range days {
			days[i].Day = time.Time{}
		}
		sum, err := serverusage.NewReader(db).Sum(t.Context(), "acme", at.Add(-time.Hour), at.Add(24*time.Hour))
		require.NoError(t, err)
		require.Equal(t, []int64{2, 2000, 1500, 4000, 4000}, []int64{sum.Segments, sum.Millis, sum.Cost, sum.Idle, sum.IdleCost})
		return days
	}
	want := []serverusage.Day{
		{URL: "p-2", Idle: 5000, IdleCost: 5000},
		{Account: "acme", Server: "m", URL: "http://m", Segments: 2, GivenUp: 1, Millis: 2000, Cost: 1500, Idle: 4000, IdleCost: 4000},
		{Account: "beta", Server: "full", URL: "http://full", Segments: 1, Millis: 5000, Cost: 5000},
		{Account: "beta", Server: "m", URL: "http://m", Segments: 1, Millis: 1000, Cost: 1000, Idle: 2000, IdleCost: 2000},
		{Account: "beta", Server: "other", URL: "http://other", Segments: 1, Millis: 9000, Cost: 9000},
		{Account: "late", Server: "m", URL: "http://m", Segments: 1, Millis: 1000, Cost: 1000},
	}
	require.Equal(t, want, read(events), "in one batch")
	require.Equal(t, want, read(events[:3], events[3:6], events[4:], events), "in several, some of them twice")
}
