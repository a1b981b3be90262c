package jobs

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/projections/jobindex"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// viewTimeout bounds the wait for the view of jobs to catch up with the log.
const viewTimeout = 3 * time.Second

// waitForView waits until the view of jobs includes the latest changes. It does not wait for a view that is halted or
// far behind.
func waitForView(ctx context.Context, pool *postgres.Pool) error {
	store := operatestore.New(pool)
	head, err := store.Head(ctx)
	if err != nil {
		return err
	}
	patience := time.NewTimer(viewTimeout)
	defer patience.Stop()
	for tick := time.Tick(10 * time.Millisecond); ; {
		behind, err := store.JobsBehind(ctx, jobs.Name, head)
		if err != nil || !behind {
			return err
		}
		select {
		case <-tick:
		case <-patience.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// listed is a page of jobs, newest first, with the texts shown beside them.
type listed struct {
	jobs   []job.Job
	names  map[string]string // of accounts, by their ids
	labels map[job.ID]report.Label
	now    time.Time
}

// search returns the jobs that f selects from the view, newest first.
func (s Service) search(ctx context.Context, f filter, limit int) (l listed, err error) {
	q := jobs.Search{Class: f.Class, Limit: limit}
	if l.now, err = operate.Now(ctx, s.Pool); err != nil {
		return l, err
	}
	if q.Account, l.names, err = operate.Selected(ctx, s.Pool, f.Account); err != nil {
		return l, err
	}
	if q.Since, err = operate.ParseSince(f.Since, l.now); err != nil {
		return l, err
	}
	if err := waitForView(ctx, s.Pool); err != nil {
		return l, err
	}
	if q.From, err = eventstore.PositionAt(ctx, s.Pool, q.Since); err != nil {
		return l, err
	}
	if q.States, err = statesOf(f.States); err != nil {
		return l, err
	}
	l.jobs, err = jobs.Find(ctx, s.Pool, q)
	return l, err
}

// labels returns the titles and models of jobs from the index of the console. A job without a title is named by its first
// classes.
func (s Service) labels(ctx context.Context, listed []job.Job) (map[job.ID]report.Label, error) {
	ids := make([]job.ID, len(listed))
	for i, j := range listed {
		ids[i] = j.ID
	}
	known, err := jobindex.NewReader(s.Pool).Descriptions(ctx, ids)
	if err != nil {
		return nil, err
	}
	const few = 3
	labels := make(map[job.ID]report.Label, len(known))
	for id, d := range known {
		classes := strings.Join(d.Classes[:min(len(d.Classes), few)], ", ")
		labels[id] = report.Label{Title: cmp.Or(d.Title, classes), Models: d.Models}
	}
	return labels, nil
}

func statesOf(names []string) ([]job.State, error) {
	states := make([]job.State, len(names))
	for i, name := range names {
		if states[i] = job.State(name); !slices.Contains(job.States(), states[i]) {
			return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "%q is not a state of a job; the states are %s", name, stateNames())
		}
	}
	return states, nil
}

func stateNames() string {
	all := job.States()
	names := make([]string, len(all))
	for i, state := range all {
		names[i] = string(state)
	}
	return strings.Join(names, ", ")
}

type listParams struct {
	filter
	Limit int `name:"limit" default:"20" served:"100" min:"1" max:"10000" help:"maximum number of jobs"`
}

var list = action.Of[Service, listParams, listed]{
	Spec: action.Spec{
		ID: "adminJobs", Route: "GET /jobs", Summary: "List jobs of all accounts, newest first.", Member: "jobs", List: true, Redact: true,
		Help: map[string]string{
			"status":  "queued, running, canceling, succeeded, failed, canceled, expired; any of several",
			"account": "name or id of an account; default: all",
			"since":   "submitted in the last 24h, 30m, …, or after a time (2026-01-02T15:04:05Z)",
			"class":   "select jobs in which a node of this class ran or failed",
		},
		Commands: []action.Command{{
			Use: "list", Short: "List jobs, newest first",
			Example: "  millrace jobs list --status failed,canceled --since 24h --account acme",
		}},
	},
	Do: func(ctx context.Context, s Service, p listParams, _ operate.Attribution) (listed, error) {
		l, err := s.search(ctx, p.filter, p.Limit)
		if err == nil {
			l.labels, err = s.labels(ctx, l.jobs)
		}
		return l, err
	},
	JSON: func(l listed) any { return l.jobs },
	Body: func(l listed) any { return l.jobs },
	Show: func(out *terminal.Printer, _ listParams, l listed) {
		report.Jobs(out, l.jobs, l.names, l.labels, l.now)
	},
}.Untyped()
