package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	operatejobs "github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// selection is the jobs that a command applies to: named jobs, or jobs that a filter selects.
type selection struct {
	filter            operatejobs.Filter
	failed            bool
	dryRun, confirmed bool
	asJSON            bool
	reason            string
	actor             string
}

func (sel *selection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	sel.filter.Limit = 1000
	f.BoolVar(&sel.failed, "failed", false, "select failed jobs; short for --status failed")
	f.StringSliceVar(&sel.filter.States, "status", nil, "select jobs in one of these states")
	f.StringVar(&sel.filter.Account, "account", "", "select jobs of an account, by name or id")
	f.StringVar(&sel.filter.Since, "since", "", "select jobs submitted in the last 24h, 30m, …, or after a time")
	f.StringVar(&sel.filter.Class, "class", "", "select jobs in which a node of this class ran or failed")
	f.IntVar(&sel.filter.Limit, "limit", sel.filter.Limit, "maximum number of jobs, newest first")
	f.BoolVar(&sel.dryRun, "dry-run", false, "show the outcome for each job, and change nothing")
	f.BoolVar(&sel.confirmed, "yes", false, "make the change; without it, jobs selected by a filter are only shown")
	f.StringVar(&sel.reason, "reason", "", "reason that is recorded with the change")
	f.StringVar(&sel.actor, "actor", "", "actor that is recorded with the change; default: this user on this machine")
	shell.JSONFlag(cmd, &sel.asJSON)
}

func (sel *selection) filtered() bool {
	f := sel.filter
	return sel.failed || len(f.States) > 0 || f.Account != "" || f.Since != "" || f.Class != ""
}

func (sel *selection) by() operate.Attribution {
	if sel.actor != "" {
		return operate.Attribution{Actor: "operator:" + sel.actor, Reason: sel.reason}
	}
	return operate.Attribution{Actor: shell.Operator(), Reason: sel.reason}
}

// errNotOneSelection reports a command that has both ids and a filter, or neither.
var errNotOneSelection = errors.New("name jobs by their ids, or give a filter such as --failed --since 24h; not both")

func errNoMatch() error {
	return fault.New(fault.NotFound, fault.CodeNoMatch, "no job matches the filter; nothing was changed")
}

// resolved returns the filter with --failed replaced by its long form.
func (sel *selection) resolved() operatejobs.Filter {
	f := sel.filter
	if sel.failed {
		f.States = append(slices.Clone(f.States), string(job.Failed))
	}
	return f
}

// resolve returns the selected jobs in the order of their submission, oldest first.
func (sel *selection) resolve(ctx context.Context, pool *postgres.Pool, args []string) ([]job.ID, error) {
	if len(args) > 0 == sel.filtered() {
		return nil, errNotOneSelection
	}
	if len(args) > 0 {
		return operatejobs.FindJobs(ctx, pool, args)
	}
	now, err := operate.Now(ctx, pool)
	if err != nil {
		return nil, err
	}
	names, err := operate.AccountNames(ctx, pool)
	if err != nil {
		return nil, err
	}
	found, err := operatejobs.Search(ctx, pool, names, now, sel.resolved())
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errNoMatch()
	}
	ids := make([]job.ID, len(found))
	for i, j := range found {
		ids[len(found)-1-i] = j.ID
	}
	return ids, nil
}

// step changes one job.
type step func(context.Context, job.ID) (operatejobs.Outcome, error)

// change runs one command on the selected jobs. verb names the change, as in "retry"; steps returns the function that
// makes the change and the one for a dry run.
func change(ctx context.Context, s *shell.Shell, sel *selection, args []string, verb string,
	steps func(*operatejobs.Service) (do, would step),
) error {
	return s.OnJobs(ctx, func(ops *operatejobs.Service) error {
		ids, err := sel.resolve(ctx, ops.Pool, args)
		if err != nil {
			return err
		}
		do, would := steps(ops)
		if sel.dryRun || len(args) == 0 && !sel.confirmed {
			err = printDryRun(ctx, s, ops.Pool, sel, ids, verb, would)
		} else {
			var all []operatejobs.Outcome
			all, err = operatejobs.Each(ctx, ids, shell.Progress(s.Err, verb, "jobs"), do)
			err = errors.Join(err, operatejobs.NameOutcomes(ctx, ops.Pool, all), printOutcomes(s, all, sel.asJSON, len(ids)))
		}
		if len(args) == 0 && len(ids) == sel.filter.Limit {
			const remark = "only the newest %d matching jobs are included; raise --limit, up to %d, for more\n"
			fmt.Fprintf(s.Err, remark, len(ids), operatejobs.MaxListed) //nolint:errcheck // only a remark
		}
		return err
	})
}

// printDryRun shows the outcomes of a dry run. Without --dry-run it returns an error, because no job was changed.
func printDryRun(ctx context.Context, s *shell.Shell, pool *postgres.Pool, sel *selection, ids []job.ID, verb string, would step) error {
	all, err := operatejobs.WouldEach(ctx, ids, shell.Progress(s.Err, "look at", "jobs"), would)
	if err := errors.Join(err, operatejobs.NameOutcomes(ctx, pool, all), printOutcomes(s, all, sel.asJSON, len(all))); err != nil {
		return err
	}
	meant := 0
	for _, o := range all {
		if o.Done == "would "+verb {
			meant++
		}
	}
	switch {
	case sel.dryRun:
		return nil
	case meant == 0:
		return fmt.Errorf("nothing was changed: there is no job to %s", verb)
	case meant == 1:
		return fmt.Errorf("nothing was changed: give --yes to %s this job", verb)
	}
	return fmt.Errorf("nothing was changed: give --yes to %s these %d jobs", verb, meant)
}

