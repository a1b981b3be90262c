package jobstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
)

// aPrice holds 160 and charges 100 for a success, and 10 for each second.
var aPrice = job.Price{Run: 100, NodeSecond: 10, Reserve: 60, Partners: []string{"paid"}} // a constant of the tests

// executed is the event of a node that ran for so long.
func executed(j job.Job, node string, took time.Duration) eventlog.Event {
	return eventlog.Event{
		ID: job.EventID(j.ID, 1, node, 0, job.TypeNodeExecuted), Type: job.TypeNodeExecuted,
		Data: job.NodeExecutedV1{Run: 1, Node: node, Class: "C", Millis: took.Milliseconds(), Cached: node == "cached"},
	}
}

func (y *fixture) record(t *testing.T, j job.Job, events ...eventlog.Event) {
	t.Helper()
	_, err := y.events.Append(t.Context(), eventlog.Append{
		Stream: j.ID.Stream(), Account: j.Account, Expected: eventlog.AnyVersion,
		Events: events,
	})
	require.NoError(t, err)
}

// endAs ends a run with an event of that type, and with events before it.
func endAs(j job.Job, eventType string, before ...eventlog.Event) job.Ending {
	e := job.Ending{ID: j.ID, Account: j.Account, Run: 1, Type: eventType, Before: before, Bounds: job.Bounds{Slots: 2}}
	switch eventType {
	case job.TypeFailed:
		e.Data = job.FailedV1{Run: 1}
	case job.TypeCanceled:
		e.Data = job.CanceledV1{Run: 1}
	default:
		e.Data = job.SucceededV1{Run: 1}
	}
	return e
}

func TestARunIsChargedForByThePriceItWasSubmittedAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(t *testing.T, y *fixture, j job.Job)
		cost int64
	}{
		"a success, with the seconds of its nodes": {func(t *testing.T, y *fixture, j job.Job) {
			y.record(t, j, executed(j, "1", 1500*time.Millisecond), executed(j, "cached", time.Hour), executed(j, "paid", time.Hour))
			e := endAs(j, job.TypeSucceeded, executed(j, "2", 500*time.Millisecond))
			for range 2 { // the second is one whose answer was lost
				done, err := y.jobs.End(t.Context(), e)
				require.NoError(t, err)
				require.True(t, done.Applied)
			}
		}, 100 + 20},
		"a failure, for its seconds": {func(t *testing.T, y *fixture, j job.Job) {
			y.record(t, j, executed(j, "1", 1500*time.Millisecond))
			_, err := y.jobs.End(t.Context(), endAs(j, job.TypeFailed))
			require.NoError(t, err)
		}, 15},
		"more seconds than were held for": {func(t *testing.T, y *fixture, j job.Job) {
			_, err := y.jobs.End(t.Context(), endAs(j, job.TypeCanceled, executed(j, "1", 20*time.Second)))
			require.NoError(t, err)
		}, 200},
		"nothing that ran": {func(t *testing.T, y *fixture, j job.Job) {
			_, err := y.jobs.End(t.Context(), endAs(j, job.TypeCanceled))
			require.NoError(t, err)
			_, err = y.jobs.End(t.Context(), endAs(j, job.TypeSucceeded))
			require.NoError(t, err, "it was canceled before")
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newFixture(t)
			require.NoError(t, y.credits.Grant(t.Context(), account.LocalID, 1000, "ops", "trial"))
			j := y.must(t, job.NewJob{Price: aPrice})
			require.Equal(t, job.Running, j.State)
			require.Equal(t, int64(160), y.balanced(t, account.LocalID).Held)
			c.end(t, y, j)
			b := y.balanced(t, account.LocalID)
			require.Equal(t, credit.Balance{Metered: true, Available: 1000 - c.cost, Settled: c.cost, Granted: 1000}, b)
		})
	}
}

// balanced returns the balance of an account, which is also that of its events.
func (y *fixture) balanced(t *testing.T, owner string) credit.Balance {
	t.Helper()
	b := balance(t, y.credits, owner)
	folded, err := y.credits.Fold(t.Context(), owner)
	require.NoError(t, err)
	require.Equal(t, folded.Balance, b)
	require.Equal(t, b.Granted, b.Available+b.Held+b.Settled)
	return b
}

func TestJobsThatNeverRanCostNothing(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	require.NoError(t, y.credits.Grant(t.Context(), account.LocalID, 500, "ops", "trial"))
	one := job.Bounds{Slots: 1, QueueDepth: 9}
	running := y.must(t, job.NewJob{Price: aPrice, Bounds: one})
	waiting := []job.Job{y.must(t, job.NewJob{Price: aPrice, Bounds: one}), y.must(t, job.NewJob{Price: aPrice, Bounds: one})}
	_, err := y.submit(t, job.NewJob{Price: aPrice, Bounds: one, IdempotencyKey: "k"})
	require.Equal(t, fault.CodeInsufficientCredits, fault.CodeOf(err), "20 are left, which is not nothing")
	require.Equal(t, int64(480), y.balanced(t, account.LocalID).Held)
	_, err = y.submit(t, job.NewJob{Price: aPrice, Bounds: job.Bounds{Slots: 1, QueueDepth: 2}})
	require.Equal(t, fault.CodeInsufficientCredits, fault.CodeOf(err), "reported before a full queue")
	done, err := y.jobs.Cancel(t.Context(), job.CancelRequest{Account: account.LocalID, IDs: []job.ID{waiting[0].ID, running.ID}, Bounds: one})
	require.NoError(t, err)
	require.Len(t, done, 2)
	require.Equal(t, int64(320), y.balanced(t, account.LocalID).Held, "the one that runs has not ended")
	require.Equal(t, job.Queued, y.must(t, job.NewJob{Price: aPrice, Bounds: one, IdempotencyKey: "k"}).State, "the refusal used no key up")
	ended, err := y.jobs.ExpireWaiting(t.Context(), account.LocalID, []job.ID{waiting[1].ID})
	require.NoError(t, err)
	require.Equal(t, 1, ended)
	require.Equal(t, int64(320), y.balanced(t, account.LocalID).Held)
	free := y.must(t, job.NewJob{Bounds: one})
	require.Equal(t, int64(320), y.balanced(t, account.LocalID).Held, "a run without a price holds nothing")
	require.NotEmpty(t, free.ID)
	unmetered := y.must(t, job.NewJob{Account: "other", Price: aPrice})
	y.end(t, unmetered, 1)
	require.Equal(t, credit.Balance{}, balance(t, y.credits, "other"), "who has no ledger is not charged")
}

