package serverusage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
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
	pool, view := projectiontest.NewPool(t), serverusage.NewProjection(types)
	projectiontest.Apply(t, pool, view, events...)
	projectiontest.Apply(t, pool, view, events[1:]...) // as a reader does that lost its place
	at := events[0].RecordedAt
	days, err := serverusage.NewReader(pool).Between(t.Context(), "acme", at.Add(-time.Hour), at.Add(24*time.Hour))
	require.NoError(t, err)
	for i := range days {
		days[i].Day = time.Time{}
	}
	require.Equal(t, []serverusage.Day{
		{Account: "acme", Server: "a", URL: "http://a", Segments: 1, GivenUp: 1, Millis: 2000},
		{Account: "acme", Server: "b", URL: "http://b", Segments: 2, Millis: 3500, Cost: 3500},
	}, days)
	all, err := serverusage.NewReader(pool).Between(t.Context(), "", at.Add(-time.Hour), at.Add(24*time.Hour))
	require.NoError(t, err)
	require.Len(t, all, 3)
}
