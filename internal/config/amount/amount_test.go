package amount_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config/amount"
)

func TestAmountsAreReadExactly(t *testing.T) {
	t.Parallel()
	for text, micros := range map[string]int64{
		"0": 0, "25": 25_000_000, "0.05": 50_000, "0.000001": 1, "-3.5": -3_500_000, "100000000": amount.MaxDollars,
	} {
		got, err := amount.ParseDollars(text)
		require.NoError(t, err, text)
		require.Equal(t, micros, got, text)
	}
	for _, text := range []string{"", "-", ".5", "5.", "1e3", "0.0000001", "100000000.000001", "1,5", "+1", "--1", "NaN", "1_000", " 1"} {
		_, err := amount.ParseDollars(text)
		require.Error(t, err, text)
	}
}

func FuzzParseDollars(f *testing.F) {
	f.Add("12.50")
	f.Add("-0.000001")
	f.Fuzz(func(t *testing.T, text string) {
		micros, err := amount.ParseDollars(text)
		if err != nil {
			return
		}
		again, err := amount.ParseDollars(amount.Dollars(micros))
		require.NoError(t, err)
		require.Equal(t, micros, again)
	})
}

func TestSizesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "1073741824": 1 << 30, "512MiB": 512 << 20, "1.5GiB": 3 << 29, " 2 TiB ": 2 << 40, "7KiB": 7 << 10,
	} {
		got, err := amount.ParseBytes(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "1.5", "GiB", "12GB", "9999999999TiB", "1e30GiB", "NaNGiB", "infMiB", "-0.5GiB"} {
		_, err := amount.ParseBytes(text)
		require.Error(t, err, text)
	}
	for want, bytes := range map[string]int64{"0 B": 0, "1023 B": 1023, "1 KiB": 1024, "1.5 GiB": 3 << 29, "367 B": 367, "2 TiB": 2 << 40} {
		require.Equal(t, want, amount.Bytes(bytes))
	}
}
