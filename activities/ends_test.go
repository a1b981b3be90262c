package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
)

// stoppable are calls of models that can be canceled.
type stoppable struct {
	activities.NodeCalls
	of []call.JobRun
}

func (s *stoppable) StopJob(_ context.Context, account string, of call.JobRun, _ string) error {
	if account == "a" {
		s.of = append(s.of, of)
	}
	return nil
}

// The calls of a run that does not succeed are canceled with it. An end of no known kind is refused.
func TestCallsEndWithTheirRun(t *testing.T) {
	t.Parallel()
	for outcome, stopped := range map[activities.Outcome]bool{
		activities.Succeeded: false, activities.Failed: true, activities.Canceled: true, "other": false,
	} {
		b := newBench(t, showPrompt, []string{"1"}, shows("x"))
		calls := &stoppable{}
		b.activities.Partners, b.activities.Jobs, b.activities.Tiers = &activities.Partners{Calls: calls}, ends{b.log}, noLimits{}
		failure := &job.Failure{Code: fault.CodeUpstreamError, Message: "x"}
		end, err := b.finish(t, activities.FinishParams{Outcome: outcome, Failure: failure})
		if outcome == "other" {
			require.ErrorContains(t, err, `unknown outcome "other"`)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, outcome, end.Outcome)
		require.Equal(t, stopped, len(calls.of) == 1)
		if stopped {
			require.Equal(t, []call.JobRun{{Job: string(b.ref.Job), Run: 1}}, calls.of)
		}
	}
	b := newBench(t, showPrompt, []string{"1"}, shows("x"))
	_, err := b.finish(t, activities.FinishParams{Outcome: activities.Failed, Node: "7"})
	require.ErrorContains(t, err, "has no recorded failure of node 7")
}

// What clients read of the failure of a node on a server follows the exception and its message.
func TestExceptionsOfServersFollowTheContract(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, message, want string }{
		{"torch.OutOfMemoryError", "no memory", "OOMError"},
		{"FileNotFoundError", "Model in folder 'loras' is gone", "ModelDownloadError"},
		{"FileNotFoundError", "another file", "ValidationError"},
		{"huggingface_hub.errors.HfHubHTTPError", "403", "ModelDownloadError"},
		{"requests.exceptions.ConnectionError", "away", "ImageDownloadError"},
		{"urllib.error.URLError", "away", "ImageDownloadError"},
		{"Exception", "Payment Required: add credits", "InsufficientFundsError"},
		{"ValueError", "no", "ValidationError"},
		{"json.decoder.JSONDecodeError", "no", "ValidationError"},
		{"PIL.UnidentifiedImageError", "no", "ValidationError"},
		{"RuntimeError", "no", "ServiceError"},
	} {
		b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
		_, err := b.activities.FailAttempt(t.Context(), &fleet{losing{bench: b}}, b.ref, server.Lease{
			Key: server.Key{Job: b.ref.Job, Run: b.ref.Run}, Server: "first", Attempt: 1, Fresh: true,
		}, activities.AttemptFailure{Server: &freeing{}, Cause: &driving.NodeError{ExecutionError: comfyui.ExecutionError{
			Node: "5", Class: "KSampler", Type: c.kind, Message: c.message + "\n", Traceback: []string{"at /home/x/ComfyUI/nodes.py\n"},
		}}})
		require.EqualError(t, err, c.message)
		failure := activities.FailureOf(err)
		require.Equal(t, job.Failure{
			Code: fault.CodeNodeExecutionError, Message: c.message, Node: "5", Class: "KSampler", ExceptionType: c.want, RuntimeType: c.kind,
			Traceback: []string{"at nodes.py\n"},
		}, failure, c.kind)
	}
}

// A prompt that a server interrupts, or of which pictures were missed, is sent again a few times.
func TestAnInterruptedPromptIsSentAgain(t *testing.T) {
	t.Parallel()
	interrupted := fault.New(fault.Conflict, fault.CodeServerInterrupted, "interrupted")
	missed := fault.New(fault.NotFound, fault.CodePicturesMissed, "pictures were missed")
	for name, c := range map[string]struct {
		cause error
		past  []job.Cause
		again string // why; "" = none follows
		says  string
	}{
		"interrupted":             {interrupted, nil, "it was interrupted on its server", ""},
		"interrupted three times": {interrupted, []job.Cause{job.Interrupted, job.Interrupted}, "it was interrupted on its server", ""},
		"interrupted too often": {
			interrupted, []job.Cause{job.Interrupted, job.Interrupted, job.Interrupted}, "", "the prompt was interrupted on its server too often",
		},
		"missed":           {missed, []job.Cause{job.PromptRefused, job.FileMissing}, "pictures that a node sent were missed", ""},
		"missed too often": {missed, []job.Cause{job.PromptRefused, job.FileMissing, job.FileMissing}, "", "pictures were missed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, gatedPrompt, []string{"3"}, gated("")...)
			for n, cause := range c.past {
				b.append(t, job.TypeSegmentEnded, job.SegmentEndedV1{Run: 1, Attempt: n + 1, Cause: cause, Outcome: job.SegmentGivenUp})
			}
			wait, err := b.activities.FailAttempt(t.Context(), &losing{bench: b}, b.ref, server.Lease{
				Key: server.Key{Job: b.ref.Job, Run: b.ref.Run}, Server: "first", Attempt: len(c.past) + 1, Since: time.Now(),
			}, activities.AttemptFailure{Cause: c.cause})
			if c.again != "" {
				require.NoError(t, err)
				require.Equal(t, &server.Wait{Cause: c.again}, wait)
				return
			}
			require.EqualError(t, err, c.says)
			require.Equal(t, "ServiceError", activities.FailureOf(err).ExceptionType)
		})
	}
}
