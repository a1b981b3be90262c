package callstore_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// callerOf names the database in which this program, started by a test, accepts and ends calls until it is killed.
const callerOf = "MILLRACE_TEST_CALLER_OF"

func TestMain(m *testing.M) {
	dsn := os.Getenv(callerOf)
	if dsn == "" {
		os.Exit(m.Run())
	}
	var w work
	err := json.Unmarshal([]byte(os.Args[len(os.Args)-1]), &w)
	if err == nil {
		err = w.untilKilled(context.Background(), dsn)
	}
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// work is what the program that is killed has to do in one joint transaction.
type work struct{ Accept, End []call.ID }

// priced is a call with a key that reserves 10, and is counted against a rate limit.
func priced(id call.ID) call.NewCall {
	n := newCall("key of "+string(id), 10)
	n.ID, n.Limits.Windows = id, []call.Window{{Name: "day", Length: 24 * time.Hour, Calls: 1000}}
	return n
}

// untilKilled accepts a call, and does the work at once, which waits for the first. It says when it waits, and who has an
// outcome.
func (w work) untilKilled(ctx context.Context, dsn string) error {
	pool, err := postgres.Open(ctx, dsn, postgres.PoolOptions{})
	if err != nil {
		return err
	}
	types := eventlog.NewRegistry()
	if err := errors.Join(call.Register(types), credit.Register(types)); err != nil {
		return err
	}
	events := eventstore.New(pool, types, nil)
	store := callstore.New(pool, events, accountstore.NewCredits(pool, events))
	var running sync.WaitGroup
	accept := func(id call.ID) {
		running.Go(func() {
			_, err := store.Accept(ctx, priced(id))
			fmt.Println("outcome", id, err)
		})
	}
	accept(call.NewID())
	for waits := false; !waits; {
		if err := pool.QueryRow(ctx, `select exists (select from pg_stat_activity where wait_event_type = 'Lock'
			and datname = current_database())`).Scan(&waits); err != nil {
			return err
		}
	}
	for _, id := range w.Accept {
		accept(id)
	}
	for _, id := range w.End {
		running.Go(func() {
			_, err := store.End(ctx, succeeded(priced(id), 4))
			fmt.Println("outcome", id, err)
		})
	}
	for store.Joining("a") < len(w.Accept)+len(w.End) {
		if err := pause.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	fmt.Println("waiting")
	running.Wait()
	return pause.For(ctx, time.Minute)
}

// A process that is killed in the middle of a joint transaction of calls leaves all of it or nothing, and answered nobody
// before, so that nobody was sent to a provider.
func TestAJointTransactionOfCallsIsRecordedWholeOrNotAtAllWhenItsProcessIsKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop     func(w work) (statement string, args []any) // makes the joint transaction wait in its middle
		query    string                                      // that it waits in
		recorded int                                         // 1: what is sent with the commit is committed
	}{
		"before its decisions": {func(w work) (string, []any) {
			return `select from call_slots where call_id = $1 for update`, []any{w.End[1]}
		}, `with freed as (delete from call\_slots%`, 0},
		"in its append": {func(w work) (string, []any) {
			return `insert into streams (id, account, version) values ($1, 'another', 1)`, []any{w.Accept[5].Stream()}
		}, `select * from append\_events\_or\_fail%`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			require.NoError(t, b.credits.Grant(t.Context(), "a", 200, "operator", "test"))
			var w work
			for range 3 {
				w.End = append(w.End, b.accept(t, priced(call.NewID())).ID)
			}
			for range 7 {
				w.Accept = append(w.Accept, call.NewID())
			}
			admission, middle := b.begin(t), b.begin(t)
			_, err := admission.Exec(t.Context(), `select from call_admissions for update`)
			require.NoError(t, err)
			statement, args := c.stop(w)
			_, err = middle.Exec(t.Context(), statement, args...)
			require.NoError(t, err)

			kill, said := b.startCaller(t, w)
			require.Equal(t, "waiting", <-said)
			require.NoError(t, admission.Rollback(t.Context()))
			b.until(t, func() bool {
				return b.count(t, `select count(*) from pg_stat_activity where query like $1 and wait_event_type = 'Lock'
					and datname = current_database()`, c.query) > 0
			})
			kill()
			require.NoError(t, middle.Rollback(t.Context()))
			for line := range said {
				for _, id := range append(w.Accept, w.End...) {
					require.NotContains(t, line, id, "nobody was answered")
				}
			}
			b.until(t, func() bool { // the server has noticed
				return b.count(t, `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'millrace' and
					xact_start is not null and pid <> pg_backend_pid()`) == 0
			})
			b.requireAllOrNothing(t, w, c.recorded)
		})
	}
}

// requireAllOrNothing expects that all of the work is recorded with all that belongs to it, or none, and that it can be done
// again, once.
func (b fixture) requireAllOrNothing(t *testing.T, w work, recorded int) {
	t.Helper()
	b.consistent(t)
	accepted, ended := recorded*len(w.Accept), recorded*len(w.End)
	inFlight, _, committed, spent := b.admission(t)
	first := inFlight - (len(w.End) + accepted - ended) // whether the call of the killed process is recorded that the others waited for
	require.LessOrEqual(t, first, 1)
	require.Equal(t, []int64{10 * int64(inFlight), 4 * int64(ended)}, []int64{committed, spent})
	balance := b.balance(t)
	require.Equal(t, []int64{committed, spent}, []int64{balance.Held, balance.Settled})
	require.Equal(t, []int{accepted, ended, accepted, len(w.End) + accepted + first, accepted, ended}, []int{
		b.count(t, `select count(*) from events where type = $1 and stream = any(select 'call-' || unnest($2::text[]))`, call.TypeAccepted,
			w.Accept),
		b.count(t, `select count(*) from events where type = $1`, call.TypeSucceeded),
		b.count(t, `select count(*) from call_keys where call_id = any($1)`, w.Accept),
		b.count(t, `select used from call_windows`),
		b.count(t, `select count(*) from outbox o where exists (select from unnest($1::text[]) i where o.workflow_id = 'call-' || i || '-1')`,
			w.Accept),
		b.count(t, `select count(*) from call_blobs where call_id = any($1) and keep_until < 'infinity'`, w.End),
	})
	for _, id := range w.End {
		done, err := b.calls.End(t.Context(), succeeded(priced(id), 4))
		require.NoError(t, err)
		require.Equal(t, recorded == 0, done.Applied)
	}
	for _, id := range w.Accept {
		n := priced(id)
		n.ID = call.NewID() // another request with the same key
		_, err := b.calls.Accept(t.Context(), n)
		require.Equal(t, recorded == 1, errors.Is(err, call.ErrKeyTaken), "%v", err)
	}
	b.consistent(t)
	require.EqualValues(t, 4*len(w.End), b.balance(t).Settled)
	require.EqualValues(t, 10*(len(w.Accept)+first), b.balance(t).Held)
}

// startCaller starts a process that does the work. kill ends it as a crash does; said is what it says, line by line.
func (b fixture) startCaller(t *testing.T, w work) (kill func(), said <-chan string) {
	t.Helper()
	list, err := json.Marshal(w)
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), os.Args[0], string(list))
	child.Env = append(os.Environ(), callerOf+"="+b.pool.Config().ConnString())
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := make(chan string, 99)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			lines <- in.Text()
		}
	}()
	return func() {
		require.NoError(t, child.Process.Kill())
		_ = child.Wait() // killed on purpose
	}, lines
}
