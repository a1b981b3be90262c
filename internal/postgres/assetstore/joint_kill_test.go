package assetstore_test

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
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
)

// uploaderOf names the database in which this program, started by a test, makes assets until it is killed.
const uploaderOf = "MILLRACE_TEST_UPLOADER_OF"

func TestMain(m *testing.M) {
	dsn := os.Getenv(uploaderOf)
	if dsn == "" {
		os.Exit(m.Run())
	}
	if err := uploadUntilKilled(context.Background(), dsn, os.Args[1], strings.Split(os.Args[2], ",")); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// uploadUntilKilled uploads a file, and then at once files with public ids, which wait for the first. Their bytes are stored
// below root. It says when they wait, and which were made.
func uploadUntilKilled(ctx context.Context, dsn, root string, public []string) error {
	pool, err := postgres.Open(ctx, dsn, postgres.PoolOptions{})
	if err != nil {
		return err
	}
	types := eventlog.NewRegistry()
	if err := asset.Register(types); err != nil {
		return err
	}
	blobs, err := disk.Open(ctx, root, disk.Options{})
	if err != nil {
		return err
	}
	store := assetstore.New(pool, eventstore.New(pool, types, nil))
	uploads := asset.NewService(store, blobs, asset.Options{})
	var running sync.WaitGroup
	upload := func(id string) {
		running.Go(func() { fmt.Println("outcome", id, uploadChosen(ctx, uploads, asset.PublicID(id))) })
	}
	upload(uuid.NewString())
	for waits := false; !waits; {
		if err := pool.QueryRow(ctx, `select exists (select from pg_stat_activity where wait_event_type = 'Lock'
			and datname = current_database())`).Scan(&waits); err != nil {
			return err
		}
	}
	for _, id := range public {
		upload(id)
	}
	for store.Joining("acme") < len(public) {
		if err := pause.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	fmt.Println("waiting")
	running.Wait()
	return pause.For(ctx, time.Minute)
}

// uploadChosen uploads a file of its own bytes, whose public id the client chooses.
func uploadChosen(ctx context.Context, uploads *asset.Service, public asset.PublicID) error {
	in, err := uploads.Receive(ctx, "acme", nil)
	if err != nil {
		return err
	}
	defer in.Drop()
	if _, err := in.Write([]byte(public)); err != nil {
		return err
	}
	spec := asset.Spec{Account: "acme", ContentType: "text/plain", Chosen: public, Key: "key of " + string(public)}
	_, err = uploads.Create(ctx, in, nil, spec)
	return err
}

// A process that is killed in the middle of a joint transaction leaves all of it or nothing, answered nobody before, and the bytes
// of what it leaves are on the disk.
func TestAJointTransactionOfUploadsIsRecordedWholeOrNotAtAllWhenItsProcessIsKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop     func(public string) (statement string, args []any) // makes the joint transaction wait in its middle
		query    string                                             // that it waits in
		recorded int                                                // 1: what is sent with the commit is committed
	}{
		"before its decisions": {func(public string) (string, []any) {
			return `select pg_advisory_xact_lock(hashtextextended($1, 11))`, []any{"acme\x1f" + blob.Sum([]byte(public)).Hex()}
		}, `select pg\_advisory\_xact\_lock(key)%`, 0},
		"in its append": {func(public string) (string, []any) {
			return `insert into streams (id, account, version) values ($1, 'another', 1)`,
				[]any{asset.IDOfChoice("acme", asset.PublicID(public)).Stream()}
		}, `select * from append\_events\_or\_fail%`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, root := newAssets(t), t.TempDir()
			public := make([]string, 8)
			for i := range public {
				public[i] = uuid.NewString()
			}
			first, err := b.pool.Begin(t.Context())
			require.NoError(t, err)
			_, err = first.Exec(t.Context(), `lock table asset_public_ids in share mode`) // the upload that the others wait for
			require.NoError(t, err)
			middle, err := b.pool.Begin(t.Context())
			require.NoError(t, err)
			statement, args := c.stop(public[5])
			_, err = middle.Exec(t.Context(), statement, args...)
			require.NoError(t, err)

			kill, said := b.startUploader(t, root, public)
			require.Equal(t, "waiting", <-said)
			require.NoError(t, first.Rollback(t.Context()))
			b.until(t, func() bool {
				return b.count(t, `select count(*) from pg_stat_activity where query like $1 and wait_event_type = 'Lock'
					and datname = current_database()`, c.query) > 0
			})
			kill()
			require.NoError(t, middle.Rollback(t.Context()))
			for line := range said {
				require.NotContains(t, public, strings.Fields(line)[1], "nobody was answered: %s", line)
			}
			b.until(t, func() bool { // the server has noticed
				return b.count(t, `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'millrace' and
					xact_start is not null and pid <> pg_backend_pid()`) == 0
			})
			b.requireAllOrNothing(t, root, public, c.recorded)
		})
	}
}

// requireAllOrNothing expects that all assets are recorded with all that belongs to them, or none, that their bytes can be read,
// and that they can be uploaded again, once.
func (b *assetBundle) requireAllOrNothing(t *testing.T, root string, public []string, recorded int) {
	t.Helper()
	blobs, err := disk.Open(t.Context(), root, disk.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	uploads := asset.NewService(b.store, blobs, asset.Options{})
	all := recorded * len(public)
	require.Equal(t, []int{all, all, all, all}, []int{
		b.count(t, `select count(*) from events where type = $1 and data ->> 'public_id' = any($2)`, asset.TypeCreated, public),
		b.count(t, `select count(*) from asset_public_ids where public_id::text = any($1)`, public),
		b.count(t, `select count(*) from outbox o join asset_public_ids p on o.workflow_id = 'ingest-' || p.asset_id
			where p.public_id::text = any($1)`, public),
		b.count(t, `select count(*) from idempotency_keys where key = any(select 'key of ' || unnest($1::text[]))`, public),
	})
	for _, id := range public {
		if recorded == 0 {
			require.NoError(t, uploadChosen(t.Context(), uploads, asset.PublicID(id)))
			continue
		}
		_, err = blob.Verify(t.Context(), blobs, blob.Sum([]byte(id)))
		require.NoError(t, err)
		err = uploadChosen(t.Context(), uploads, asset.PublicID(id))
		require.Equal(t, fault.CodeIdempotencyKeyReuse, fault.CodeOf(err), "%v", err)
	}
	require.Equal(t, len(public), b.count(t, `select count(*) from files where asset_id in (select asset_id from asset_public_ids
		where public_id::text = any($1))`, public))
	require.Equal(t, b.count(t, `select coalesce(sum(size), 0) from files`), b.count(t, `select coalesce(sum(bytes), 0) from account_storage`))
}

// startUploader starts a process that uploads files. kill ends it as a crash does; said is what it says, line by line.
func (b *assetBundle) startUploader(t *testing.T, root string, public []string) (kill func(), said <-chan string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], root, strings.Join(public, ","))
	child.Env = append(os.Environ(), uploaderOf+"="+b.pool.Config().ConnString())
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
