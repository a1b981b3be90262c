package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// MaxListed bounds one listing.
const MaxListed = 10_000

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

// Search returns the jobs that f selects from the view, newest first.
func Search(ctx context.Context, pool *postgres.Pool, names map[string]string, now time.Time, f Filter) ([]job.Job, error) {
	if f.Limit < 1 || f.Limit > MaxListed {
		return nil, fmt.Errorf("--limit must be between 1 and %d, not %d", MaxListed, f.Limit)
	}
	account, err := operate.AccountNamed(f.Account, names)
	if err != nil {
		return nil, err
	}
	since, err := operate.ParseSince(f.Since, now)
	if err != nil {
		return nil, err
	}
	if err := waitForView(ctx, pool); err != nil {
		return nil, err
	}
	from, err := eventstore.PositionAt(ctx, pool, since)
	if err != nil {
		return nil, err
	}
	states, err := statesOf(f.States)
	if err != nil {
		return nil, err
	}
	return jobs.Find(ctx, pool, jobs.Search{Account: account, States: states, Class: f.Class, From: from, Since: since, Limit: f.Limit})
}

func statesOf(names []string) ([]job.State, error) {
	states := make([]job.State, len(names))
	for i, name := range names {
		if states[i] = job.State(name); !slices.Contains(allStates, states[i]) {
			return nil, fmt.Errorf("%q is not a state of a job; the states are %s", name, stateNames())
		}
	}
	return states, nil
}

var allStates = []job.State{job.Queued, job.Running, job.Canceling, job.Succeeded, job.Failed, job.Canceled, job.Expired}

func stateNames() string {
	names := make([]string, len(allStates))
	for i, state := range allStates {
		names[i] = string(state)
	}
	return strings.Join(names, ", ")
}
