package called_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/called"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestTooManyWaitingRequestsOfAnAccountAreRefused(t *testing.T) {
	t.Parallel()
	s := called.New(called.Deps{MaxWaits: 1})
	leave, err := s.Enter("a")
	require.NoError(t, err)
	_, err = s.Enter("a")
	require.Equal(t, fault.CodeTooManyStreams, fault.CodeOf(err))
	other, err := s.Enter("b")
	require.NoError(t, err, "another account is not kept out")
	other()
	leave()
	leave, err = s.Enter("a")
	require.NoError(t, err)
	leave()
}