func balance(t *testing.T, credits *accountstore.Credits, account string) credit.Balance {
	t.Helper()
	b, err := credits.Balance(t.Context(), account)
	require.NoError(t, err)
	return b
}

// chaos submits, cancels and ends jobs of one account at random, and breaks off in the midst of it as a killed
// process would: what was committed then is for the log to say.
type chaos struct {
	*fixture
	rnd   *rand.Rand
	owner string
	jobs  []job.Job
}

// cut is a context that may end at any moment.
func (c *chaos) cut(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.rnd.IntN(3) > 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(c.rnd.IntN(4000))*time.Microsecond)
}

func (c *chaos) step(ctx context.Context) {
	ctx, stop := c.cut(ctx)
	defer stop()
	if len(c.jobs) == 0 || c.rnd.IntN(2) == 0 {
		id := job.NewID()
		c.jobs = append(c.jobs, job.Job{ID: id, Account: c.owner})
		for range 1 + c.rnd.IntN(2) { // a client that heard nothing asks again
			_, _ = c.fixture.jobs.Submit(ctx, job.NewJob{ // refused, cut off or not: the ledger balances
				ID: id, Account: c.owner, Operation: "jobs", Price: aPrice, Bounds: job.Bounds{Slots: 2, QueueDepth: 4},
			})
		}
		return
	}
	j := c.jobs[c.rnd.IntN(len(c.jobs))]
	switch c.rnd.IntN(4) {
	case 0:
		_, _ = c.fixture.jobs.Cancel(ctx, job.CancelRequest{Account: c.owner, IDs: []job.ID{j.ID, c.jobs[0].ID}}) // as above
	case 1:
		_, _ = c.fixture.jobs.ExpireWaiting(ctx, c.owner, []job.ID{j.ID}) // as above
	default:
		c.end(ctx, j)
	}
}

// end ends a job that has a slot, as its worker does.
func (c *chaos) end(ctx context.Context, j job.Job) {
	withSlot, err := c.fixture.jobs.WithSlot(ctx, c.owner)
	if err != nil || len(withSlot) == 0 {
		return
	}
	j.ID = withSlot[c.rnd.IntN(len(withSlot))]
	took := time.Duration(c.rnd.IntN(3000)) * time.Millisecond
	types := []string{job.TypeSucceeded, job.TypeFailed, job.TypeCanceled}
	_, _ = c.fixture.jobs.End(ctx, endAs(j, types[c.rnd.IntN(3)], executed(j, uuid.NewString(), took))) // as above
}

// TestTheLedgerBalancesWhateverBecomesOfJobs: whatever is submitted, canceled, ended and cut off at once, what
// is held is what unfinished jobs hold, and what was settled is what the events of the others add up to.
func TestTheLedgerBalancesWhateverBecomesOfJobs(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	owners := []string{"a", "b"}
	for _, owner := range owners {
		require.NoError(t, y.credits.Grant(t.Context(), owner, 6000, "ops", "trial"))
	}
	var actors sync.WaitGroup
	for i := range 6 {
		c := &chaos{fixture: y, rnd: rand.New(rand.NewPCG(7, uint64(i))), owner: owners[i%2]}
		actors.Go(func() {
			for range 60 {
				c.step(t.Context())
			}
		})
	}
	actors.Wait()
	for _, owner := range owners {
		held, settled, ended := y.owed(t, owner)
		b := y.balanced(t, owner)
		require.Equal(t, [2]int64{held, settled}, [2]int64{b.Held, b.Settled})
		require.Greater(t, ended, 5, "something has happened")
		t.Logf("account %s: %d jobs ended, %+v", owner, ended, b)
	}
}

// owed adds up from the events of an account's jobs what unfinished ones hold and the others cost.
func (y *fixture) owed(t *testing.T, owner string) (held, settled int64, ended int) {
	t.Helper()
	rows, err := y.pool.Query(t.Context(), `select id from streams where account = $1 and id like 'job-%'`, owner)
	require.NoError(t, err)
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	for _, name := range names {
		events, err := y.events.ReadStream(t.Context(), name, 0, 100)
		require.NoError(t, err)
		cost, over, millis := int64(0), false, int64(0)
		for _, rec := range events {
			data, err := y.events.Decode(rec)
			require.NoError(t, err)
			switch e := data.(type) {
			case job.NodeExecutedV1:
				millis += e.Millis
			case job.SucceededV1:
				cost, over = 100, true
			case job.FailedV1, job.CanceledV1, job.ExpiredV1:
				over = true
			}
		}
		if !over {
			held += 160
			continue
		}
		ended++
		settled += cost + millis*10/1000
	}
	require.NotEmpty(t, names, fmt.Sprint(owner))
	return held, settled, ended
}
