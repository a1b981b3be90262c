package accountstore

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Credits implements the ledgers of accounts. Each change locks the account's balance row, changes it and appends the
// event at the version that the row expects, so that the row and the log always agree.
//
// Reserve, Settle and Release are part of a decision of the caller: they write the rows and return the event as an append, or
// none if nothing changed, which the caller adds to its own; Joined makes one append of those to one ledger. After an
// error the decision must fail.
type Credits struct {
	pool   *pgxpool.Pool
	events *eventstore.Store
}

// NewCredits returns the ledgers on pool that append through events.
func NewCredits(pool *pgxpool.Pool, events *eventstore.Store) *Credits {
	return &Credits{pool: pool, events: events}
}

// Joined makes one append of the appends to the ledger of an account, in the order in which they were made: each expects
// the version that the one before it leaves.
func Joined(ledger []eventlog.Append) []eventlog.Append {
	if len(ledger) < 2 {
		return ledger
	}
	all := ledger[0]
	for _, a := range ledger[1:] {
		all.Events = append(all.Events, a.Events...)
	}
	return []eventlog.Append{all}
}

const grantCredit = `insert into credit_balances (account, granted, available, held, settled, version)
	select $1::text, $2::bigint, $2::bigint, 0, 0, 1 where $2::bigint >= 0 or exists (select from credit_balances where account = $1::text)
	on conflict (account) do update set granted = credit_balances.granted + $2::bigint,
		available = credit_balances.available + $2::bigint, version = credit_balances.version + 1
	where $2::bigint >= 0 or credit_balances.available + $2::bigint >= 0
	returning version`

// Grant grants credit to an account, in micros. The first grant, which may be 0, makes the account metered. A
// negative amount is a correction, which must not exceed the available credit; otherwise Grant fails with
// insufficient_credits.
func (c *Credits) Grant(ctx context.Context, account string, micros int64, actor, reason string) error {
	if err := checkAmount(micros, -credit.MaxAmount); err != nil {
		return err
	}
	if account == "" || reason == "" {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a grant must name an account and a reason")
	}
	first := uuid.New()
	var version int64
	_, err := c.events.Write(ctx, eventstore.Decision{
		What: "grant credit to account " + account, First: first,
		Read: func(q *pgx.Batch) {
			version = 0
			postgres.ScanInto(q.Queue(grantCredit, account, micros), &version)
		},
		Decide: func(_ context.Context, _ postgres.Tx, changes *eventstore.Changes) error {
			if version == 0 {
				return credit.Insufficient()
			}
			return changes.Append(eventlog.Append{
				Stream: credit.Stream(account), Account: account, Expected: version - 1,
				Events: []eventlog.Event{{ID: first, Type: credit.TypeGranted, Data: credit.GrantedV1{Micros: micros}}},
				Meta:   eventlog.Meta{Actor: actor, Reason: reason},
			})
		},
	})
	return err
}

// reserveCredit locks the balance first, so that what it reads is the latest; u moves the balance only
// where the hold is new.
const reserveCredit = `
	with b as materialized (select available from credit_balances where account = $1 for update),
	     h as (insert into credit_holds (account, hold, micros, state)
		select $1::text, $2::text, $3::bigint, 'held' from b where available >= $3 or $3 = 0
		on conflict do nothing returning micros),
	     u as (update credit_balances c set available = c.available - h.micros, held = c.held + h.micros, version = c.version + 1
		from h where c.account = $1 returning c.version)
	select exists (select from b), coalesce((select version from u), 0)`

// Reserve reserves an amount under an id that the caller chooses. Repeating it changes nothing; the first amount stays.
// If less is available, it fails with insufficient_credits (Exhausted); a released id is Conflict. For an account
// that is not metered, nothing is recorded.
func (c *Credits) Reserve(ctx context.Context, tx postgres.RowQueryer, account, hold string, micros int64) ([]eventlog.Append, error) {
	if err := checkHold(hold, micros); err != nil {
		return nil, err
	}
	var metered bool
	var version int64
	if err := tx.QueryRow(ctx, reserveCredit, account, hold, micros).Scan(&metered, &version); err != nil {
		return nil, postgres.Classify(err, "hold credit of account "+account)
	}
	if version > 0 {
		return ledgerEvent(account, hold, version, credit.TypeHeld, credit.HeldV1{Hold: hold, Micros: micros}), nil
	}
	if !metered {
		return nil, nil
	}
	state, err := HoldState(ctx, tx, account, hold)
	switch {
	case err != nil:
		return nil, err
	case state == "":
		return nil, credit.Insufficient()
	case state == credit.Released:
		return nil, released(hold)
	}
	return nil, nil
}

// endReservation ends a reservation with state $3 and spent amount $4. It changes the balance only if the reservation was
// open.
const endReservation = `
	with b as materialized (select account from credit_balances where account = $1 for update),
	     h as (update credit_holds set state = $3
		where account = $1 and hold = $2 and state = 'held' and exists (select from b) returning micros),
	     u as (update credit_balances c set held = c.held - h.micros, settled = c.settled + $4,
			available = c.available + h.micros - $4, version = c.version + 1
		from h where c.account = $1 returning c.version, h.micros)
	select version, micros from u`

