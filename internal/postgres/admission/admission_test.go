package admission_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/admission"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// unit is a unit of the kind below, which lies in the tables of calls: these have sums and carried columns.
type unit struct {
	id   string
	held int64
}

const account, slots = "local", 4

var kind = admission.Kind[unit]{
	Name: "call", Running: "in_flight", Queued: "queued", Sums: map[string]string{"committed": "sum(held)"},
	Carried: []string{"held", "costly", "payload"}, Place: "expires_at", PlaceAt: "now() + {place}::interval", Order: "seq", Open: "true",
	Row: func(u unit) (string, string, int, []any) { return u.id, account, 1, []any{u.held, false, "{}"} },
	Scan: func(row pgx.CollectableRow) (u unit, err error) {
		err = row.Scan(&u.id, nil, nil, &u.held, nil, nil)
		return u, err
	},
	Start: func(u unit) outbox.Intent {
		return outbox.Intent{WorkflowID: "call-" + u.id + "-1", Kind: outbox.StartRunModel}
	},
	Admitted: func(u unit) eventlog.Append {
		return eventlog.Append{
			Stream: "call-" + u.id, Account: account, Expected: eventlog.AnyVersion,
			Events: []eventlog.Event{{ID: uuid.New(), Type: call.TypeAdmitted, Data: call.AdmittedV1{Run: 1}}},
		}
	},
}

// site is a database with the operations of a store that admits units while the account has slots.
type site struct {
	pool   *pgxpool.Pool
	events *eventstore.Store
	units  *admission.Admission[unit]
}

func newSite(t *testing.T) site {
	pool, types := storetest.OpenPool(t, storetest.NewDatabase(t)), eventlog.NewRegistry()
	require.NoError(t, call.Register(types))
	return site{pool, eventstore.New(pool, types, nil), admission.New(kind)}
}

// change carries out a decision that locks the account's counters first. It returns the streams of its events.
func (s site) change(ctx context.Context, read func(*pgx.Batch),
	decide func(tx postgres.Tx, c *eventstore.Changes, running, queued int) error,
) (streams []string, err error) {
	var running, queued int
	w, err := s.events.Write(ctx, eventstore.Decision{
		Read: func(q *pgx.Batch) {
			q.Queue(`insert into call_admissions (account) values ($1) on conflict (account) do update set queued = call_admissions.queued
				returning in_flight, queued`, account).QueryRow(func(row pgx.Row) error { return row.Scan(&running, &queued) })
			read(q)
		},
		Decide: func(_ context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			return decide(tx, c, running, queued)
		},
	})
	for _, rec := range w.Events {
		streams = append(streams, rec.Stream)
	}
	return streams, err
}

func (s site) accept(ctx context.Context, u unit) error {
	_, err := s.change(ctx, func(*pgx.Batch) {}, func(_ postgres.Tx, c *eventstore.Changes, running, queued int) error {
		if running < slots && queued == 0 {
			s.units.Enter(c, account, u)
			c.Start(kind.Start(u))
		} else {
			s.units.Wait(c, account, admission.Placed[unit]{Unit: u, Place: "1 hour"})
		}
		return nil
	})
	return err
}

func (s site) end(ctx context.Context, id string) (freed []unit, admitted []string, err error) {
	read := func(q *pgx.Batch) { s.units.Leave(q, account, []string{id}, &freed) }
	admitted, err = s.change(ctx, read, func(tx postgres.Tx, c *eventstore.Changes, running, queued int) error {
		running -= len(freed)
		_, err := s.units.Admit(ctx, tx, c, account, int64(min(queued, slots-running)), func(unit) bool { return true })
		return err
	})
	return freed, admitted, err
}

func (s site) withdraw(ctx context.Context, ids ...string) (gone []unit, err error) {
	_, err = s.change(ctx, func(q *pgx.Batch) { s.units.Withdraw(q, account, ids, &gone) },
		func(postgres.Tx, *eventstore.Changes, int, int) error { return nil })
	return gone, err
}

// requireCounters compares the account's counters with its rows.
func (s site) requireCounters(t *testing.T, most int) (running, queued int) {
	t.Helper()
	var inFlight, counted int
	var committed, held int64
	require.NoError(t, s.pool.QueryRow(t.Context(), `select in_flight, queued, committed, (select count(*) from call_slots), (select count(*)
		from call_queue),
		(select coalesce(sum(held), 0) from call_slots) from call_admissions`).Scan(&inFlight, &counted, &committed, &running, &queued, &held))
	require.Equal(t, running, inFlight)
	require.Equal(t, queued, counted)
	require.Equal(t, held, committed)
	require.LessOrEqual(t, running, most)
	return running, queued
}

func TestCountersAreThoseOfTheRowsWhateverHappensAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(i)))
			var mine []string
			for range 40 {
				if len(mine) == 0 || random.IntN(2) == 0 {
					u := unit{uuid.NewString(), random.Int64N(1000)}
					mine = append(mine, u.id)
					errs[i] = errors.Join(errs[i], s.accept(t.Context(), u))
					continue
				}
				k := random.IntN(len(mine))
				if _, err := s.withdraw(t.Context(), mine[k]); err != nil {
					errs[i] = errors.Join(errs[i], err)
				}
				_, _, err := s.end(t.Context(), mine[k])
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	s.requireCounters(t, slots)
}

func TestUnitsThatWaitAreAdmittedInOrderUntilOneDoesNotFit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var units []unit
	for i := range slots + 3 {
		u := unit{uuid.NewString(), int64(i + 1)}
		units = append(units, u)
		require.NoError(t, s.accept(t.Context(), u))
	}
	running, queued := s.requireCounters(t, slots)
	require.Equal(t, []int{slots, 3}, []int{running, queued})
	var intents int
	require.NoError(t, s.pool.QueryRow(t.Context(), `select count(*) from outbox`).Scan(&intents))
	require.Equal(t, slots, intents)

	freed, admitted, err := s.end(t.Context(), units[1].id)
	require.NoError(t, err)
	require.Equal(t, units[1:2], freed)
	require.Equal(t, []string{"call-" + units[slots].id}, admitted)
	freed, admitted, err = s.end(t.Context(), units[1].id)
	require.NoError(t, err)
	require.Empty(t, freed, "a slot is freed once")
	require.Empty(t, admitted)

	gone, err := s.withdraw(t.Context(), units[slots+1].id, units[0].id)
	require.NoError(t, err)
	require.Equal(t, []unit{units[slots+1]}, gone, "of those named the one that waits")
	streams, err := s.change(t.Context(), func(*pgx.Batch) {}, func(tx postgres.Tx, c *eventstore.Changes, _, _ int) error {
		admitted, err := s.units.Admit(t.Context(), tx, c, account, 10, func(u unit) bool { return u.held < 3 })
		require.Zero(t, admitted)
		return err
	})
	require.NoError(t, err)
	require.Empty(t, streams)
	running, queued = s.requireCounters(t, slots)
	require.Equal(t, []int{slots, 1}, []int{running, queued})
	accounts, err := s.units.Accounts(t.Context(), s.pool, "", 10)
	require.NoError(t, err)
	require.Equal(t, []string{account}, accounts)
}
