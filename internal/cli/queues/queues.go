// Package queues holds the commands that pause, drain, stop and resume queues.
package queues

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/operate"
	operatequeues "github.com/millrace-dev/millrace/internal/operate/queues"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Command returns the commands on queues.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Pause, drain, stop and resume queues of jobs",
		Long: `Pause, drain, stop and resume the queue of one account or, without --account, of all. Running
jobs always continue. A change is in force at once in every process, survives restarts, and is
recorded with its actor and reason. If an account has a mode of its own, the stricter one applies.

  paused    accepts jobs and keeps them waiting
  draining  refuses new jobs and runs the waiting ones
  stopped   refuses new jobs and keeps the waiting ones`,
		Example: `  millrace queue pause --account acme --reason "investigating outputs"
  millrace queue drain --reason "maintenance at 20:00"
  millrace queue resume --reason "done"
  millrace queue status`,
	}
	s.DatabaseFlags(cmd)
	cmd.AddCommand(
		setQueue(s, "pause", gate.Paused, "Accept jobs and keep them waiting"),
		setQueue(s, "drain", gate.Draining, "Refuse new jobs and run the waiting ones"),
		setQueue(s, "stop", gate.Stopped, "Refuse new jobs and keep the waiting ones"),
		setQueue(s, "resume", gate.Open, "Accept jobs and start them"),
		queueStatus(s),
	)
	return cmd
}

func setQueue(s *shell.Shell, name string, mode gate.Mode, short string) *cobra.Command {
	var owner, reason string
	cmd := &cobra.Command{
		Use: name + " [--account ACCOUNT] --reason TEXT", Short: short, Args: cobra.NoArgs,
		RunE: onQueues(s, func(ctx context.Context, o operatequeues.Service, pool *postgres.Pool) error {
			if reason == "" {
				return errors.New("--reason is missing: it is recorded with the change")
			}
			scope, err := o.Scope(ctx, owner)
			if err != nil {
				return err
			}
			st, err := o.Set(ctx, gate.Change{Account: scope, Mode: mode, Actor: shell.Operator(), Reason: reason})
			if err != nil {
				return err
			}
			return printQueues(ctx, s, pool, []gate.State{st})
		}),
	}
	cmd.Flags().StringVar(&owner, "account", owner, "name or id of an account; default: all")
	cmd.Flags().StringVar(&reason, "reason", reason, "reason that is recorded with the change")
	return cmd
}

// onQueues calls work with the operators' service for queues.
func onQueues(s *shell.Shell, run func(context.Context, operatequeues.Service, *postgres.Pool) error) func(*cobra.Command, []string) error {
	return s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, _ []string) error {
		events, err := shell.EventStore(pool)
		if err != nil {
			return err
		}
		return run(ctx, operatequeues.New(pool, events), pool)
	})
}

func queueStatus(s *shell.Shell) *cobra.Command {
	var owner string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status [--account ACCOUNT]", Short: "Show the state of queues, with its time and reason", Args: cobra.NoArgs,
		Long: `Show the mode of all queues together, and of each account whose queue is not open or has jobs.`,
		RunE: onQueues(s, func(ctx context.Context, o operatequeues.Service, pool *postgres.Pool) error {
			states, err := queueStates(ctx, o, owner)
			if err != nil {
				return err
			}
			if asJSON {
				return s.PrintJSON(states)
			}
			return printQueues(ctx, s, pool, states)
		}),
	}
	cmd.Flags().StringVar(&owner, "account", owner, "name or id of an account; default: all")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func queueStates(ctx context.Context, o operatequeues.Service, owner string) ([]gate.State, error) {
	if owner == "" {
		return o.States(ctx)
	}
	scope, err := o.Scope(ctx, owner)
	if err != nil {
		return nil, err
	}
	st, err := o.State(ctx, scope)
	return []gate.State{st}, err
}

func printQueues(ctx context.Context, s *shell.Shell, pool *postgres.Pool, states []gate.State) error {
	names, err := operate.AccountNames(ctx, pool)
	if err != nil {
		return err
	}
	names[gate.All] = "(all)"
	w := shell.NewTable(s.Out, "ACCOUNT", "MODE", "QUEUED", "RUNNING", "SINCE", "BY", "REASON")
	for _, st := range states {
		name, since := st.Account, "-"
		if n, ok := names[st.Account]; ok {
			name = n
		}
		if st.Since != nil {
			since = st.Since.UTC().Format(time.DateTime)
		}
		w.Row(terminal.Clean(name), st.Mode, st.Queued, st.Running, since, terminal.Clean(st.Actor), terminal.Clean(st.Reason))
	}
	return w.Flush()
}
