package cli

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Message returns the text that a user reads when a command fails: one line, with the remedy if it is known. An
// unreachable database is named by its address; no message contains a password.
func Message(err error) string {
	text := withoutCause(err)
	server, unreachable := postgres.Unreachable(err)
	if unreachable {
		text = server
	}
	if fault.Sentence(err) != err.Error() && !unreachable {
		text += "; --log debug logs the database's own message"
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' }), "; ")
}

// LogCause logs the database error behind the failure of a command at level debug. Message leaves this error out.
func LogCause(cmd *cobra.Command, err error) {
	if level := cmd.PersistentFlags().Lookup("log"); level == nil || level.Value.String() != "debug" {
		return
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	log.Debug("command failed", "error", err)
}

// withoutCause returns the text of err without the cause of a refusal: "there is no such key" is not made clearer by
// the database's message. The cause of an unexpected failure stays, because somebody has to find it.
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
