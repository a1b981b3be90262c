package accountstore

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/userdata"
)

// Userdata stores the records of editors' files. It implements userdata.Store.
type Userdata struct {
	pool    *pgxpool.Pool
	events  *eventstore.Store // which has no events of user data, but writes it
	storage *Storage          // nil = no limit
}

var _ userdata.Store = (*Userdata)(nil)

// NewUserdata returns the store in pool's database that writes through events.
func NewUserdata(pool *pgxpool.Pool, events *eventstore.Store) *Userdata {
	return &Userdata{pool: pool, events: events}
}

// Within returns a store that enforces the storage limits of accounts.
func (u *Userdata) Within(storage *Storage) *Userdata {
	return &Userdata{pool: u.pool, events: u.events, storage: storage}
}

const userdataColumns = `path, hash, size, created_at, modified_at`

// List implements userdata.Store.
func (u *Userdata) List(ctx context.Context, account string, dir userdata.Path, recurse bool) ([]userdata.File, error) {
	below := ""
	if dir != "" {
		below = string(dir) + "/"
	}
	// starts_with prevents a path from acting as a pattern; the range lets the primary key serve the query.
	found, err := postgres.Collect(ctx, u.pool, "list user data", scanUserdata, `select `+userdataColumns+` from userdata
		where account = $1 and path >= $2 and starts_with(path, $2) and ($3 or strpos(substr(path, length($2) + 1), '/') = 0)
		order by path`, account, below, recurse)
	if err != nil || len(found) > 0 || dir == "" {
		return found, err
	}
	return found, u.requireDir(ctx, account, below)
}

// requireDir returns NotFound for a directory without files at any depth.
func (u *Userdata) requireDir(ctx context.Context, account, below string) error {
	there := false
	err := u.pool.QueryRow(ctx, `select exists (select from userdata where account = $1 and path >= $2 and starts_with(path, $2))`,
		account, below).Scan(&there)
	if err != nil {
		return postgres.Classify(err, "look for a directory of user data")
	}
	if !there {
		return fault.New(fault.NotFound, fault.CodeNotFound, "there is no directory %q", strings.TrimSuffix(below, "/"))
	}
	return nil
}

func scanUserdata(row pgx.CollectableRow) (userdata.File, error) {
	var f userdata.File
	var hash []byte
	err := row.Scan(&f.Path, &hash, &f.Size, &f.Created, &f.Modified)
	if err == nil {
		f.Hash = blob.Ref(hash)
	}
	return f, err
}

func errNoUserdata(p userdata.Path) error {
	return fault.New(fault.NotFound, fault.CodeNotFound, "there is no file %q", p)
}

const findUserdata = `select ` + userdataColumns + ` from userdata where account = $1 and path = $2`

// Find implements userdata.Store.
func (u *Userdata) Find(ctx context.Context, account string, p userdata.Path) (userdata.File, error) {
	f, ok, err := postgres.One(ctx, u.pool, "read user data", scanUserdata, findUserdata, account, p)
	if err == nil && !ok {
		err = errNoUserdata(p)
	}
	return f, err
}

// Put implements userdata.Store. It refuses a file whose path is a directory of other files, as a file system would.
func (u *Userdata) Put(ctx context.Context, account string, f userdata.File, overwrite bool, most int) (userdata.File, error) {
	return u.store(ctx, account, f, most, func(at place) error { return at.free(f.Path, overwrite) })
}

// Swap implements userdata.Store.
func (u *Userdata) Swap(ctx context.Context, account string, f userdata.File, was *blob.Ref, most int) (userdata.File, error) {
	return u.store(ctx, account, f, most, func(at place) error {
		if (at.file == nil) != (was == nil) || was != nil && at.file.Hash != *was {
			return userdata.ErrChanged
		}
		return at.free(f.Path, true)
	})
}

