package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate"
	operatejobs "github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/operate/reconcile"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
)

// compareStores shows the differences between the two stores and, if sure, repairs them.
func compareStores(ctx context.Context, s *shell.Shell, sure, asJSON bool) error {
	pool, err := s.Database(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	c, err := s.Temporal()
	if err != nil {
		return err
	}
	defer c.Close()
	events, err := shell.EventStore(pool)
	if err != nil {
		return err
	}
	types, err := eventtypes.Registry()
	if err != nil {
		return err
	}
	tiers, err := app.NewTiers(s.Config)
	if err != nil {
		return err
	}
	tiers.Accounts = accountstore.New(pool).Account
	jobs := jobstore.New(pool, events)
	r := reconcile.Reconciler{
		Ops: &operatejobs.Changes{
			Pool: pool, Types: types, Events: events, Jobs: jobs,
			Retrier: job.Retrier{Sources: job.Sources{Events: events, Registry: types}},
		},
		Client: c, Namespace: s.Config.TemporalNamespace, Tiers: tiers,
		By:    operate.Attribution{Actor: shell.Operator(), Reason: "reconciled by the doctor"},
		Calls: callstore.New(pool, events, accountstore.NewCredits(pool, events)), Assets: assetstore.New(pool, events),
	}
	found, err := r.Compare(ctx)
	if err != nil {
		return err
	}
	failed := 0
	if step := s.Session().Step("reconcile", "repairs"); sure {
		for i := range found {
			if err := found[i].Do(ctx); err != nil {
				failed++
				found[i].Error = operate.ErrorLine(err)
			}
			step(int64(i+1), int64(len(found)))
		}
	}
	return errors.Join(printRepairs(s, found, asJSON), reconciled(len(found), failed, sure))
}

func reconciled(found, failed int, sure bool) error {
	switch {
	case failed > 0:
		return fmt.Errorf("%d of %d differences could not be repaired", failed, found)
	case found > 0 && !sure:
		return fmt.Errorf("nothing was changed: give --yes to repair these %d differences", found)
	}
	return nil
}

func printRepairs(s *shell.Shell, found []reconcile.Repair, asJSON bool) error {
	if asJSON {
		if found == nil {
			found = []reconcile.Repair{}
		}
		return s.PrintJSON(map[string]any{"repairs": found})
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(s.Out, "PostgreSQL and Temporal agree: there is nothing to repair")
		return err
	}
	var rows [][]terminal.Cell
	for _, r := range found {
		rows = append(rows, []terminal.Cell{{Text: r.Kind + " " + r.ID}, {Text: r.Finding}},
			[]terminal.Cell{{}, {Text: "→ " + r.Action, Style: terminal.Bold}})
		if r.Error != "" {
			rows = append(rows, []terminal.Cell{{Text: "    not repaired: " + r.Error, Style: terminal.Bad}})
		}
	}
	p := s.Printer()
	p.Table([]string{"OF", "FOUND"}, rows)
	return p.Err()
}
