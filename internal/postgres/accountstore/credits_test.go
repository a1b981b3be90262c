package accountstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

func newCredits(t *testing.T) (ledgers, *eventstore.Store, *pgxpool.Pool) {
	t.Helper()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	types := eventlog.NewRegistry()
	require.NoError(t, credit.Register(types))
	events := eventstore.New(pool, types, nil)
	return ledgers{accountstore.NewCredits(pool, events), events}, events, pool
}

// ledgers are ledgers that commit each change by itself.
type ledgers struct {
	*accountstore.Credits
	events *eventstore.Store
}

func (l ledgers) write(ctx context.Context, change func(context.Context, postgres.Tx) ([]eventlog.Append, error)) error {
	_, err := l.events.Write(ctx, eventstore.Decision{
		What: "change a ledger", Repeats: true,
		Decide: func(ctx context.Context, tx postgres.Tx, changes *eventstore.Changes) error {
			appends, err := change(ctx, tx)
			if err == nil {
				err = changes.Append(appends...)
			}
			return err
		},
	})
	return err
}

func (l ledgers) Hold(ctx context.Context, account, hold string, micros int64) error {
	return l.write(ctx, func(ctx context.Context, tx postgres.Tx) ([]eventlog.Append, error) {
		return l.Credits.Reserve(ctx, tx, account, hold, micros)
	})
}

func (l ledgers) Settle(ctx context.Context, account, hold string, micros int64) error {
	return l.write(ctx, func(ctx context.Context, tx postgres.Tx) ([]eventlog.Append, error) {
		return l.Credits.Settle(ctx, tx, account, hold, micros)
	})
}

func (l ledgers) Release(ctx context.Context, account, hold string) error {
	return l.write(ctx, func(ctx context.Context, tx postgres.Tx) ([]eventlog.Append, error) {
		return l.Credits.Release(ctx, tx, account, hold)
	})
}

func balance(t *testing.T, credits ledgers, account string) credit.Balance {
	t.Helper()
	b, err := credits.Balance(t.Context(), account)
	require.NoError(t, err)
	return b
}

func TestAnAccountWithoutALedgerIsNotMetered(t *testing.T) {
	t.Parallel()
	credits, events, _ := newCredits(t)
	require.NoError(t, credits.Hold(t.Context(), "a", "h", amount.Dollar))
	require.NoError(t, credits.Settle(t.Context(), "a", "h", amount.Dollar))
	require.NoError(t, credits.Release(t.Context(), "a", "h"))
	require.Equal(t, credit.Balance{}, balance(t, credits, "a"))
	recorded, err := events.ReadStream(t.Context(), credit.Stream("a"), 0, 10)
	require.NoError(t, err)
	require.Empty(t, recorded)
	require.NoError(t, credits.Grant(t.Context(), "a", 0, "operator", "metered from now"))
	require.Equal(t, fault.CodeInsufficientCredits, fault.CodeOf(credits.Hold(t.Context(), "a", "h2", 1)))
	require.NoError(t, credits.Settle(t.Context(), "a", "h", amount.Dollar), "held before there was a ledger")
	require.Equal(t, credit.Balance{Metered: true}, balance(t, credits, "a"))
}

func TestALedgerFromGrantToSettlement(t *testing.T) {
	t.Parallel()
	credits, events, _ := newCredits(t)
	ctx := t.Context()
	require.NoError(t, credits.Grant(ctx, "a", 100, "ops@example.org", "trial"))
	require.NoError(t, credits.Hold(ctx, "a", "h1", 60))
	require.NoError(t, credits.Hold(ctx, "a", "h1", 60), "a repeated command")
	require.Equal(t, fault.CodeInsufficientCredits, fault.CodeOf(credits.Hold(ctx, "a", "h2", 41)))
	require.NoError(t, credits.Hold(ctx, "a", "h2", 40), "a refused hold left nothing behind")
	require.Equal(t, credit.Balance{Metered: true, Held: 100, Granted: 100}, balance(t, credits, "a"))
	require.NoError(t, credits.Settle(ctx, "a", "h1", 55))
	require.NoError(t, credits.Settle(ctx, "a", "h1", 1), "the first amount stands")
	require.NoError(t, credits.Release(ctx, "a", "h1"), "it has ended")
	require.NoError(t, credits.Release(ctx, "a", "h2"))
	require.NoError(t, credits.Release(ctx, "a", "h2"))
	require.Equal(t, fault.CodeHoldReleased, fault.CodeOf(credits.Settle(ctx, "a", "h2", 1)))
	require.Equal(t, fault.CodeHoldReleased, fault.CodeOf(credits.Hold(ctx, "a", "h2", 1)))
	require.Equal(t, credit.Balance{Metered: true, Available: 45, Settled: 55, Granted: 100}, balance(t, credits, "a"))
	require.Equal(t, fault.CodeInsufficientCredits, fault.CodeOf(credits.Grant(ctx, "a", -46, "ops", "correction")))
	require.NoError(t, credits.Grant(ctx, "a", -45, "ops", "correction"))
	require.NoError(t, credits.Hold(ctx, "a", "free", 0), "nothing costs nothing")
	require.NoError(t, credits.Settle(ctx, "a", "free", 7), "what was spent was spent")
	require.Equal(t, credit.Balance{Metered: true, Available: -7, Settled: 62, Granted: 55}, balance(t, credits, "a"))
	recorded, err := events.ReadStream(ctx, credit.Stream("a"), 0, 100)
	require.NoError(t, err)
	require.Len(t, recorded, 8, "one event for each change, none for a repeat or a refusal")
	require.Equal(t, "ops@example.org", recorded[0].Meta.Actor)
	require.Equal(t, "trial", recorded[0].Meta.Reason)
}

