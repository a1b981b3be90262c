package account_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
)

func TestAnAccountIsFullAtItsLimit(t *testing.T) {
	t.Parallel()
	require.True(t, account.Storage{Bytes: 5, Limit: 5}.Full())
	require.False(t, account.Storage{Bytes: 5}.Full(), "no limit")
}
