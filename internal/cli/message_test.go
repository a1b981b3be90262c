package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// Any failure of a command is reported in one line with its remedy and without passwords.
func TestUnusableDatabaseErrorTakesASingleLine(t *testing.T) {
	t.Parallel()
	here, err := pgx.ParseConfig(pgtest.Server(t))
	require.NoError(t, err)
	missing := "postgres://" + here.User + ":geheim@/nosuchdatabase?host=" + here.Host + "&sslmode=disable"
	for name, tc := range map[string]struct{ url, want string }{
		"nobody listens": {
			"postgres://u:geheim@127.0.0.1:1/x",
			"no PostgreSQL at 127.0.0.1:1: connect: connection refused; start it, or correct DATABASE_URL",
		},
		"no such host":     {"postgres://u:geheim@db.invalid/x", "no PostgreSQL at db.invalid:5432: "},
		"no such database": {missing, "refuses: it has no database \"nosuchdatabase\"; correct DATABASE_URL"},
		"no URL":           {"postgres://u:geheim@:x/y", "database URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commands := [][]string{{"views", "list", "--database-url", tc.url}}
			if name != "nobody listens" { // serve waits
				commands = append(commands, []string{
					"serve", "--roles", "api", "--addr", "127.0.0.1:0", "--database-url", tc.url, "--temporal-address", "127.0.0.1:1", "--data",
					t.TempDir(),
				})
			}
			for _, args := range commands {
				_, err := run(t, args...)
				require.Error(t, err)
				text := cli.Message(err)
				require.Contains(t, text, tc.want, args[0])
				require.NotContains(t, text, "\n")
				require.NotContains(t, text, "geheim")
			}
		})
	}
	require.Equal(t, "one; two", cli.Message(errors.Join(errors.New("one"), errors.New("two"))))
}

func TestUsageErrorsNameTheHelp(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`--max-nodes takes a whole number, not "many"; see millrace dev --help`:                                  {"dev", "--max-nodes", "many"},
		`unknown flag: --slotz (did you mean --slots?); see millrace dev --help`:                                 {"dev", "--slotz", "3"},
		`unknown flag: --nodes; see millrace dev --help`:                                                         {"dev", "--nodes", "3"},
		`millrace has no command "dve" (did you mean dev?); see millrace --help`:                                 {"dve"},
		`millrace jobs has no command "lst" (did you mean list?); see millrace jobs --help`:                      {"jobs", "lst"},
		`usage: millrace jobs show ID (no argument was given); see millrace jobs show --help`:                    {"jobs", "show"},
		`usage: millrace jobs diff ID ID (1 given, the last "62e8"); see millrace jobs diff --help`:              {"jobs", "diff", "62e8"},
		`usage: millrace jobs list, without arguments (1 given, the last "acme"); see millrace jobs list --help`: {"jobs", "list", "acme"},
		`--account is empty: give it a value, or leave it out; see millrace jobs cancel --help`: {
			"jobs", "cancel", "--status",
			"queued", "--account", "", "--yes",
		},
		`--status is empty: give it a value, or leave it out; see millrace jobs cancel --help`: {
			"jobs", "cancel", "--status",
			"", "--account", "acme", "--yes",
		},
		`--reason is empty: give it a value, or leave it out; see millrace jobs cancel --help`: {
			"jobs", "cancel", "62e8",
			"--reason", " \t",
		},
		`--actor is empty: give it a value, or leave it out; see millrace jobs cancel --help`: {
			"jobs", "cancel", "62e8",
			"--actor", "",
		},
		`--account is empty: give it a value, or leave it out; see millrace queue pause --help`: {
			"queue", "pause", "--account",
			"", "--reason", "x",
		},
		`--from-node is empty: give it a value, or leave it out; see millrace jobs retry --help`: {
			"jobs", "retry", "62e8",
			"--from-node", "",
		},
		"--account is missing: name or id of the account; see millrace keys create --help": {"keys", "create"},
	} {
		_, err := run(t, args...)
		require.EqualError(t, err, want)
		require.Equal(t, 2, cli.ExitCode(err), want)
	}
	require.Equal(t, 1, cli.ExitCode(errors.New("the database does not answer")))
	require.Zero(t, cli.ExitCode(nil))
	out, err := run(t, "jobs")
	require.NoError(t, err)
	require.Contains(t, out, "timeline", "a group alone shows its commands")
}

// A refusal is shown without the database's message. For an unexpected failure, the cause is shown too.
func TestRefusalIsPrintedWithoutItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("ERROR: duplicate key (SQLSTATE 23505)")
	for want, err := range map[string]error{
		"create: it exists":   fmt.Errorf("create: %w", fault.Wrap(cause, fault.Conflict, "", "it exists")),
		"no such key":         fault.Wrap(cause, fault.NotFound, "", "no such key"),
		"not a tier":          fault.Wrap(errors.New("not a tier"), fault.Invalid, "", "not a tier"),
		"not read: eof":       fault.Wrap(errors.New("eof"), fault.Invalid, "", "not read"),
		"it is away: refused": fault.Wrap(errors.New("refused"), fault.Unavailable, "", "it is away"),
		"plain":               errors.New("plain"),
	} {
		require.Equal(t, want, cli.Message(err))
	}
}

// Defaults in a help text come from the environment, but secrets are never shown.
func TestHelpShowsNoSecrets(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"MILLRACE_TOKEN": "geheim", "MILLRACE_ADMIN_TOKEN": "geheim", "DATABASE_URL": "postgres://u:geheim@h/x", "MILLRACE_SECRET_KEY": "geheim",
	}
	for _, args := range [][]string{
		{"dev", "--help"},
		{"serve", "--help"},
		{"jobs", "list", "--help"},
		{"accounts", "create", "--help"},
		{"doctor", "--help"},
	} {
		var out bytes.Buffer
		cmd := cli.Command(&out, &out, func(name string) (string, bool) { v, ok := secrets[name]; return v, ok })
		cmd.SetArgs(args)
		require.NoError(t, cmd.ExecuteContext(t.Context()))
		require.NotContains(t, out.String(), "geheim", args)
	}
}
