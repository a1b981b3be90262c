package job_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

func TestFailuresInTheWordsOfTheSelfHostedRuntime(t *testing.T) { // W-64
	t.Parallel()
	for ours, theirs := range map[string]string{
		"ValidationError": "ValueError", "OOMError": "torch.OutOfMemoryError", "ServiceError": "RuntimeError",
		"ModelDownloadError": "FileNotFoundError", "ImageDownloadError": "requests.exceptions.RequestException",
		"InsufficientFundsError": "PermissionError", "InactiveSubscriptionError": "PermissionError", "KeptAsItIs": "KeptAsItIs",
	} {
		f := &job.Failure{ExceptionType: ours, Traceback: []string{"node 4 (X)\n", ours + ": too wide\n"}}
		got := f.InRuntimeNames()
		require.Equal(t, theirs, got.ExceptionType)
		require.Equal(t, []string{"node 4 (X)\n", theirs + ": too wide\n"}, got.Traceback)
		require.Equal(t, ours, f.ExceptionType, "the event stays as it is")
	}
	require.Nil(t, (*job.Failure)(nil).InRuntimeNames())
}