// printOutcomes prints the outcome of each job. Its error contains the number of refused jobs.
func printOutcomes(s *shell.Shell, all []operatejobs.Outcome, asJSON bool, meant int) error {
	refused := meant - len(all)
	var rows [][]terminal.Cell
	for _, o := range all {
		style := terminal.Good
		switch o.Done {
		case "refused":
			style = terminal.Bad
			refused++
		case "would be refused":
			style = terminal.Bad
		}
		detail := o.Detail
		if o.Retry != "" {
			detail = string(o.Retry) + " " + detail
		}
		if style == terminal.Bad {
			rows = append(rows, []terminal.Cell{{Text: o.IDs()}, {Text: o.Done, Style: style}, {}}, []terminal.Cell{{Text: "    " + detail}})
			continue
		}
		rows = append(rows, []terminal.Cell{{Text: o.IDs()}, {Text: o.Done, Style: style}, {Text: detail}})
	}
	if err := s.Print(asJSON, all, func(p *terminal.Printer) { p.Table([]string{"JOB", "OUTCOME", ""}, rows) }); err != nil {
		return err
	}
	if refused == 1 && meant == 1 && len(all) == 1 {
		return fmt.Errorf("the job was not changed: %s", all[0].Detail)
	}
	if refused > 0 {
		return fmt.Errorf("%d of %d jobs were not changed", refused, meant)
	}
	return nil
}

func retryJobs(s *shell.Shell) *cobra.Command {
	var sel selection
	var from, credentialEnv string
	var sets []string
	var none, again bool
	cmd := &cobra.Command{
		Use: "retry ID... | --failed [--since 24h] …", Short: "Run jobs again, as new jobs that refer to the old ones",
		Long: `Make a new job from the submission of each selected job. The old job does not change; the new one
records the job it came from, the actor and the reason. Results that are still valid are reused;
with --from-node, that node and all nodes that read its outputs run again.

A job whose graph calls a partner's model with a credential needs a credential again, because that of
the old job was deleted when the job ended. Jobs selected by a filter are only shown unless --yes is
given, and those that were retried before are skipped unless --again is given.`,
		Example: `  millrace jobs retry 62e89ef5 --from-node 7 --set 3.seed=42 --reason "bad seed"
  SERVICE_KEY=… millrace jobs retry 62e89ef5 --credential-env SERVICE_KEY
  millrace jobs retry --failed --since 24h --class SaveImage --dry-run`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := job.Retry{FromNode: from, NoCredential: none, Actor: sel.by().Actor, Reason: sel.reason}
		for _, text := range sets {
			a, err := job.ParseAssignment(text)
			if err != nil {
				return err
			}
			r.Set = append(r.Set, a)
		}
		if credentialEnv != "" {
			if r.Credential, _ = s.Lookup(credentialEnv); r.Credential == "" {
				return fmt.Errorf("the variable %s is empty or not set", credentialEnv)
			}
		}
		return change(cmd.Context(), s, &sel, args, "retry", func(ops *operatejobs.Service) (do, would step) {
			of := func(retry func(context.Context, job.Retry) (operatejobs.Outcome, error)) step {
				return func(ctx context.Context, id job.ID) (operatejobs.Outcome, error) {
					r.Of = id
					return retry(ctx, r)
				}
			}
			if again || len(args) > 0 {
				return of(ops.Retry), of(ops.WouldRetry)
			}
			return of(ops.RetryOnce), of(ops.WouldRetryOnce)
		})
	}
	sel.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&from, "from-node", "", "run this node, and all nodes that read its outputs, again")
	f.StringArrayVar(&sets, "set", nil, "change an input: node.input=value, where value is JSON or a text; may be repeated")
	f.StringVar(&credentialEnv, "credential-env", "", "environment variable with the credential for the services that the graph calls")
	f.BoolVar(&none, "no-credential", false, "retry without the credential with which the job was submitted")
	f.BoolVar(&again, "again", false, "include jobs selected by a filter that were retried before")
	return cmd
}

func cancelJobs(s *shell.Shell) *cobra.Command {
	var sel selection
	cmd := &cobra.Command{
		Use: "cancel ID... | --status queued [--account ACCOUNT] …", Short: "Cancel jobs that wait or run",
		Long: `Cancel jobs: waiting jobs at once, running jobs as soon as their nodes stop. Jobs selected by a
filter are only shown unless --yes is given.`,
		Example: `  millrace jobs cancel 62e89ef5 --reason "asked for by its owner"
  millrace jobs cancel --status queued,running --account acme --yes`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return change(cmd.Context(), s, &sel, args, "cancel", func(ops *operatejobs.Service) (do, would step) {
			return func(ctx context.Context, id job.ID) (operatejobs.Outcome, error) {
				return ops.Cancel(ctx, id, sel.by())
			}, ops.WouldCancel
		})
	}
	sel.flags(cmd)
	return cmd
}

func requeueJobs(s *shell.Shell) *cobra.Command {
	var sel selection
	cmd := &cobra.Command{
		Use: "requeue ID... | --status running [--since 24h] …", Short: "Start runs again whose workflow no longer exists",
		Long: `Start the runs of jobs again that have a slot but no workflow, for example after Temporal's database
was lost. A run whose workflow exists continues unchanged: repeating the command does nothing. Events
that a run has recorded are not recorded again, and its files keep their names.`,
		Example: `  millrace jobs requeue 62e89ef5 --reason "engine restored"`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return change(cmd.Context(), s, &sel, args, "requeue", func(ops *operatejobs.Service) (do, would step) {
			return func(ctx context.Context, id job.ID) (operatejobs.Outcome, error) {
				return ops.Requeue(ctx, id, sel.by())
			}, ops.WouldRequeue
		})
	}
	sel.flags(cmd)
	return cmd
}
