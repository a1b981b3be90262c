package credit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Each event moves its amounts between the available, the reserved and the spent ones, and an unknown one moves nothing.
func TestEachEventMovesItsAmounts(t *testing.T) {
	t.Parallel()
	var l credit.Ledger
	for i, c := range []struct {
		event any
		want  credit.Balance
		holds map[string]credit.Hold
	}{
		{credit.GrantedV1{Micros: 100}, credit.Balance{Metered: true, Available: 100, Granted: 100}, map[string]credit.Hold{}},
		{credit.GrantedV1{Micros: -10}, credit.Balance{Metered: true, Available: 90, Granted: 90}, map[string]credit.Hold{}},
		{
			credit.HeldV1{Hold: "a", Micros: 60},
			credit.Balance{Metered: true, Available: 30, Held: 60, Granted: 90},
			map[string]credit.Hold{"a": {Micros: 60, State: credit.Held}},
		},
		{
			credit.SettledV1{Hold: "a", Micros: 50, Held: 60},
			credit.Balance{Metered: true, Available: 40, Settled: 50, Granted: 90},
			map[string]credit.Hold{"a": {Micros: 60, State: credit.Settled}},
		},
		{
			"unknown",
			credit.Balance{Metered: true, Available: 40, Settled: 50, Granted: 90},
			map[string]credit.Hold{"a": {Micros: 60, State: credit.Settled}},
		},
	} {
		l.Apply(eventlog.Recorded{Version: int64(i + 1)}, c.event)
		require.Equal(t, credit.Ledger{Version: int64(i + 1), Balance: c.want, Holds: c.holds}, l)
	}
	l.Apply(eventlog.Recorded{Version: 5}, credit.GrantedV1{Micros: 1})
	require.EqualValues(t, 90, l.Balance.Granted, "an event at the folded version")
}

// Credits are rounded to the nearest hundredth, on both sides of zero.
func TestCreditsAreRounded(t *testing.T) {
	t.Parallel()
	for micros, want := range map[int64]string{
		23: "0.00", 24: "0.01", -24: "-0.01", 71: "0.01", 72: "0.02", 999_976: "210.99", 999_977: "211.00", 1_000_024: "211.01", 100_000: "21.10",
		-1_000_000: "-211.00", 47_393: "10.00", 4_739: "1.00", 474: "0.10",
	} {
		require.Equal(t, want, credit.Credits(micros), micros)
	}
	require.Equal(t, fault.CodeInsufficientCredits, credit.Insufficient().Code)
	require.Equal(t, fault.Exhausted, credit.Insufficient().Kind)
	require.Equal(t, "ledger-acme", credit.Stream("acme"))
	types := eventlog.NewRegistry()
	require.NoError(t, credit.Register(types))
	for eventType, want := range map[string]any{
		"credit.granted.v1": credit.GrantedV1{Micros: 1}, "credit.held.v1": credit.HeldV1{Micros: 1},
		"credit.settled.v1":  credit.SettledV1{Micros: 1},
		"credit.released.v1": credit.ReleasedV1{Micros: 1},
	} {
		got, err := types.Decode(eventType, []byte(`{"micros":1}`))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Equal(t, "c15f560b-7cf1-5303-a3ab-b9b77f03395c", credit.EventID("acme", "h", credit.TypeHeld).String(), "it never changes")
}
