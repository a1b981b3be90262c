package account_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
)

func TestSizesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "1073741824": 1 << 30, "512MiB": 512 << 20, "1.5GiB": 3 << 29, " 2 TiB ": 2 << 40, "7KiB": 7 << 10,
	} {
		got, err := account.ParseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "1.5", "GiB", "12GB", "9999999999TiB", "1e30GiB", "NaNGiB", "infMiB", "-0.5GiB"} {
		_, err := account.ParseSize(text)
		require.Error(t, err, text)
	}
	for want, bytes := range map[string]int64{"0 B": 0, "1023 B": 1023, "1 KiB": 1024, "1.5 GiB": 3 << 29, "367 B": 367, "2 TiB": 2 << 40} {
		require.Equal(t, want, account.Size(bytes))
	}
	require.True(t, account.Storage{Bytes: 5, Limit: 5}.Full())
	require.False(t, account.Storage{Bytes: 5}.Full(), "no limit")
}
