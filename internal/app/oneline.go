package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// Message returns what a user reads about the failure of a command: one line, with the remedy where it is
// known. A database that cannot be reached is named by its address; passwords are in no message.
func Message(err error) string {
	text := withoutCause(err)
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		text = unreachable(connecting)
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' }), "; ")
}

// withoutCause is the text of err without what lies below a refusal that is an answer in itself: "there is no such
// key" is not made clearer by the database's words for it. The cause of what broke stays, because it is to be mended.
func withoutCause(err error) string {
	text := err.Error()
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Unwrap() == nil {
		return text
	}
	cause := refusal.Unwrap().Error()
	answers := refusal.Kind == fault.NotFound || refusal.Kind == fault.Conflict
	if answers || strings.HasSuffix(refusal.Message, cause) {
		return strings.TrimSuffix(text, ": "+cause)
	}
	return text
}

// unreachable says which PostgreSQL could not be used, why, and what to do.
func unreachable(err *pgconn.ConnectError) string {
	server := err.Config.Host
	if !strings.HasPrefix(server, "/") { // a directory is a Unix socket's
		server = net.JoinHostPort(server, fmt.Sprint(err.Config.Port))
	}
	var refused *pgconn.PgError
	var network *net.OpError
	var name *net.DNSError
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("PostgreSQL at %s refuses: %s; correct DATABASE_URL", server, refused.Message)
	case errors.As(err, &name):
		return fmt.Sprintf("no PostgreSQL at %s: %s; correct DATABASE_URL", server, name.Err)
	case errors.As(err, &network):
		return fmt.Sprintf("no PostgreSQL at %s: %s; start it, or correct DATABASE_URL", server, network.Err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("PostgreSQL at %s does not answer; start it, or correct DATABASE_URL", server)
	default:
		return fmt.Sprintf("PostgreSQL at %s cannot be used: %v; correct DATABASE_URL", server, err.Unwrap())
	}
}

// secretFlags are those whose default, read from the environment, must not be shown by --help.
var secretFlags = []string{"token", "admin-token", "database-url", "secret-key"}

// finish gives every command the same manners: no secrets in its help, mistakes that name the help, and no
// success for a word that is no command.
func finish(root *cobra.Command) {
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var value *pflag.InvalidValueError
		if errors.As(err, &value) {
			err = fmt.Errorf("--%s takes %s, not %q", value.GetFlag().Name, kindOf(value.GetFlag()), value.GetValue())
		}
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	polish(root)
}

func polish(cmd *cobra.Command) {
	for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		for _, name := range secretFlags {
			if f := set.Lookup(name); f != nil {
				f.DefValue = ""
			}
		}
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return asUsed(cmd, args, check(cmd, args)) }
	}
	if cmd.HasSubCommands() && cmd.RunE == nil && cmd.Run == nil {
		cmd.Args = commandsOnly
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for _, sub := range cmd.Commands() {
		polish(sub)
	}
}

// asUsed says how a command is called that was given other arguments than it takes.
func asUsed(cmd *cobra.Command, args []string, wrong error) error {
	if wrong == nil {
		return nil
	}
	given := "nothing was given"
	if len(args) > 0 {
		given = fmt.Sprintf("%d given, the last %q", len(args), inspect.Clean(args[len(args)-1]))
	}
	use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	if use == cmd.CommandPath() {
		use += ", without arguments"
	}
	return fmt.Errorf("usage: %s (%s); see %s --help", use, given, cmd.CommandPath())
}

// narrowing are the flags that say less than everything. Given without a value, as by a script whose variable is
// unset, they would say everything, and the command would act on what nobody meant.
var narrowing = []string{
	"account", "class", "since", "until", "status", "type", "stream", "model", "webhook", "scope", "tier", "from-node", "credential-env", "event", "allow", "deny",
}

// refuseEmpty refuses narrowing flags that are given empty.
func refuseEmpty(cmd *cobra.Command) error {
	for _, name := range narrowing {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && strings.Trim(f.Value.String(), "[] ") == "" {
			return fmt.Errorf("--%s is empty: give it a value, or leave it away; see %s --help", name, cmd.CommandPath())
		}
	}
	return nil
}

// commandsOnly refuses a word that is none of the commands below cmd.
func commandsOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s has no command %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
}

// kindOf names what a flag takes.
func kindOf(f *pflag.Flag) string {
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