// Settle ends a reservation of which micros were spent, possibly more than was reserved. Repeating it changes
// nothing; the first amount stays. A released reservation is Conflict. If there is no reservation, because the
// account was not metered then, nothing changes.
func (c *Credits) Settle(ctx context.Context, tx postgres.RowQueryer, account, hold string, micros int64) ([]eventlog.Append, error) {
	version, held, err := c.end(ctx, tx, account, hold, credit.Settled, micros)
	if err != nil || version == 0 {
		return nil, err
	}
	return ledgerEvent(account, hold, version, credit.TypeSettled, credit.SettledV1{Hold: hold, Micros: micros, Held: held}), nil
}

// Release ends a reservation of which nothing was spent. It does not change a reservation that has ended or was never
// made.
func (c *Credits) Release(ctx context.Context, tx postgres.RowQueryer, account, hold string) ([]eventlog.Append, error) {
	version, held, err := c.end(ctx, tx, account, hold, credit.Released, 0)
	if err != nil || version == 0 {
		return nil, err
	}
	return ledgerEvent(account, hold, version, credit.TypeReleased, credit.ReleasedV1{Hold: hold, Micros: held}), nil
}

// releaseAll releases several reservations, of which nothing was spent.
const releaseAll = `
	with b as materialized (select account from credit_balances where account = $1 for update),
	     h as (update credit_holds set state = 'released'
		where account = $1 and hold = any($2) and state = 'held' and exists (select from b) returning hold, micros),
	     u as (update credit_balances c set held = c.held - t.micros, available = c.available + t.micros, version = c.version + t.n
		from (select coalesce(sum(micros), 0)::bigint as micros, count(*) as n from h) t
		where c.account = $1 and t.n > 0 returning c.version)
	select h.hold, h.micros, u.version from h, u order by h.hold`

// ReleaseAll is Release of several reservations of one account.
func (c *Credits) ReleaseAll(ctx context.Context, tx postgres.Queryer, account string, holds []string) ([]eventlog.Append, error) {
	a := eventlog.Append{Stream: credit.Stream(account), Account: account, Meta: eventlog.Meta{Actor: account}}
	err := postgres.Each(ctx, tx, "release reservations of account "+account, func(row pgx.CollectableRow) error {
		var event credit.ReleasedV1
		err := row.Scan(&event.Hold, &event.Micros, &a.Expected)
		id := credit.EventID(account, event.Hold, credit.TypeReleased)
		a.Events = append(a.Events, eventlog.Event{ID: id, Type: credit.TypeReleased, Data: event})
		return err
	}, releaseAll, account, holds)
	if err != nil || len(a.Events) == 0 {
		return nil, err
	}
	a.Expected -= int64(len(a.Events))
	return []eventlog.Append{a}, nil
}

// end ends a reservation. It returns version 0 if there was no open reservation.
func (c *Credits) end(ctx context.Context, tx postgres.RowQueryer, account, hold string, as credit.HoldState,
	spent int64,
) (version, held int64, err error) {
	if err := checkHold(hold, spent); err != nil {
		return 0, 0, err
	}
	ok, err := postgres.Find(ctx, tx, "end a hold of account "+account, []any{&version, &held}, endReservation, account, hold, as, spent)
	if ok || err != nil {
		return version, held, err
	}
	state, err := HoldState(ctx, tx, account, hold)
	if err == nil && as == credit.Settled && state == credit.Released {
		err = released(hold)
	}
	return 0, 0, err
}

// HoldState returns the state of a reservation, or "" if it was never made. It is a separate statement, so that it
// sees transactions that committed while the previous statement waited.
func HoldState(ctx context.Context, tx postgres.RowQueryer, account, hold string) (credit.HoldState, error) {
	var state credit.HoldState
	_, err := postgres.Find(ctx, tx, "read a hold of account "+account, []any{&state},
		`select state from credit_holds where account = $1 and hold = $2`, account, hold)
	return state, err
}

func released(hold string) error {
	return fault.New(fault.Conflict, fault.CodeHoldReleased, "reservation %s was released before", hold)
}

func checkHold(hold string, micros int64) error {
	if hold == "" || len(hold) > credit.MaxHoldID {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the id of a reservation may have at most %d bytes", credit.MaxHoldID)
	}
	return checkAmount(micros, 0)
}

func checkAmount(micros, least int64) error {
	if micros < least || micros > credit.MaxAmount {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "an amount of %d micros is out of bounds", micros)
	}
	return nil
}

func ledgerEvent(account, hold string, version int64, eventType string, data any) []eventlog.Append {
	return []eventlog.Append{{
		Stream: credit.Stream(account), Account: account, Expected: version - 1,
		Events: []eventlog.Event{{ID: credit.EventID(account, hold, eventType), Type: eventType, Data: data}},
		Meta:   eventlog.Meta{Actor: account},
	}}
}
