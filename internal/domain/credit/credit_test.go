package credit_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

func TestAmountsAreWrittenInDollarsAndInCredits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		micros           int64
		dollars, credits string
	}{
		{0, "0.00", "0.00"},
		{1, "0.000001", "0.00"},
		{24, "0.000024", "0.01"},
		{59_242, "0.059242", "12.50"},
		{amount.Dollar, "1.00", "211.00"},
		{12_500_000, "12.50", "2637.50"},
		{-1_500_000, "-1.50", "-316.50"},
		{credit.MaxAmount, "100000000.00", "21100000000.00"},
	} {
		require.Equal(t, c.dollars, amount.Dollars(c.micros))
		require.Equal(t, c.credits, credit.Credits(c.micros))
	}
	require.NotEmpty(t, amount.Dollars(math.MinInt64))
}

func TestFoldBalancesAndIgnoresRepeatedEvents(t *testing.T) {
	t.Parallel()
	events := []any{
		credit.GrantedV1{Micros: 100},
		credit.HeldV1{Hold: "a", Micros: 60},
		credit.HeldV1{Hold: "b", Micros: 40},
		credit.SettledV1{Hold: "a", Micros: 70, Held: 60},
		credit.ReleasedV1{Hold: "b", Micros: 40},
	}
	var l credit.Ledger
	require.False(t, l.Balance.Metered, "an account without a ledger")
	for i, event := range events {
		for range 2 {
			l.Apply(eventlog.Recorded{Version: int64(i + 1)}, event)
		}
		b := l.Balance
		require.Equal(t, b.Granted, b.Available+b.Held+b.Settled)
	}
	require.Equal(t, credit.Balance{Metered: true, Available: 30, Settled: 70, Granted: 100}, l.Balance)
	require.Equal(t, map[string]credit.Hold{"a": {Micros: 60, State: credit.Settled}, "b": {Micros: 40, State: credit.Released}}, l.Holds)
}

func TestEventIDsDifferByAccountReservationAndType(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, key := range [][3]string{{"a", "b", "c"}, {"ab", "", "c"}, {"a", "bc", ""}, {"b", "a", "c"}} {
		id := credit.EventID(key[0], key[1], key[2])
		require.Equal(t, id, credit.EventID(key[0], key[1], key[2]))
		require.False(t, seen[id.String()])
		seen[id.String()] = true
	}
}
