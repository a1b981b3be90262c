package jobstore

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// The transactions that submit, end and cancel a job also reserve, settle and release its credit, so that ledger and
// job always agree. Every transaction locks the admission state before the ledger.

// reserve reserves the maximum cost of a job, if the account is metered and runs have a price, and records the price
// in the job's first event.
func (s *Store) reserve(ctx context.Context, db postgres.Tx, l admissionState, n *job.NewJob) ([]eventlog.Append, error) {
	if l.credit == nil || n.Price.Free() {
		return nil, nil
	}
	n.Submitted.Price = &n.Price
	return s.credits.Reserve(ctx, db, n.Account, n.ID.HoldID(), n.Price.Hold())
}

// charge settles a job's reserved credit, if there is any, with the cost of its run.
func (s *Store) charge(ctx context.Context, db postgres.Tx, l admissionState, e job.Ending) ([]eventlog.Append, error) {
	if l.credit == nil {
		return nil, nil
	}
	state, err := accountstore.HoldState(ctx, db, e.Account, e.ID.HoldID())
	if err != nil || state != credit.Held {
		return nil, err
	}
	bill, err := s.bill(ctx, db, e)
	if err != nil {
		return nil, err
	}
	if total := bill.Total(e.Type); total > 0 {
		return s.credits.Settle(ctx, db, e.Account, e.ID.HoldID(), total)
	}
	return s.credits.Release(ctx, db, e.Account, e.ID.HoldID())
}

// bill adds up the cost of a run's events: those in the log and those recorded with its end.
func (s *Store) bill(ctx context.Context, db postgres.Tx, e job.Ending) (job.Bill, error) {
	recorded := eventlog.Read(ctx, eventstore.StreamsOf(db), e.ID.Stream(), 0)
	bill, err := eventlog.Fold(s.events.Types(), recorded, job.Bill{}, func(bill job.Bill, _ eventlog.Recorded, data any) job.Bill {
		bill.Add(e.Run, data)
		return bill
	})
	if err != nil {
		return bill, err
	}
	for _, event := range e.Before {
		bill.Add(e.Run, event.Data)
	}
	return bill, nil
}

// releaseReservations releases the credit reserved for jobs that never ran.
func (s *Store) releaseReservations(ctx context.Context, tx postgres.Tx, l admissionState, account string,
	waiting []job.ID,
) ([]eventlog.Append, error) {
	if l.credit == nil || len(waiting) == 0 {
		return nil, nil
	}
	holds := make([]string, len(waiting))
	for i, id := range waiting {
		holds[i] = id.HoldID()
	}
	return s.credits.ReleaseAll(ctx, tx, account, holds)
}