// store stores a file if check succeeds.
func (u *Userdata) store(ctx context.Context, account string, f userdata.File, most int, check func(place) error,
) (kept userdata.File, err error) {
	limit, err := u.storage.Limit(ctx, account)
	if err != nil {
		return kept, err
	}
	var at place
	var stored []userdata.File
	_, err = u.events.Write(ctx, eventstore.Decision{
		What: "change user data",
		Read: func(q *pgx.Batch) {
			queueUserdataLock(q, account)
			at.queue(q, account, f.Path)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if err := check(at); err != nil {
				return err
			}
			if at.file == nil && at.stored >= most {
				return fault.New(fault.Exhausted, fault.CodeTooManyFiles, "an account may store at most %d files", most)
			}
			postgres.CollectInto(c.Queue(insertUserdata+`($1, $2, $3, $4, now(), now())`+replaceUserdata,
				account, f.Path, f.Hash[:], f.Size), &stored, scanUserdata)
			QueueWithin(c, account, limit, f.Size)
			return nil
		},
	})
	return append(stored, userdata.File{})[0], err
}

// An insert at a path that may have a file; its values are between the two.
const (
	insertUserdata  = `insert into userdata (account, path, hash, size, created_at, modified_at) values `
	replaceUserdata = ` on conflict (account, path) do update
		set hash = excluded.hash, size = excluded.size, modified_at = excluded.modified_at returning ` + userdataColumns
)

// Delete implements userdata.Store.
func (u *Userdata) Delete(ctx context.Context, account string, p userdata.Path) error {
	done, err := u.pool.Exec(ctx, `delete from userdata where account = $1 and path = $2`, account, p)
	if err == nil && done.RowsAffected() == 0 {
		return errNoUserdata(p)
	}
	return postgres.Classify(err, "delete user data")
}

// Move implements userdata.Store.
func (u *Userdata) Move(ctx context.Context, account string, from, to userdata.Path, overwrite bool) (moved userdata.File, err error) {
	var there, at place
	var stored []userdata.File
	_, err = u.events.Write(ctx, eventstore.Decision{
		What: "change user data",
		Read: func(q *pgx.Batch) {
			queueUserdataLock(q, account)
			there.queue(q, account, from)
			q.Queue(`delete from userdata where account = $1 and path = $2`, account, from) // so that it may become a directory
			at.queue(q, account, to)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if there.file == nil {
				return errNoUserdata(from)
			}
			if moved = *there.file; from == to {
				return eventstore.ErrNothing
			}
			if err := at.free(to, overwrite); err != nil {
				return err
			}
			postgres.CollectInto(c.Queue(insertUserdata+`($1, $2, $3, $4, $5, $6)`+replaceUserdata,
				account, to, moved.Hash[:], moved.Size, moved.Created, moved.Modified), &stored, scanUserdata)
			return nil
		},
	})
	return append(stored, moved)[0], err
}

// lockOfUserdata distinguishes these advisory locks from others.
const lockOfUserdata = 23

// queueUserdataLock locks the paths of an account, because each may conflict with others.
func queueUserdataLock(q *pgx.Batch, account string) {
	q.Queue(`select pg_advisory_xact_lock(hashtextextended($1, $2))`, account, lockOfUserdata)
}

// place is what a transaction reads about a path.
type place struct {
	file   *userdata.File // at the path; nil = none
	within bool           // it is a directory of other files, or below another file
	stored int            // files of the account
}

func (at *place) queue(q *pgx.Batch, account string, p userdata.Path) {
	*at = place{}
	postgres.EachInto(q.Queue(findUserdata, account, p), func(row pgx.CollectableRow) error {
		f, err := scanUserdata(row)
		at.file = &f
		return err
	})
	postgres.ScanInto(q.Queue(`select exists (select from userdata
			where account = $1 and (path >= $2 || '/' and starts_with(path, $2 || '/') or path = any($3))),
		(select count(*) from userdata where account = $1)`, account, p, ancestors(p)), &at.within, &at.stored)
}

// free fails unless a file may be created at the path.
func (at *place) free(p userdata.Path, overwrite bool) error {
	switch {
	case at.within:
		return fault.New(fault.Conflict, fault.CodePathInUse, "a file cannot be a directory of others")
	case at.file != nil && !overwrite:
		return fault.New(fault.Conflict, fault.CodePathInUse, "there is a file %q already", p)
	}
	return nil
}

// ancestors lists the directories above a path.
func ancestors(p userdata.Path) []string {
	all := []string{}
	for i, r := range string(p) {
		if r == '/' {
			all = append(all, string(p)[:i])
		}
	}
	return all
}
