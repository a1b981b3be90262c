package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
)

func TestQueueCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := s.run(t, "accounts", "create", "acme", "--tier", "pro")
	require.NoError(t, err)
	_, err = s.run(t, "queue", "pause", "--account", "acme")
	require.ErrorContains(t, err, "--reason")
	_, err = s.run(t, "queue", "pause", "--account", "nobody", "--reason", "x")
	require.ErrorContains(t, err, "does not exist; see")
	out, err := s.run(t, "queue", "pause", "--account", "acme", "--reason", "looking\x1b[31m into it")
	require.NoError(t, err)
	require.Contains(t, out, "paused")
	require.NotContains(t, out, "\x1b", "an operator's words draw nothing on a terminal")
	for verb, mode := range map[string]string{"drain": "draining", "stop": "stopped", "resume": "open"} {
		out, err := s.run(t, "queue", verb, "--reason", "maintenance")
		require.NoError(t, err)
		require.Contains(t, out, "(all)")
		require.Contains(t, out, mode)
	}
	var states []gate.State
	s.json(t, &states, "queue", "status")
	require.Len(t, states, 2)
	require.Equal(t, gate.All, states[0].Account)
	require.Equal(t, "maintenance", states[0].Reason)
	require.Equal(t, gate.Paused, states[1].Mode)
	require.True(t, strings.HasPrefix(states[1].Actor, "operator:"), states[1].Actor)
	s.json(t, &states, "queue", "status", "--account", "acme")
	require.Len(t, states, 1)
	require.Equal(t, gate.Paused, states[0].Mode)
}

func TestCreditCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := s.run(t, "accounts", "create", "acme")
	require.NoError(t, err)
	for _, wrong := range [][]string{
		{"--amount", "1e9", "--reason", "x"}, {"--amount", "5"}, {"--amount", "-5", "--reason", "nothing to take back"},
	} {
		_, err := s.run(t, append([]string{"accounts", "credit", "acme"}, wrong...)...)
		require.Error(t, err, wrong)
	}
	out, err := s.run(t, "accounts", "credit", "acme", "--amount", "12.50", "--reason", "trial")
	require.NoError(t, err)
	require.Equal(t, "acme: 12.50 USD available (2637.50 credits), 0.00 reserved, 0.00 spent, 12.50 granted\n", out)
	out, err = s.run(t, "accounts", "ledger", "acme")
	require.NoError(t, err)
	require.Contains(t, out, "granted")
	require.Contains(t, out, "trial")
	_, err = s.pool.Exec(t.Context(), `update credit_balances set available = available + 1, granted = granted + 1`)
	require.NoError(t, err)
	_, err = s.run(t, "accounts", "ledger", "acme")
	require.ErrorContains(t, err, "--rebuild")
	var ledger struct {
		Balance credit.Balance
		Entries []struct{ Fact, Actor, Reason string }
	}
	s.json(t, &ledger, "accounts", "ledger", "acme", "--rebuild")
	require.Equal(t, credit.Balance{Metered: true, Available: 12_500_000, Granted: 12_500_000}, ledger.Balance)
	require.Len(t, ledger.Entries, 1)
	require.Equal(t, "trial", ledger.Entries[0].Reason)
	s.json(t, &ledger, "accounts", "ledger", "local")
	require.False(t, ledger.Balance.Metered)
}

func TestSubscriptionFieldsChangeSeparately(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := s.run(t, "accounts", "create", "acme")
	require.NoError(t, err)
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"--inactive"}, "acme: tier standard, active false, suspended false\n"},
		{[]string{"--tier", "pro", "--reason", "invoice 17"}, "acme: tier pro, active false, suspended false\n"},
		{[]string{"--inactive=false"}, "acme: tier pro, active true, suspended false\n"},
	} {
		out, err := s.run(t, append([]string{"accounts", "set", "acme"}, step.args...)...)
		require.NoError(t, err)
		require.Equal(t, step.want, out)
	}
	for _, wrong := range [][]string{{}, {"--tier", "gold"}} {
		_, err = s.run(t, append([]string{"accounts", "set", "acme"}, wrong...)...)
		require.Error(t, err)
	}
	a, err := accountstore.New(s.pool).AccountByName(t.Context(), "acme")
	require.NoError(t, err)
	var reason string
	require.NoError(t, s.pool.QueryRow(t.Context(), `select meta ->> 'reason' from events where stream = 'account-' || $1
		and meta ->> 'reason' <> '' order by version limit 1`, a.ID).Scan(&reason))
	require.Equal(t, "invoice 17", reason)
}
