package cli

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Message returns what a user reads about the failure of a command: one line, with the remedy where it is
// known. A database that cannot be reached is named by its address; passwords are in no message.
func Message(err error) string {
	text := withoutCause(err)
	server, unreachable := postgres.Unreachable(err)
	if unreachable {
		text = server
	}
	if fault.Sentence(err) != err.Error() && !unreachable {
		text += "; --log debug shows the database's own words"
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' }), "; ")
}

// LogCause logs the failure of a command with the words of a database, which Message leaves out, where cmd logs at level
// debug.
func LogCause(cmd *cobra.Command, err error) {
	if level := cmd.PersistentFlags().Lookup("log"); level == nil || level.Value.String() != "debug" {
		return
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	log.Debug("command failed", "error", err)
}

// withoutCause is the text of err without what lies below a refusal that is an answer in itself: "there is no such
// key" is not made clearer by the database's words for it. The cause of what broke stays, because it is to be mended.
func withoutCause(err error) string {
	text := fault.Sentence(err)
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Unwrap() == nil {
		return text
	}
	cause := fault.Sentence(refusal.Unwrap())
	answers := refusal.Kind == fault.NotFound || refusal.Kind == fault.Conflict
	if answers || strings.HasSuffix(refusal.Message, cause) {
		return strings.TrimSuffix(text, ": "+cause)
	}
	return text
}
