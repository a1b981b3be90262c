package job_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

func TestTimeOnServersIsBilledAtTheirPrice(t *testing.T) {
	t.Parallel()
	bill := job.Bill{}
	bill.Add(2, job.SubmittedV1{Price: &job.Price{Server: 2000}})
	for _, e := range []job.SegmentEndedV1{
		{Run: 2, Millis: 1500, Price: 1000, Outcome: job.SegmentDone},
		{Run: 2, Millis: 1000, Price: 9000, Outcome: job.SegmentFailed},  // a dearer server came later: 2000 at most
		{Run: 2, Millis: 9000, Price: 1000, Outcome: job.SegmentGivenUp}, // another attempt follows
		{Run: 1, Millis: 9000, Price: 1000, Outcome: job.SegmentDone},    // of a run that is not the one that ended
		{Run: 2, Millis: 500, Outcome: job.SegmentDone},                  // a free server
		{Run: 2, Millis: -5, Price: 1000, Outcome: job.SegmentCanceled},
	} {
		bill.Add(2, e)
	}
	require.EqualValues(t, 1500+2000, bill.Total(job.TypeFailed))
	require.False(t, job.Price{Server: 1}.Free())
	require.EqualValues(t, 60*2000, job.Price{Server: 2000}.Hold(), "a minute is held")
}
