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
)

// Message returns what a user reads about the failure of a command: one line, with the remedy where it is
// known. A database that cannot be reached is named by its address; passwords are in no message.
func Message(err error) string {
	text := err.Error()
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		text = unreachable(connecting)
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' }), "; ")
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
	if cmd.HasSubCommands() && cmd.RunE == nil && cmd.Run == nil {
		cmd.Args = commandsOnly
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for _, sub := range cmd.Commands() {
		polish(sub)
	}
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
