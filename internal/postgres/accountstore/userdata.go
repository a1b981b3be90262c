package accountstore

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/userdata"
)

// Userdata stores the records of editors' files. It implements userdata.Store.
type Userdata struct {
	pool    *pgxpool.Pool
	storage *Storage // nil = no limit
}

var _ userdata.Store = (*Userdata)(nil)

// NewUserdata returns the store on pool.
func NewUserdata(pool *pgxpool.Pool) *Userdata { return &Userdata{pool: pool} }

// Within returns a store that enforces the storage limits of accounts.
func (u *Userdata) Within(storage *Storage) *Userdata {
	return &Userdata{pool: u.pool, storage: storage}
}

const userdataColumns = `path, hash, size, created_at, modified_at`

// List implements userdata.Store.
func (u *Userdata) List(ctx context.Context, account string, dir userdata.Path, recurse bool) ([]userdata.File, error) {
	below := ""
	if dir != "" {
		below = string(dir) + "/"
	}
	// starts_with prevents a path from acting as a pattern; the range lets the primary key serve the query.
	rows, err := u.pool.Query(ctx, `select `+userdataColumns+` from userdata
		where account = $1 and path >= $2 and starts_with(path, $2) and ($3 or strpos(substr(path, length($2) + 1), '/') = 0)
		order by path`, account, below, recurse)
	if err != nil {
		return nil, postgres.Classify(err, "list user data")
	}
	found, err := pgx.CollectRows(rows, scanUserdata)
	if err != nil || len(found) > 0 || dir == "" {
		return found, postgres.Classify(err, "list user data")
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

func (u *Userdata) queryOne(ctx context.Context, q postgres.Tx, p userdata.Path, sql string, args ...any) (userdata.File, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return userdata.File{}, postgres.Classify(err, "user data")
	}
	f, err := pgx.CollectExactlyOneRow(rows, scanUserdata)
	if errors.Is(err, pgx.ErrNoRows) {
		return f, fault.New(fault.NotFound, fault.CodeNotFound, "there is no file %q", p)
	}
	return f, postgres.Classify(err, "user data")
}

// Find implements userdata.Store.
func (u *Userdata) Find(ctx context.Context, account string, p userdata.Path) (userdata.File, error) {
	return u.queryOne(ctx, u.pool, p, `select `+userdataColumns+` from userdata where account = $1 and path = $2`, account, p)
}

// Put implements userdata.Store. It refuses a file whose path is a directory of other files, as a file system would.
func (u *Userdata) Put(ctx context.Context, account string, f userdata.File, overwrite bool, most int) (userdata.File, error) {
	return u.store(ctx, account, f, most, func(tx pgx.Tx) error { return free(ctx, tx, account, f.Path, overwrite) })
}

// Swap implements userdata.Store.
func (u *Userdata) Swap(ctx context.Context, account string, f userdata.File, was *blob.Ref, most int) (userdata.File, error) {
	return u.store(ctx, account, f, most, func(tx pgx.Tx) error {
		held, err := u.queryOne(ctx, tx, f.Path, `select `+userdataColumns+` from userdata where account = $1 and path = $2`, account, f.Path)
		switch absent := fault.Is(err, fault.NotFound); {
		case err != nil && !absent:
			return err
		case absent != (was == nil), was != nil && held.Hash != *was:
			return userdata.ErrChanged
		}
		return free(ctx, tx, account, f.Path, true)
	})
}

// store stores a file if check succeeds.
func (u *Userdata) store(ctx context.Context, account string, f userdata.File, most int, check func(pgx.Tx) error) (kept userdata.File, err error) {
	limit, err := u.storage.Limit(ctx, account)
	if err != nil {
		return kept, err
	}
	err = u.change(ctx, account, func(tx pgx.Tx) error {
		if err := check(tx); err != nil {
			return err
		}
		kept, err = u.queryOne(ctx, tx, f.Path, `insert into userdata (account, path, hash, size, created_at, modified_at)
			values ($1, $2, $3, $4, now(), now())
			on conflict (account, path) do update set hash = excluded.hash, size = excluded.size, modified_at = excluded.modified_at
			returning `+userdataColumns, account, f.Path, f.Hash[:], f.Size)
		if err != nil {
			return err
		}
		held := 0
		if err := tx.QueryRow(ctx, `select count(*) from userdata where account = $1`, account).Scan(&held); err != nil {
			return postgres.Classify(err, "count user data")
		}
		if held > most {
			return fault.New(fault.Exhausted, fault.CodeTooManyFiles, "an account may store at most %d files", most)
		}
		return Within(ctx, tx, account, limit, f.Size)
	})
	return kept, err
}

// Delete implements userdata.Store.
func (u *Userdata) Delete(ctx context.Context, account string, p userdata.Path) error {
	done, err := u.pool.Exec(ctx, `delete from userdata where account = $1 and path = $2`, account, p)
	if err == nil && done.RowsAffected() == 0 {
		return fault.New(fault.NotFound, fault.CodeNotFound, "there is no file %q", p)
	}
	return postgres.Classify(err, "delete user data")
}

// Move implements userdata.Store.
func (u *Userdata) Move(ctx context.Context, account string, from, to userdata.Path, overwrite bool) (moved userdata.File, err error) {
	err = u.change(ctx, account, func(tx pgx.Tx) error {
		if moved, err = u.queryOne(ctx, tx, from, `select `+userdataColumns+` from userdata where account = $1 and path = $2`, account, from); err != nil || from == to {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from userdata where account = $1 and path = $2`, account, from); err != nil {
			return postgres.Classify(err, "move user data")
		}
		if err := free(ctx, tx, account, to, overwrite); err != nil {
			return err
		}
		moved, err = u.queryOne(ctx, tx, to, `insert into userdata (account, path, hash, size, created_at, modified_at)
			values ($1, $2, $3, $4, $5, $6)
			on conflict (account, path) do update set hash = excluded.hash, size = excluded.size, modified_at = excluded.modified_at
			returning `+userdataColumns, account, to, moved.Hash[:], moved.Size, moved.Created, moved.Modified)
		return err
	})
	return moved, err
}

// lockOfUserdata distinguishes these advisory locks from others.
const lockOfUserdata = 23

// change runs fn exclusively among the changes of an account, because a path may conflict with other paths.
func (u *Userdata) change(ctx context.Context, account string, fn func(pgx.Tx) error) error {
	return postgres.Classify(pgx.BeginFunc(ctx, u.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, $2))`, account, lockOfUserdata); err != nil {
			return err
		}
		return fn(tx)
	}), "change user data")
}

// free fails unless a file may be created at the path.
func free(ctx context.Context, tx pgx.Tx, account string, p userdata.Path, overwrite bool) error {
	var taken, within bool
	err := tx.QueryRow(ctx, `select exists (select from userdata where account = $1 and path = $2),
		exists (select from userdata where account = $1 and (path >= $2 || '/' and starts_with(path, $2 || '/') or path = any($3)))`,
		account, p, ancestors(p)).Scan(&taken, &within)
	switch {
	case err != nil:
		return postgres.Classify(err, "look for user data")
	case within:
		return fault.New(fault.Conflict, fault.CodePathInUse, "a file cannot be a directory of others")
	case taken && !overwrite:
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