func TestLedgerRefusals(t *testing.T) {
	t.Parallel()
	credits, _, _ := newCredits(t)
	ctx := t.Context()
	for name, err := range map[string]error{
		"no reason":             credits.Grant(ctx, "a", 1, "ops", ""),
		"no account":            credits.Grant(ctx, "", 1, "ops", "why"),
		"too much":              credits.Grant(ctx, "a", credit.MaxAmount+1, "ops", "why"),
		"a hold without an id":  credits.Hold(ctx, "a", "", 1),
		"a negative hold":       credits.Hold(ctx, "a", "h", -1),
		"a negative settlement": credits.Settle(ctx, "a", "h", -1),
	} {
		require.Equal(t, fault.Invalid, fault.KindOf(err), name)
	}
	require.Equal(t, fault.CodeInsufficientCredits, fault.CodeOf(credits.Grant(ctx, "a", -1, "ops", "why")), "there is nothing to correct")
	require.Equal(t, credit.Balance{}, balance(t, credits, "a"))
}

func TestConcurrentReservationsDoNotOverdraw(t *testing.T) {
	t.Parallel()
	credits, _, _ := newCredits(t)
	require.NoError(t, credits.Grant(t.Context(), "a", 10, "ops", "test"))
	var granted, refused atomic.Int64
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			switch err := credits.Hold(t.Context(), "a", fmt.Sprint(i), 1); {
			case err == nil:
				granted.Add(1)
			case fault.CodeOf(err) == fault.CodeInsufficientCredits:
				refused.Add(1)
			}
		})
	}
	group.Wait()
	require.Equal(t, int64(10), granted.Load())
	require.Equal(t, int64(30), refused.Load())
	require.Equal(t, credit.Balance{Metered: true, Held: 10, Granted: 10}, balance(t, credits, "a"))
}

func TestConcurrentReservationsOfOneIDCountOnce(t *testing.T) {
	t.Parallel()
	credits, _, _ := newCredits(t)
	require.NoError(t, credits.Grant(t.Context(), "a", 10, "ops", "test"))
	for _, round := range []struct {
		do   func(context.Context) error
		want credit.Balance
	}{
		{
			func(ctx context.Context) error { return credits.Hold(ctx, "a", "h", 7) },
			credit.Balance{Metered: true, Available: 3, Held: 7, Granted: 10},
		},
		{
			func(ctx context.Context) error { return credits.Settle(ctx, "a", "h", 5) },
			credit.Balance{Metered: true, Available: 5, Settled: 5, Granted: 10},
		},
	} {
		errs := make([]error, 12)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() { errs[i] = round.do(t.Context()) })
		}
		group.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		require.Equal(t, round.want, balance(t, credits, "a"))
	}
}

// Whatever runs at once, the tables agree with the events, and the events balance.
func TestBalanceEqualsTheFoldOfItsEvents(t *testing.T) {
	t.Parallel()
	credits, _, pool := newCredits(t)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() { operate(t, credits, rand.New(rand.NewPCG(uint64(worker), 7))) })
	}
	group.Wait()
	for _, account := range []string{"a", "b"} {
		want, err := credits.Fold(t.Context(), account)
		require.NoError(t, err)
		b := balance(t, credits, account)
		require.Equal(t, want.Balance, b)
		require.Equal(t, b.Granted, b.Available+b.Held+b.Settled)
		require.Equal(t, want.Holds, holdRows(t, pool, account))
		require.NotEmpty(t, want.Holds)
		tamper(t, pool, account)
		require.NotEqual(t, want.Holds, holdRows(t, pool, account))
		_, after, err := credits.Rebuild(t.Context(), account)
		require.NoError(t, err)
		require.Equal(t, want.Balance, after)
		require.Equal(t, want.Balance, balance(t, credits, account))
		require.Equal(t, want.Holds, holdRows(t, pool, account))
	}
	_, after, err := credits.Rebuild(t.Context(), "nobody")
	require.NoError(t, err)
	require.Equal(t, credit.Balance{}, after)
	require.Equal(t, credit.Balance{}, balance(t, credits, "nobody"))
}

