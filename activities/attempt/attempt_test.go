package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/fault"
)

// A refusal by a contract is final; an outage, and what nobody has classified, is tried again.
func TestOnlyRefusalsAreFinal(t *testing.T) {
	t.Parallel()
	require.NoError(t, attempt.Error(nil))
	for kind, final := range map[fault.Kind]bool{
		fault.Invalid: true, fault.NotFound: true, fault.Conflict: true, fault.Denied: true, fault.Unauthenticated: true, fault.Exhausted: true,
		fault.Unavailable: false, fault.Canceled: false, fault.Internal: false,
	} {
		var app *temporal.ApplicationError
		err := attempt.Error(fault.New(kind, "", "reason"))
		require.Equal(t, final, errors.As(err, &app) && app.NonRetryable(), kind)
	}
	require.True(t, attempt.IsOutage(fault.New(fault.Exhausted, fault.CodeDiskFull, "no space")))
	require.False(t, attempt.IsOutage(nil))
}

// Messages of a database contain values of rows, which do not belong into histories; encrypted ones contain no text at all.
func TestFailuresInHistoriesHoldNoTextOfTheDatabase(t *testing.T) {
	t.Parallel()
	values := converter.GetDefaultDataConverter()
	cause := fmt.Errorf("append: %w", &pgconn.PgError{Code: "23505", Message: "duplicate key value (hidden)"})
	for _, encrypted := range []bool{false, true} {
		failures := attempt.Failures(values, encrypted)
		require.Nil(t, failures.ErrorToFailure(nil))
		failure := failures.ErrorToFailure(cause)
		require.NotContains(t, failure.GetMessage(), "duplicate key")
		require.Equal(t, encrypted, failure.GetEncodedAttributes() != nil)
		require.Equal(t, !encrypted, strings.Contains(failure.GetMessage(), "append"))
	}
}

// An attempt ends when Temporal says that it must, or that another one has begun, but not while Temporal is down.
func TestTheAnswersToAHeartbeat(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer error
		over   bool
	}{
		"it goes on":        {nil, false},
		"canceled":          {temporal.NewCanceledError(), true},
		"another has begun": {serviceerror.NewNotFound("no such activity"), true},
		"paused":            {activity.ErrActivityPaused, true},
		"reset":             {activity.ErrActivityReset, true},
		"Temporal is down":  {serviceerror.NewUnavailable("down"), false},
		"no answer in time": {context.DeadlineExceeded, false},
		"an unknown answer": {errors.New("unknown"), false},
	} {
		require.Equal(t, c.over, attempt.IsOver(c.answer), name)
	}
}

// An attempt asks Temporal after a silence whether another one has begun. Without an answer it goes on until the next silence.
func TestAnAttemptAsksAfterASilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, answer := 0, serviceerror.NewUnavailable("down")
		pulse := attempt.NewPulse(func(context.Context) error {
			asked++
			return answer
		})
		confirm := func(silence time.Duration, questions int) error {
			t.Helper()
			<-time.After(silence) // of the bubble
			err := pulse.Confirm(t.Context())
			require.Equal(t, questions, asked)
			return err
		}
		require.NoError(t, confirm(6*time.Second, 0))
		require.NoError(t, confirm(1, 1))
		require.NoError(t, confirm(6*time.Second, 1))
		answer = serviceerror.NewNotFound("no such activity")
		require.ErrorIs(t, confirm(1, 2), answer)
	})
}
