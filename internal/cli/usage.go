package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// secretFlags are the flags whose defaults, which come from the environment, must not be shown by --help.
var secretFlags = []string{"token", "admin-token", "database-url", "secret-key", "temporal-api-key"}

// finish adds the common behaviour of all commands: no secrets in the help text, errors that refer to the help, and
// an error for an unknown subcommand.
func finish(root *cobra.Command) {
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var value *pflag.InvalidValueError
		var wrong *action.Wrong
		switch isValue := errors.As(err, &value); {
		case isValue && errors.As(err, &wrong):
			err = fmt.Errorf("--%s takes %s%s", value.GetFlag().Name, wrong.Takes, wrong.Not)
		case isValue:
			err = fmt.Errorf("--%s takes %s, not %q", value.GetFlag().Name, kindOf(value.GetFlag()), value.GetValue())
		}
		return wrongUse(fmt.Errorf("%w%s; see %s --help", err, likeFlag(cmd, err), cmd.CommandPath()))
	})
	prepareFlags(root)
}

func prepareFlags(cmd *cobra.Command) {
	for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		for _, name := range secretFlags {
			if f := set.Lookup(name); f != nil {
				f.DefValue = ""
			}
		}
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return usageError(cmd, args, check(cmd, args)) }
	}
	cmd.SuggestionsMinimumDistance = 2 // edits
	if cmd.HasSubCommands() && cmd.RunE == nil && cmd.Run == nil {
		cmd.Args = commandsOnly
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for _, sub := range cmd.Commands() {
		prepareFlags(sub)
	}
}

// usageError returns an error for wrong arguments, with the usage of the command.
func usageError(cmd *cobra.Command, args []string, wrong error) error {
	if wrong == nil {
		return nil
	}
	given := "no argument was given"
	if len(args) > 0 {
		given = fmt.Sprintf("%d given, the last %q", len(args), terminal.Clean(args[len(args)-1]))
	}
	use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	if use == cmd.CommandPath() {
		use += ", without arguments"
	}
	return wrongUse(fmt.Errorf("usage: %s (%s); see %s --help", use, given, cmd.CommandPath()))
}

// selectors are the flags that narrow a selection. With an empty value, for example from an unset variable of a
// script, such a flag would select everything.
var selectors = []string{
	"account", "class", "since", "until", "status", "type", "stream", "model", "webhook", "scope", "tier", "from-node", "credential-env",
	"event", "allow", "deny",
	"reason", "actor", // an empty value would record no actor or reason
}

// refuseEmpty refuses narrowing flags with an empty value.
func refuseEmpty(cmd *cobra.Command) error {
	for _, name := range selectors {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && strings.TrimSpace(strings.Trim(f.Value.String(), "[]")) == "" {
			return wrongUse(fmt.Errorf("--%s is empty: give it a value, or leave it out; see %s --help", name, cmd.CommandPath()))
		}
	}
	return nil
}

// commandsOnly refuses a word that is not one of cmd's subcommands.
func commandsOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	like := ""
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		like = fmt.Sprintf(" (did you mean %s?)", similar[0])
	}
	return wrongUse(fmt.Errorf("%s has no command %q%s; see %s --help", cmd.CommandPath(), args[0], like, cmd.CommandPath()))
}

// likeFlag returns a hint at the flag that an unknown one resembles, or "".
func likeFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	name, best, least := unknown.GetSpecifiedName(), "", 3 // edits
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if n := levenshtein.ComputeDistance(name, f.Name); n < least && n < len(name) && !f.Hidden {
			best, least = f.Name, n
		}
	})
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean --%s?)", best)
}

// misuse is an error in how a command was typed.
type misuse struct{ error }

// Unwrap returns the error itself.
func (m misuse) Unwrap() error { return m.error }

// UsageError marks an error as one in how a command was typed.
func (misuse) UsageError() {}

func wrongUse(err error) error { return misuse{err} }

// The exit codes of failed commands.
const (
	exitFailure = 1
	exitMisuse  = 2 // as of POSIX shells: the command was typed wrongly, and nothing was done
)

// ExitCode returns the exit code for the error of a command.
func ExitCode(err error) int {
	var usage interface{ UsageError() }
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		return exitMisuse
	}
	return exitFailure
}

// kindOf describes the values that a flag takes.
func kindOf(f *pflag.Flag) string {
	if v, ok := f.Value.(interface{ Takes() string }); ok {
		return v.Takes()
	}
	switch f.Value.Type() {
	case "int", "int64":
		return "a whole number"
	case "bool":
		return "true or false"
	case "duration":
		return "a duration such as 30s or 720h"
	case "stringToString":
		return "NAME=VALUE"
	default:
		return "a " + f.Value.Type()
	}
}