// operate does random things to two ledgers with few ids, so that commands meet.
func operate(t *testing.T, credits ledgers, rnd *rand.Rand) {
	for range 60 {
		account, hold := []string{"a", "b"}[rnd.IntN(2)], fmt.Sprint(rnd.IntN(40))
		var err error
		switch rnd.IntN(8) {
		case 0:
			err = credits.Grant(t.Context(), account, rnd.Int64N(200)-60, "test", "random")
		case 1, 2, 3:
			err = credits.Hold(t.Context(), account, hold, rnd.Int64N(50))
		case 4, 5:
			err = credits.Settle(t.Context(), account, hold, rnd.Int64N(60))
		case 6:
			err = credits.Release(t.Context(), account, hold)
		case 7:
			_, _, err = credits.Rebuild(t.Context(), account)
		}
		if code := fault.CodeOf(err); err != nil && code != fault.CodeInsufficientCredits && code != fault.CodeHoldReleased {
			t.Errorf("unforeseen: %v", err)
		}
	}
}

func holdRows(t *testing.T, pool *pgxpool.Pool, account string) map[string]credit.Hold {
	t.Helper()
	rows, err := pool.Query(t.Context(), `select hold, micros, state from credit_holds where account = $1`, account)
	require.NoError(t, err)
	found := map[string]credit.Hold{}
	var id string
	var h credit.Hold
	_, err = pgx.ForEachRow(rows, []any{&id, &h.Micros, &h.State}, func() error { found[id] = h; return nil })
	require.NoError(t, err)
	return found
}

func tamper(t *testing.T, pool *pgxpool.Pool, account string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `delete from credit_holds where account = $1`, account)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `update credit_balances set available = available + 5, granted = granted + 5 where account = $1`, account)
	require.NoError(t, err)
}

// A hold is part of the caller's transaction: it comes and goes with it.
func TestReservationJoinsTheCallersTransaction(t *testing.T) {
	t.Parallel()
	credits, events, _ := newCredits(t)
	require.NoError(t, credits.Grant(t.Context(), "a", 10, "ops", "test"))
	admit := func(hold string, fail error) error {
		_, err := events.Write(t.Context(), eventstore.Decision{
			Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
				appends, err := credits.Reserve(ctx, tx, "a", hold, 4)
				if err != nil {
					return err
				}
				return errors.Join(c.Append(appends...), fail)
			},
		})
		return err
	}
	require.Error(t, admit("h1", fault.New(fault.Invalid, "", "the rest of the admission fails")))
	require.Equal(t, credit.Balance{Metered: true, Available: 10, Granted: 10}, balance(t, credits, "a"))
	require.NoError(t, admit("h1", nil))
	require.NoError(t, admit("h2", nil))
	require.Equal(t, fault.CodeInsufficientCredits, fault.CodeOf(admit("h3", nil)))
	require.Equal(t, credit.Balance{Metered: true, Available: 2, Held: 8, Granted: 10}, balance(t, credits, "a"))
}

// boughtV1 is of a type that only a newer version of the program has.
type boughtV1 struct{}

func TestALedgerOfANewerVersionIsReadAndNotRebuilt(t *testing.T) {
	t.Parallel()
	credits, _, pool := newCredits(t)
	require.NoError(t, credits.Grant(t.Context(), "a", 10, "ops", "test"))
	newer := eventlog.NewRegistry()
	require.NoError(t, newer.Register(eventlog.TypeOf[boughtV1]("credits.bought.v1")))
	_, err := eventstore.New(pool, newer, nil).Append(t.Context(), eventlog.Append{
		Stream: credit.Stream("a"), Account: "a", Expected: eventlog.AnyVersion,
		Events: []eventlog.Event{{ID: uuid.New(), Type: "credits.bought.v1", Data: boughtV1{}}},
	})
	require.NoError(t, err)

	ledger, err := credits.Fold(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, int64(2), ledger.Version)
	require.Equal(t, int64(10), ledger.Balance.Available)
	_, _, err = credits.Rebuild(t.Context(), "a")
	require.ErrorIs(t, err, eventlog.ErrUnknownType, "a balance without what the newer version wrote would be wrong")
	require.Equal(t, int64(10), balance(t, credits, "a").Available)
}
