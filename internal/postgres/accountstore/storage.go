package accountstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Storage knows how many bytes accounts keep and may keep. A nil Storage sets no limit.
type Storage struct {
	pool     *pgxpool.Pool
	standard int64 // the limit of accounts that have none of their own, in bytes; 0 = none

	mu     sync.Mutex // guards limits
	limits map[string]knownLimit
}

type knownLimit struct {
	bytes int64
	until time.Time
}

// NewStorage returns the storage of the accounts in pool's database. standard is the limit of an account that has
// none of its own, in bytes; 0 = no limit.
func NewStorage(pool *pgxpool.Pool, standard int64) *Storage {
	return &Storage{pool: pool, standard: standard, limits: map[string]knownLimit{}}
}

// A limit that was changed counts within limitAge, in every process; most accounts have none, and an upload must
// not ask for it each time.
const (
	limitAge  = time.Second
	maxLimits = 10_000 // known at once; beyond, all are asked for anew
)

// Limit returns how many bytes the account may keep, 0 = no limit.
func (s *Storage) Limit(ctx context.Context, id string) (int64, error) {
	if s == nil {
		return 0, nil
	}
	s.mu.Lock()
	known, ok := s.limits[id]
	s.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.bytes, nil
	}
	a := account.Account{ID: id}
	err := s.pool.QueryRow(ctx, `select storage_limit from accounts where id = $1`, id).Scan(&a.Storage)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, postgres.Classify(err, "look up how much an account may keep")
	}
	limit := a.StorageLimit(s.standard)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.limits) >= maxLimits {
		clear(s.limits)
	}
	s.limits[id] = knownLimit{limit, time.Now().Add(limitAge)}
	return limit, nil
}

// Forget has the limit of the account be read anew: it was changed by this process.
func (s *Storage) Forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.limits, id)
}

// Room returns what the account keeps and may keep, for an early refusal; the commit checks the limit. Without a limit
// nothing is counted.
func (s *Storage) Room(ctx context.Context, id string) (account.Storage, error) {
	limit, err := s.Limit(ctx, id)
	if err != nil || limit == 0 {
		return account.Storage{}, err
	}
	kept, err := s.kept(ctx, id)
	kept.Limit = limit
	return kept, err
}

// Fits fails as Denied, account.CodeStorage, unless the account may keep that many bytes more than it keeps now.
func (s *Storage) Fits(ctx context.Context, id string, bytes int64) error {
	room, err := s.Room(ctx, id)
	if err != nil {
		return err
	}
	return room.Fits(bytes)
}

// Usage returns what the account keeps, and what it may.
func (s *Storage) Usage(ctx context.Context, id string) (account.Storage, error) {
	kept, err := s.kept(ctx, id)
	if err != nil {
		return account.Storage{}, err
	}
	kept.Limit, err = s.Limit(ctx, id)
	return kept, err
}

// KeptBy returns what an account keeps and, as of a, may keep.
func (s *Storage) KeptBy(ctx context.Context, a account.Account) (account.Storage, error) {
	kept, err := s.kept(ctx, a.ID)
	kept.Limit = a.StorageLimit(s.standard)
	return kept, err
}

// kept reads a range of the primary key: an account has 64 rows at most.
func (s *Storage) kept(ctx context.Context, id string) (kept account.Storage, err error) {
	err = s.pool.QueryRow(ctx, `select coalesce(sum(bytes), 0)::bigint, coalesce(sum(files), 0)::bigint from account_storage where account = $1`, id).
		Scan(&kept.Bytes, &kept.Files)
	return kept, postgres.Classify(err, "look up how much an account keeps")
}

// storingAccounts are the accounts that keep anything, with what they keep and may keep; $1 is the deployment's limit.
const storingAccounts = `select s.account, sum(s.bytes)::bigint as bytes, sum(s.files)::bigint as files, coalesce(min(a.storage_limit), $1)::bigint as allowed
	from account_storage s left join accounts a on a.id = s.account group by s.account having sum(s.files) <> 0`

// All returns what each account keeps that keeps anything, and what it may.
func (s *Storage) All(ctx context.Context) (map[string]account.Storage, error) {
	rows, err := s.pool.Query(ctx, storingAccounts, s.standard)
	if err != nil {
		return nil, postgres.Classify(err, "look up how much accounts keep")
	}
	all := map[string]account.Storage{}
	var id string
	var kept account.Storage
	_, err = pgx.ForEachRow(rows, []any{&id, &kept.Bytes, &kept.Files, &kept.Limit}, func() error {
		all[id] = kept
		return nil
	})
	return all, postgres.Classify(err, "look up how much accounts keep")
}

// Largest returns the accounts that keep the most, at most n, what all others keep together, and how many
// accounts are at their limit.
func (s *Storage) Largest(ctx context.Context, n int) (largest []LargeAccount, rest, full int64, err error) {
	rows, err := s.pool.Query(ctx, `select account, bytes, allowed, sum(bytes) over ()::bigint, count(*) filter (where allowed > 0 and bytes >= allowed) over ()
		from (`+storingAccounts+`) k order by bytes desc, account limit $2`, s.standard, n)
	if err != nil {
		return nil, 0, 0, postgres.Classify(err, "look up who keeps most")
	}
	var a LargeAccount
	_, err = pgx.ForEachRow(rows, []any{&a.Account, &a.Bytes, &a.Limit, &rest, &full}, func() error {
		largest = append(largest, a)
		return nil
	})
	for _, a := range largest {
		rest -= a.Bytes
	}
	return largest, rest, full, postgres.Classify(err, "look up who keeps most")
}

// LargeAccount is what an account keeps and may keep, in bytes; Limit 0 = no limit.
type LargeAccount struct {
	Account      string
	Bytes, Limit int64
}

// Recount adds up the records of the account, however many they are, and returns it beside what is kept count
// of, both as of one moment. They are equal.
func (s *Storage) Recount(ctx context.Context, id string) (counted, kept account.Storage, err error) {
	err = s.pool.QueryRow(ctx, `select coalesce(sum(size), 0)::bigint, count(*),
			(select coalesce(sum(bytes), 0)::bigint from account_storage where account = $1),
			(select coalesce(sum(files), 0)::bigint from account_storage where account = $1)
		from (select size from files where account = $1 union all select size from userdata where account = $1) r`, id).
		Scan(&counted.Bytes, &counted.Files, &kept.Bytes, &kept.Files)
	return counted, kept, postgres.Classify(err, "count what an account keeps")
}

const withinStorage = `select within_storage_by($1, $2, $3)`

// QueueWithin queues the check that what was added, so many bytes at most, is within the account's limit; nothing
// where there is none.
func QueueWithin(q *pgx.Batch, id string, limit, added int64) {
	if limit > 0 {
		q.Queue(withinStorage, id, limit, added)
	}
}

// Within checks that what tx has added, so many bytes at most, is within the account's limit.
func Within(ctx context.Context, tx pgx.Tx, id string, limit, added int64) error {
	if limit == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, withinStorage, id, limit, added)
	return postgres.Classify(err, "check how much an account keeps")
}
