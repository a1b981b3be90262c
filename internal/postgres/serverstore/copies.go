package serverstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

const (
	// copyFor is how long a process that makes a copy may be silent.
	copyFor = 30 * time.Second
	// copyAgain is the time before a copy that failed, or that no server lists, is made again.
	copyAgain = 20 * time.Second
	// copyUsed is the accuracy of the time at which a copy was last used.
	copyUsed = time.Minute
)

const selectCopies = `select target, folder, name, hash, size, state, done, brought, problem, since, used_at from comfyui_copies `

func scanCopy(row pgx.CollectableRow) (c server.Copy, err error) {
	var hash []byte
	err = row.Scan(&c.Target, &c.Folder, &c.Name, &hash, &c.Size, &c.State, &c.Done, &c.Brought, &c.Problem, &c.Since, &c.UsedAt)
	if err == nil {
		c.Hash, c.Since, c.UsedAt = blob.Ref(hash), c.Since.UTC(), c.UsedAt.UTC()
	}
	return c, err
}

// addCopies adds to servers the copies of weights in their folders that are not ready.
func (st *Store) addCopies(ctx context.Context, what string, all []*server.Server) error {
	if len(all) == 0 {
		return nil
	}
	copies, err := postgres.Collect(ctx, st.pool, what, scanCopy, selectCopies+`where state <> 'ready' order by since`)
	for _, s := range all {
		for _, c := range copies {
			if c.Target == s.Target() {
				s.Copies = append(s.Copies, c)
			}
		}
	}
	return err
}

// Copies returns the copies of weights in a folder of models, the least recently used first; "" = in all folders.
func (st *Store) Copies(ctx context.Context, target string) ([]server.Copy, error) {
	return postgres.Collect(ctx, st.pool, "read the copies of weights", scanCopy,
		selectCopies+`where $1 = '' or target = $1 order by used_at, folder, name`, target)
}

// ClaimCopy reports whether the caller is to make a copy now. At most one process makes a copy.
func (st *Store) ClaimCopy(ctx context.Context, c server.Copy, holder string) (bool, error) {
	done, err := st.pool.Exec(ctx, `insert into comfyui_copies as c (target, folder, name, hash, size, state, holder, until, since, used_at)
		values ($1, $2, $3, $4, $5, 'copying', $6, now() + $7::interval, now(), now())
		on conflict (target, folder, name) do update set hash = excluded.hash, size = excluded.size, state = 'copying', done = 0,
			holder = excluded.holder, until = excluded.until, since = now(), used_at = now()
		where c.state = 'copying' and c.until < now() or c.state <> 'copying' and c.since < now() - $8::interval`,
		c.Target, c.Folder, c.Name, c.Hash[:], c.Size, holder, copyFor, copyAgain)
	return done.RowsAffected() > 0, postgres.Classify(err, "claim a copy of a weight")
}

// KeepCopy records the progress of a copy. It reports whether the caller still makes it.
func (st *Store) KeepCopy(ctx context.Context, c server.Copy, holder string) (bool, error) {
	done, err := st.pool.Exec(ctx, `update comfyui_copies set done = $4, until = now() + $6::interval
		where target = $1 and folder = $2 and name = $3 and holder = $5 and state = 'copying'`,
		c.Target, c.Folder, c.Name, c.Done, holder, copyFor)
	return done.RowsAffected() > 0, postgres.Classify(err, "record the progress of a copy")
}

// EndCopy records the end of a copy with its event. A problem that was recorded before has no further event.
func (st *Store) EndCopy(ctx context.Context, c server.Copy, holder string, by server.By, id server.ID, eventType string, data any) error {
	former := ""
	_, err := st.events.Write(ctx, eventstore.Decision{
		What: "record the end of a copy",
		Read: func(q *pgx.Batch) {
			postgres.ScanInto(q.Queue(`select problem from comfyui_copies where target = $1 and folder = $2 and name = $3 for update`,
				c.Target, c.Folder, c.Name), &former)
			q.Queue(`update comfyui_copies set state = $4, problem = $5, done = $6, brought = brought or $8, since = now()
				where target = $1 and folder = $2 and name = $3 and holder = $7`,
				c.Target, c.Folder, c.Name, string(c.State), c.Problem, c.Done, holder, c.Brought)
		},
		Decide: func(_ context.Context, _ postgres.Tx, changes *eventstore.Changes) error {
			if c.State == server.Failed && former == c.Problem {
				return nil
			}
			return record(changes, id, by, eventType, data)
		},
	})
	return err
}

// UseCopies records that segments need files of a folder of models.
func (st *Store) UseCopies(ctx context.Context, target string, names []string) error {
	_, err := st.pool.Exec(ctx, `update comfyui_copies set used_at = now()
		where target = $1 and name = any($2) and used_at < now() - $3::interval`, target, names, copyUsed)
	return postgres.Classify(err, "record the use of copies")
}

// DropCopy forgets a copy that was removed, unless it has been made again since it was read.
func (st *Store) DropCopy(ctx context.Context, c server.Copy) error {
	_, err := st.pool.Exec(ctx, `delete from comfyui_copies where target = $1 and folder = $2 and name = $3 and since = $4`,
		c.Target, c.Folder, c.Name, c.Since)
	return postgres.Classify(err, "forget a copy")
}
