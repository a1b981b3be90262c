package cli_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli"
)

// Every change of an account from the command line is recorded as an event with its actor and reason.
func TestAccountsAndKeysMadeByCommandAreRecorded(t *testing.T) {
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
	for want, args := range map[string][]string{
		`an account named "acme" exists`: {"accounts", "create", "acme"},
		"1 to 200 printable characters":  {"accounts", "create", ""},
		"without spaces around them":     {"accounts", "create", " acme"},
		"printable characters, without":  {"accounts", "create", "ac\x1b[31mme"},
		"no such key": {
			"keys", "revoke", "--account", "acme",
			"ffffffff-0000-4000-8000-000000000009",
		},
		`account "nobody" does not exist; see`:                                {"keys", "create", "--account", "nobody"},
		`account "�" does not exist; see`:                                     {"keys", "list", "--account", "\xff"},
		`--tier takes free, standard, creator, pro or local, not "gold"; see`: {"accounts", "set", "acme", "--tier", "gold"},
	} {
		_, err = s.run(t, args...)
		require.Error(t, err, args)
		require.Contains(t, cli.Message(err), want)
		require.NotContains(t, cli.Message(err), "SQLSTATE")
	}
	_, err = s.run(t, "keys", "revoke", "--account", "acme", "nonsense")
	require.EqualError(t, errors.New(cli.Message(err)), "no such key")
	var listed []map[string]any
	s.json(t, &listed, "keys", "list", "--account", "acme")
	require.Equal(t, key, listed[0]["id"])
	require.NotContains(t, listed[0], "secret")
	s.json(t, &listed, "accounts", "list")
	require.Len(t, listed, 2)

	rows, err := s.pool.Query(t.Context(), `select type || ' ' || (meta->>'reason') || ' ' || split_part(meta->>'actor', ':', 1), data::text
		from events order by position`)
	require.NoError(t, err)
	defer rows.Close()
	var events []string
	for rows.Next() {
		var event, data string
		require.NoError(t, rows.Scan(&event, &data))
		require.NotContains(t, data, secret)
		events = append(events, event)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{
		"account.created.v1 contract 7 operator", "account.key_issued.v1 dashboard operator", "account.key_revoked.v1 leaked operator",
	}, events)
}
