package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
)

// Outcome is the result of a command on one job.
type Outcome struct {
	Job    job.ID       `json:"job"`
	Public job.PublicID `json:"public_id,omitempty"` // set if a client chose one; see nameOutcomes
	// retried, canceled, requeued, skipped, refused; of a dry run "would retry" and "would be skipped"
	Done   string     `json:"outcome"`
	Retry  job.ID     `json:"retry,omitempty"` // the new job
	Code   fault.Code `json:"code,omitempty"`  // the error code of a refusal
	Detail string     `json:"detail,omitempty"`
}

// nameOutcomes completes outcomes with the public ids that clients chose for the jobs.
func nameOutcomes(ctx context.Context, pool *postgres.Pool, all []Outcome) error {
	ids := make([]job.ID, len(all))
	for i, o := range all {
		ids[i] = o.Job
	}
	chosen, err := operatestore.New(pool).PublicIDs(ctx, ids)
	for i, o := range all {
		all[i].Public = chosen[o.Job]
	}
	return err
}

// step changes one job.
type step func(ctx context.Context, id job.ID) (Outcome, error)

// each applies one step to many jobs. A refusal is the outcome of its job, named by refused; any other error stops it.
func each(ctx context.Context, ids []job.ID, seen func(done, total int64), refused string, do step) ([]Outcome, error) {
	all := make([]Outcome, 0, len(ids))
	for i, id := range ids {
		out, err := do(ctx, id)
		var invalid *graph.PromptError
		switch kind := fault.KindOf(err); {
		case err == nil:
		case errors.As(err, &invalid):
			out = Outcome{Job: id, Done: refused, Code: fault.Code(invalid.Type), Detail: firstProblem(invalid)}
		case kind == fault.Unavailable || kind == fault.Internal || kind == fault.Canceled:
			return all, err
		default:
			out = Outcome{Job: id, Done: refused, Code: fault.CodeOf(err), Detail: publicLine(err)}
		}
		all = append(all, out)
		seen(int64(i+1), int64(len(ids)))
	}
	return all, nil
}

// firstProblem returns the first problem of an invalid graph.
func firstProblem(err *graph.PromptError) string {
	for _, node := range err.NodeErrors {
		if len(node.Errors) > 0 {
			e := node.Errors[0]
			return terminal.Clean(fmt.Sprintf("node %s (%s): %s: %s", node.Node, node.Class, e.Message, e.Details))
		}
	}
	return terminal.Clean(err.Error())
}

// publicLine returns the public message of an error on one line, without the errors it wraps.
func publicLine(err error) string {
	var public *fault.Error
	if errors.As(err, &public) && public.Message != "" {
		return terminal.Clean(public.Message)
	}
	return operate.ErrorLine(err)
}

// changed is the outcomes of a change of several jobs, or of its dry run.
type changed struct {
	outcomes []Outcome
	verb     string
	meant    int  // jobs that were selected
	dry      bool // nothing was changed
	asked    bool // a dry run was asked for
}

// show writes the outcome of each job.
func (c changed) show(p *terminal.Printer) {
	var rows [][]terminal.Cell
	for _, o := range c.outcomes {
		ids := job.Job{ID: o.Job, Chosen: o.Public}.IDs()
		detail := o.Detail
		if o.Retry != "" {
			detail = string(o.Retry) + " " + detail
		}
		if o.Done == refused || o.Done == wouldRefuse {
			rows = append(rows, []terminal.Cell{{Text: ids}, {Text: o.Done, Style: terminal.Bad}, {}}, []terminal.Cell{{Text: "    " + detail}})
			continue
		}
		rows = append(rows, []terminal.Cell{{Text: ids}, {Text: o.Done, Style: terminal.Good}, {Text: detail}})
	}
	p.Table([]string{"JOB", "OUTCOME", ""}, rows)
}

// The outcomes of a change that is refused, and of its dry run.
const (
	refused     = "refused"
	wouldRefuse = "would be refused"
)

// count returns the number of jobs with an outcome.
func (c changed) count(done string) (n int) {
	for _, o := range c.outcomes {
		if o.Done == done {
			n++
		}
	}
	return n
}

// problem returns an error that says how many jobs were not changed, if any.
func (c changed) problem() error {
	not, would := c.meant-len(c.outcomes)+c.count(refused), c.count("would "+c.verb)
	switch {
	case c.asked:
		return nil
	case c.dry && would == 0:
		return fmt.Errorf("nothing was changed: there is no job to %s", c.verb)
	case c.dry && would == 1:
		return fmt.Errorf("nothing was changed: give --yes to %s this job", c.verb)
	case c.dry:
		return fmt.Errorf("nothing was changed: give --yes to %s these %d jobs", c.verb, would)
	case not == 1 && c.meant == 1 && len(c.outcomes) == 1:
		return fmt.Errorf("the job was not changed: %s", c.outcomes[0].Detail)
	case not > 0:
		return fmt.Errorf("%d of %d jobs were not changed", not, c.meant)
	}
	return nil
}
