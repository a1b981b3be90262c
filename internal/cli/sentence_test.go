package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli"
)

// Whatever error the database reports, no command prints its message, which contains table names and values.
func TestCommandsPrintNoErrorTextOfTheDatabase(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := s.pool.Exec(t.Context(), `drop table job_admissions, checkpoints, accounts, webhook_deliveries, calls_v1, assets_v1, jobs_v1,
		comfyui_servers, comfyui_leases, comfyui_orphans, streams, credit_balances cascade`)
	require.NoError(t, err)
	failed := 0
	for _, line := range []string{
		"queue status", "queue pause --reason x", "views list", "accounts list", "accounts create a", "webhooks list --account a",
		"webhooks dead",
		"events list", "jobs list", "jobs show 62e89ef5", "jobs cancel --status running --account a --yes --reason x", "calls list",
		"assets list",
		"servers list", "keys list --account a", "doctor",
	} {
		out, err := run(t, append(strings.Fields(line), "--database-url", s.dsn)...)
		text := out
		if err != nil {
			failed++
			text += cli.Message(err)
		}
		for _, words := range []string{"ERROR:", "relation ", "does not exist", "violates", "pg_"} {
			require.NotContains(t, text, words, line)
		}
		require.NotContains(t, text, "FATAL", line)
	}
	require.Greater(t, failed, 10, "the commands have met the broken database")
}

func TestErrorTextOfTheDatabaseIsLoggedOnRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := s.pool.Exec(t.Context(), `drop table job_admissions`)
	require.NoError(t, err)
	for level, logged := range map[string]bool{"debug": true, "info": false} {
		var out, errs bytes.Buffer
		cmd := cli.Command(&out, &errs, func(string) (string, bool) { return "", false })
		cmd.SetArgs([]string{"queue", "status", "--database-url", s.dsn, "--log", level})
		err := cmd.ExecuteContext(t.Context())
		require.Error(t, err)
		require.Contains(t, cli.Message(err), "is it migrated? (SQLSTATE 42P01)")
		require.Contains(t, cli.Message(err), "--log debug logs the database's own message")
		cli.LogCause(cmd, err)
		require.Equal(t, logged, strings.Contains(errs.String(), `relation \"job_admissions\" does not exist`), errs.String())
	}
}

func TestFlagsOfServers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	add := func(args ...string) error {
		_, err := s.run(t, append([]string{"servers", "add", "not an address", "--reason", "x"}, args...)...)
		return err
	}
	require.ErrorContains(t, add("--expires-in", "1h"), "not an address", "the duration is one")
	for _, wrong := range []string{"9000h", "-1s", "soon"} {
		require.ErrorContains(t, add("--expires-in", wrong), "--expires-in takes a duration", wrong)
	}
	err := add("--header", "Authorization Bearer s3cret")
	require.ErrorContains(t, err, `--header takes "NAME: VALUE"`)
	require.NotContains(t, cli.Message(err), "s3cret")
}
