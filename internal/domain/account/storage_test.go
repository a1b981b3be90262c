package account_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestAnAccountIsFullAtItsLimit(t *testing.T) {
	t.Parallel()
	require.True(t, account.Storage{Bytes: 5, Limit: 5}.Full())
	require.False(t, account.Storage{Bytes: 5}.Full(), "no limit")
}

func TestStorageLimitIsABoundOrNone(t *testing.T) {
	t.Parallel()
	check := func(bytes int64) error {
		return account.Change{Account: "a", Actor: "ops", Storage: &account.StorageLimit{Bytes: &bytes}}.Check()
	}
	require.NoError(t, check(0), "no limit")
	require.NoError(t, check(1))
	require.Equal(t, fault.Invalid, fault.KindOf(check(-1)))
	require.NoError(t, account.Change{Account: "a", Actor: "ops", Storage: &account.StorageLimit{}}.Check(), "that of the deployment")
	own := int64(0)
	require.EqualValues(t, 7, account.Account{}.StorageLimit(7))
	require.Zero(t, account.Account{Storage: &own}.StorageLimit(7))
}
