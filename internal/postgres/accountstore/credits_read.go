package accountstore

import (
	"context"
	"fmt"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Balance returns the balance of an account. Metered is false if the account has no ledger.
func (c *Credits) Balance(ctx context.Context, account string) (credit.Balance, error) {
	return readBalance(ctx, c.pool, `select true, granted, available, held, settled from credit_balances where account = $1`, account)
}

func readBalance(ctx context.Context, db postgres.RowQueryer, query, account string) (credit.Balance, error) {
	var b credit.Balance
	_, err := postgres.Find(ctx, db, "read the balance of account "+account,
		[]any{&b.Metered, &b.Granted, &b.Available, &b.Held, &b.Settled}, query, account)
	return b, err
}

// Fold returns the state of an account's ledger from its events, independently of the tables.
func (c *Credits) Fold(ctx context.Context, account string) (credit.Ledger, error) {
	return c.fold(ctx, c.pool, account)
}

func (c *Credits) fold(ctx context.Context, db postgres.Queryer, account string) (credit.Ledger, error) {
	recorded := eventlog.Read(ctx, eventstore.StreamsOf(db), credit.Stream(account), 0)
	l, err := eventlog.Fold(c.events.Types(), recorded, credit.Ledger{}, func(l credit.Ledger, rec eventlog.Recorded, data any) credit.Ledger {
		l.Apply(rec, data)
		return l
	})
	if err != nil {
		return credit.Ledger{}, fmt.Errorf("ledger of account %s: %w", account, err)
	}
	return l, nil
}

// Rebuild rewrites the tables of an account's ledger from its events, and returns the balance before and after. The
// two are equal unless a row was changed by other means.
func (c *Credits) Rebuild(ctx context.Context, account string) (before, after credit.Balance, err error) {
	_, err = c.events.Write(ctx, eventstore.Decision{
		What: "rebuild the ledger of account " + account,
		Decide: func(ctx context.Context, tx postgres.Tx, changes *eventstore.Changes) error {
			// Writing locks a missing row too, so that a concurrent grant comes before or after. xmax shows whether the
			// row existed.
			const lock = `insert into credit_balances (account, granted, available, held, settled, version) values ($1, 0, 0, 0, 0, 0)
				on conflict (account) do update set account = excluded.account returning xmax <> 0, granted, available, held, settled`
			if before, err = readBalance(ctx, tx, lock, account); err != nil {
				return err
			}
			if err := c.checkLedgerTypes(ctx, tx, account); err != nil {
				return err
			}
			l, err := c.fold(ctx, tx, account)
			if err != nil {
				return err
			}
			after = l.Balance
			writeLedger(changes, account, l)
			return nil
		},
	})
	return before, after, err
}

// checkLedgerTypes refuses a ledger with event types that this binary does not know: a balance without them would
// stay wrong.
func (c *Credits) checkLedgerTypes(ctx context.Context, db postgres.Queryer, account string) error {
	for rec, err := range eventlog.Read(ctx, eventstore.StreamsOf(db), credit.Stream(account), 0) {
		if err != nil {
			return err
		}
		if !c.events.Types().Knows(rec.Type) {
			return fault.Wrap(eventlog.ErrUnknownType, fault.Unavailable, fault.CodeUnknownEventType,
				"event %d of the ledger has the type %s, which a newer version of Millrace wrote: rebuild the ledger with that version", rec.Version,
				rec.Type)
		}
	}
	return nil
}

func writeLedger(c *eventstore.Changes, account string, l credit.Ledger) {
	ids, states := make([]string, 0, len(l.Holds)), make([]string, 0, len(l.Holds))
	micros := make([]int64, 0, len(l.Holds))
	for id, h := range l.Holds {
		ids, states, micros = append(ids, id), append(states, string(h.State)), append(micros, h.Micros)
	}
	b := l.Balance
	c.Queue(`delete from credit_holds where account = $1`, account)
	c.Queue(`insert into credit_holds (account, hold, micros, state)
		select $1, i.* from unnest($2::text[], $3::bigint[], $4::text[]) as i`, account, ids, micros, states)
	if b.Metered {
		c.Queue(`update credit_balances set granted = $2, available = $3, held = $4, settled = $5, version = $6
			where account = $1`, account, b.Granted, b.Available, b.Held, b.Settled, l.Version)
	} else {
		c.Queue(`delete from credit_balances where account = $1`, account)
	}
}
