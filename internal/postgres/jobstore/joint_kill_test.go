package jobstore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
)

// submitterOf names the database in which this program, started by a test, submits jobs until it is killed.
const submitterOf = "MILLRACE_TEST_SUBMITTER_OF"

func TestMain(m *testing.M) {
	dsn := os.Getenv(submitterOf)
	if dsn == "" {
		os.Exit(m.Run())
	}
	if err := submitUntilKilled(context.Background(), dsn, os.Args[len(os.Args)-1]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// submitUntilKilled submits a job, and then at once the jobs with the public ids of list, which wait for the first. It says
// when they wait, and which were accepted.
func submitUntilKilled(ctx context.Context, dsn, list string) error {
	pool, err := postgres.Open(ctx, dsn, postgres.PoolOptions{})
	if err != nil {
		return err
	}
	types := eventlog.NewRegistry()
	if err := job.Register(types); err != nil {
		return err
	}
	store := jobstore.New(pool, eventstore.New(pool, types, nil))
	var running sync.WaitGroup
	submit := func(public job.PublicID) {
		running.Go(func() {
			_, err := store.Submit(ctx, chosenJob(public))
			fmt.Println("outcome", public, err)
		})
	}
	submit(job.PublicID(uuid.NewString()))
	for waits := false; !waits; {
		if err := pool.QueryRow(ctx, `select exists (select from pg_stat_activity where wait_event_type = 'Lock'
			and datname = current_database())`).Scan(&waits); err != nil {
			return err
		}
	}
	public := strings.Split(list, ",")
	for _, id := range public {
		submit(job.PublicID(id))
	}
	for store.Joining(account.LocalID) < len(public) {
		if err := pause.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	fmt.Println("waiting")
	running.Wait()
	return pause.For(ctx, time.Minute)
}

func chosenJob(public job.PublicID) job.NewJob {
	return job.NewJob{
		ID: job.IDOfChoice(account.LocalID, public), Account: account.LocalID, Submitted: job.SubmittedV1{PublicID: public},
		IdempotencyKey: "key of " + string(public), Operation: "jobs", Bounds: job.Bounds{Slots: 3, QueueDepth: 99},
	}
}

// A process that is killed in the middle of a joint transaction leaves all of it or nothing, and answered nobody before.
func TestAJointTransactionIsRecordedWholeOrNotAtAllWhenItsProcessIsKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop     func(public job.PublicID) (statement string, args []any) // makes the joint transaction wait in its middle
		query    string                                                   // that it waits in
		recorded int                                                      // 1: what is sent with the commit is committed
	}{
		"before its decisions": {func(public job.PublicID) (string, []any) {
			return `insert into job_public_ids (account, public_id, job_id) values ($1, $2, $3)`, []any{account.LocalID, public, uuid.NewString()}
		}, `insert into job_public_ids%`, 0},
		"in its append": {func(public job.PublicID) (string, []any) {
			return `insert into streams (id, account, version) values ($1, 'another', 1)`, []any{chosenJob(public).ID.Stream()}
		}, `select * from append\_events\_or\_fail%`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newFixture(t)
			y.must(t, job.NewJob{})
			var public []string
			for range 8 {
				public = append(public, uuid.NewString())
			}
			admission, middle := y.begin(t), y.begin(t)
			_, err := admission.Exec(t.Context(), `select from job_admissions for update`)
			require.NoError(t, err)
			statement, args := c.stop(job.PublicID(public[5]))
			_, err = middle.Exec(t.Context(), statement, args...)
			require.NoError(t, err)

			kill, said := y.startSubmitter(t, strings.Join(public, ","))
			require.Equal(t, "waiting", <-said)
			require.NoError(t, admission.Rollback(t.Context()))
			y.until(t, func() bool {
				return y.count(t, `select count(*) from pg_stat_activity where query like $1 and wait_event_type = 'Lock'
					and datname = current_database()`, c.query) > 0
			})
			kill()
			require.NoError(t, middle.Rollback(t.Context()))
			for line := range said {
				require.NotContains(t, strings.Join(public, ","), strings.Fields(line)[1], "nobody was answered: %s", line)
			}
			y.until(t, func() bool { // the server has noticed
				return y.count(t, `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'millrace' and
					xact_start is not null and pid <> pg_backend_pid()`) == 0
			})
			y.requireAllOrNothing(t, public, c.recorded)
		})
	}
}

// requireAllOrNothing expects that all jobs are recorded with all that belongs to them, or none, and that they can be submitted
// again, once.
func (y *fixture) requireAllOrNothing(t *testing.T, public []string, recorded int) {
	t.Helper()
	y.consistent(t)
	all := recorded * len(public)
	require.Equal(t, []int{all, all, all}, []int{
		y.count(t, `select count(*) from events where type = $1 and data ->> 'public_id' = any($2)`, job.TypeSubmitted, public),
		y.count(t, `select count(*) from job_public_ids where public_id::text = any($1)`, public),
		y.count(t, `select count(*) from idempotency_keys where key = any(select 'key of ' || unnest($1::text[]))`, public),
	})
	for _, id := range public {
		_, err := y.jobs.Submit(t.Context(), chosenJob(job.PublicID(id)))
		require.Equal(t, recorded == 1, fault.Is(err, fault.Conflict), "%v", err)
	}
	require.Equal(t, len(public), y.count(t, `select count(*) from events where type = $1 and data ->> 'public_id' = any($2)`,
		job.TypeSubmitted, public))
	require.Equal(t, 3, y.count(t, `select count(*) from outbox`), "one for each slot")
	y.consistent(t)
}

func (y *fixture) begin(t *testing.T) pgx.Tx {
	t.Helper()
	tx, err := y.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // it may have ended
	return tx
}

// startSubmitter starts a process that submits jobs. kill ends it as a crash does; said is what it says, line by line.
func (y *fixture) startSubmitter(t *testing.T, list string) (kill func(), said <-chan string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], list)
	child.Env = append(os.Environ(), submitterOf+"="+y.pool.Config().ConnString())
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
