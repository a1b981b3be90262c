package cli

import (
	"errors"
	"fmt"
	"strings"

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
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
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
	return fmt.Errorf("usage: %s (%s); see %s --help", use, given, cmd.CommandPath())
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
			return fmt.Errorf("--%s is empty: give it a value, or leave it out; see %s --help", name, cmd.CommandPath())
		}
	}
	return nil
}

// commandsOnly refuses a word that is not one of cmd's subcommands.
func commandsOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s has no command %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
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
