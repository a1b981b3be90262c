package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/fault"
)

// A refusal ends an activity with its sentence. An error that is made for Temporal, and an outage, stay what they are.
func TestAnErrorForTemporal(t *testing.T) {
	t.Parallel()
	var app *temporal.ApplicationError
	require.ErrorAs(t, attempt.Error(fmt.Errorf("find: %w", fault.New(fault.NotFound, "", "no such thing"))), &app)
	require.Equal(t, attempt.ErrFinal, app.Type())
	require.Equal(t, "find: no such thing", app.Message())
	own := fault.Wrap(temporal.NewApplicationError("again", "own"), fault.Invalid, "", "it is wrapped")
	require.Equal(t, error(own), attempt.Error(own))
	away := fault.New(fault.Unavailable, "", "away")
	require.Equal(t, error(away), attempt.Error(away))
	require.False(t, attempt.IsOutage(fault.New(fault.Exhausted, fault.CodeForbidden, "no more")))
	require.False(t, attempt.IsOutage(errors.New("a bug")))
}

// A panic is an error with its stack, and not an outage. Without one, the error is that of the function.
func TestAPanicIsAnError(t *testing.T) {
	t.Parallel()
	run := func(text string, err error) (result error) {
		defer attempt.Contain(&result)
		if text != "" {
			panic(text)
		}
		return err
	}
	err := run("a bug", nil)
	var panicked *attempt.Panic
	require.ErrorAs(t, err, &panicked)
	require.Regexp(t, `(?s)^panic: a bug\n.*pulse_test\.go`, err.Error())
	require.False(t, attempt.IsOutage(err))
	own := errors.New("no")
	require.Equal(t, own, run("", own))
	require.NoError(t, run("", nil))
}

// noEncoding is a converter that encodes nothing.
type noEncoding struct{ converter.DataConverter }

func (noEncoding) ToPayload(any) (*commonpb.Payload, error) {
	return nil, errors.New("no key")
}

// The causes of a failure contain no text of the database either, and a text that cannot be encrypted is not stored.
func TestNoPartOfAFailureTellsMoreThanItMay(t *testing.T) {
	t.Parallel()
	cause := &pgconn.PgError{Code: "23505", Message: "duplicate key value (hidden)"}
	err := temporal.NewApplicationErrorWithCause("append", "x", fmt.Errorf("write: %w", cause))
	failure := attempt.Failures(converter.GetDefaultDataConverter(), false).ErrorToFailure(err)
	require.Contains(t, failure.GetMessage(), "append")
	require.NotNil(t, failure.GetCause())
	for part := failure; part != nil; part = part.GetCause() {
		require.NotContains(t, part.GetMessage(), "hidden")
		require.Nil(t, part.GetEncodedAttributes())
	}
	failure = attempt.Failures(converter.GetDefaultDataConverter(), true).ErrorToFailure(err)
	for part := failure; part != nil; part = part.GetCause() {
		require.NotNil(t, part.GetEncodedAttributes())
		require.NotContains(t, part.GetMessage(), "append")
	}
	failure = attempt.Failures(noEncoding{converter.GetDefaultDataConverter()}, true).ErrorToFailure(errors.New("a secret"))
	require.Equal(t, "the message could not be encrypted", failure.GetMessage())
	require.Empty(t, failure.GetStackTrace())
}

// An attempt sends heartbeats while it works, each for a bounded time. It hears from Temporal by their answers, and the SDK hears of those
// that end the attempt.
func TestAnAttemptSendsHeartbeats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer error
		tells  bool // the SDK
		asks   bool // the attempt after its heartbeats, whether another has begun
	}{
		"it goes on":        {nil, false, false},
		"canceled":          {temporal.NewCanceledError(), true, true},
		"Temporal is down":  {serviceerror.NewUnavailable("down"), false, true},
		"another has begun": {serviceerror.NewNotFound("no such activity"), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var suite testsuite.WorkflowTestSuite
				env := suite.NewTestActivityEnvironment()
				env.SetTestTimeout(time.Hour)
				heard := 0
				env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { heard++ })
				var at, within []time.Duration
				var asked error
				work := func(ctx context.Context) error {
					began := time.Now()
					pulse := attempt.NewPulse(func(ctx context.Context) error {
						until, _ := ctx.Deadline()
						at, within = append(at, time.Since(began)), append(within, time.Until(until))
						return c.answer
					})
					working, stop := context.WithCancel(context.WithoutCancel(ctx))
					time.AfterFunc(10*time.Second, stop)
					pulse.Run(working)
					require.Equal(t, 10*time.Second, time.Since(began))
					asked = pulse.Confirm(context.WithoutCancel(ctx))
					return nil
				}
				env.RegisterActivity(work)
				_, _ = env.ExecuteActivity(work)
				synctest.Wait()
				second := time.Second
				wantAt, wantWithin := []time.Duration{3 * second, 6 * second, 9 * second}, []time.Duration{10 * second, 10 * second, 10 * second}
				if c.asks {
					wantAt, wantWithin = append(wantAt, 10*second), append(wantWithin, 2*second)
				}
				require.Equal(t, wantAt, at)
				require.Equal(t, wantWithin, within)
				require.Equal(t, c.tells, heard > 0)
				require.Equal(t, name == "another has begun", asked != nil)
				require.Equal(t, asked != nil, attempt.IsOutage(asked), "the attempt leaves its work to the other one")
			})
		})
	}
}
