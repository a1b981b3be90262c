package eventlog_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// interrupted is a tail whose every second read fails, and which is closed after a number of events.
type interrupted struct {
	eventlog.Tail
	reads, last int64
}

func (i *interrupted) Next(_ context.Context, after int64, _ int) ([]eventlog.Recorded, error) {
	i.reads++
	switch {
	case i.reads%2 == 1:
		return nil, fault.New(fault.Unavailable, "", "the connection to the database broke")
	case after == i.last:
		return nil, eventlog.ErrTailClosed
	}
	return []eventlog.Recorded{{Position: after + 1}}, nil
}

// A reader that lagged behind reads from the database, which may fail over meanwhile.
func TestFollowingResumesAfterAnInterruption(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []int64
		err := eventlog.Follow(t.Context(), &interrupted{last: 3}, 0, func(events []eventlog.Recorded) {
			seen = append(seen, events[0].Position)
		})
		require.ErrorIs(t, err, eventlog.ErrTailClosed)
		require.Equal(t, []int64{1, 2, 3}, seen)
	})
}
