package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// losing is a store of servers that are lost. It records the events of segments in the log of a bench.
type losing struct {
	placement.Store
	*bench
	result json.RawMessage // of the segment; nil = it has none
}

func (*losing) MarkAway(context.Context, server.ID, string) error              { return nil }
func (*losing) RecordOutcome(context.Context, server.ID, server.Outcome) error { return nil }
func (*losing) Orphan(context.Context, server.Lease) error                     { return nil }

func (l *losing) Record(ctx context.Context, _ server.Lease, a eventlog.Append, result json.RawMessage) ([]eventlog.Recorded, error) {
	l.result = result
	return l.log.Append(ctx, a)
}

// Attempts of a segment that no other bound ends are bounded together, by their number and their time on servers. All earlier
// attempts count, whoever made them; those that a server did not begin count for neither.
func TestAttemptsOfASegmentAreBounded(t *testing.T) {
	t.Parallel()
	lost := fault.New(fault.Unavailable, fault.CodeServerGivenUp, "the server is lost")
	notBegun := fault.Wrap(driving.ErrNotBegun, fault.Unavailable, fault.CodeServerGivenUp, "the server did not begin the prompt")
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		lost, waited int           // earlier attempts that were lost, and that did not begin
		each         time.Duration // of each earlier attempt
		runs         time.Duration // this attempt
		cause        error
		given        string // up after; "" = another attempt follows
	}{
		"the first attempt":                              {cause: lost},
		"the ninth attempt":                              {lost: 8, cause: lost},
		"the tenth attempt":                              {lost: 9, cause: lost, given: "10 attempts"},
		"ten attempts, of which one did not begin":       {lost: 8, waited: 1, cause: lost},
		"eleven attempts, of which one did not begin":    {lost: 9, waited: 1, cause: lost, given: "10 attempts"},
		"an attempt that does not begin, after nine":     {lost: 9, cause: notBegun},
		"an attempt that does not begin, after fifty":    {waited: 50, each: day, cause: notBegun},
		"less than a day on servers":                     {lost: 2, each: day / 3, runs: day/3 - time.Minute, cause: lost},
		"more than a day on servers":                     {lost: 2, each: day / 3, runs: day/3 + time.Minute, cause: lost, given: "3 attempts"},
		"more than a day in the queues of servers":       {waited: 2, each: day, runs: time.Minute, cause: lost},
		"more than a day on one server":                  {runs: day + time.Minute, cause: lost, given: "1 attempts"},
		"attempts of another run and of another segment": {lost: -20, each: day, cause: lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
			made := 0
			earlier := func(why job.Cause, run, segment int) {
				made++
				b.append(t, job.TypeSegmentEnded, job.SegmentEndedV1{
					Run: run, Segment: segment, Node: "5", Attempt: made, Server: fmt.Sprint("lost-", made), Millis: c.each.Milliseconds(),
					Outcome: job.SegmentGivenUp, Cause: why,
				})
			}
			for range c.lost {
				earlier(job.ServerLost, b.ref.Run, 0)
			}
			for range c.waited {
				earlier(job.NotBegun, b.ref.Run, 0)
			}
			attempt := made + 1
			for n := range -c.lost {
				earlier(job.ServerLost, b.ref.Run+n%2, 1-n%2)
			}
			store := &losing{bench: b}
			again, err := b.activities.FailAttempt(t.Context(), store, b.ref, server.Lease{
				Key: server.Key{Job: b.ref.Job, Run: b.ref.Run}, Server: "last", Attempt: attempt, Since: time.Now().Add(-c.runs),
			}, c.cause)
			require.Equal(t, c.given == "", again, "%v", err)
			if again {
				require.NoError(t, err)
				require.Nil(t, store.result)
				return
			}
			require.ErrorContains(t, err, "given up after "+c.given+" on servers; the last one: ")
			require.ErrorContains(t, err, "the server is lost")
			require.Contains(t, string(store.result), `"5"`, "later drivers find the failure, and it names the node")
		})
	}
}
