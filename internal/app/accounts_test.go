package app_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every change of an account by command line is a fact with who and why, and neither is there without the other.
func TestAccountsAndKeysMadeByCommandAreFacts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := s.run(t, "accounts", "create", "acme", "--tier", "pro", "--reason", "contract 7")
	require.NoError(t, err)
	out, err := s.run(t, "keys", "create", "--account", "acme", "--scope", "read", "--reason", "dashboard")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	secret := lines[len(lines)-1]
	var key string
	require.NoError(t, s.pool.QueryRow(t.Context(), `select id::text from api_keys`).Scan(&key))
	_, err = s.run(t, "keys", "revoke", "--account", "acme", key, "--reason", "leaked")
	require.NoError(t, err)
	_, err = s.run(t, "accounts", "create", "acme")
	require.Error(t, err, "the name is taken")
	_, err = s.run(t, "keys", "revoke", "--account", "acme", "ffffffff-0000-4000-8000-000000000009")
	require.Error(t, err, "no such key")

	rows, err := s.pool.Query(t.Context(), `select type || ' ' || (meta->>'reason') || ' ' || split_part(meta->>'actor', ':', 1), data::text from events order by position`)
	require.NoError(t, err)
	defer rows.Close()
	var facts []string
	for rows.Next() {
		var fact, data string
		require.NoError(t, rows.Scan(&fact, &data))
		require.NotContains(t, data, secret)
		facts = append(facts, fact)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{
		"account.created.v1 contract 7 operator", "account.key_issued.v1 dashboard operator", "account.key_revoked.v1 leaked operator",
	}, facts)
}
