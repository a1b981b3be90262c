package accountstore

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Storage reads the storage usage and limits of accounts. A nil Storage has no limits.
type Storage struct {
	pool     *pgxpool.Pool
	standard int64 // the limit of accounts without a limit of their own, in bytes; 0 = no limit

	mu     sync.Mutex // guards limits
	limits map[string]knownLimit
}

type knownLimit struct {
	bytes int64
	until time.Time
}

// NewStorage returns the storage of the accounts in pool's database. standard is the limit of an account without a
// limit of its own, in bytes; 0 = no limit.
func NewStorage(pool *pgxpool.Pool, standard int64) *Storage {
	return &Storage{pool: pool, standard: standard, limits: map[string]knownLimit{}}
}

// A changed limit takes effect within limitAge in every process. Limits are cached because most accounts have none,
// and an upload should not read its limit each time.
const (
	limitAge  = time.Second
	maxLimits = 10_000 // cached limits; when there are more, the cache is cleared
)

// Limit returns the storage limit of the account in bytes, 0 = no limit.
func (s *Storage) Limit(ctx context.Context, id string) (int64, error) {
	if s == nil || id == account.Everyone {
		return 0, nil
	}
	s.mu.Lock()
	known, ok := s.limits[id]
	s.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.bytes, nil
	}
	a := account.Account{ID: id}
	var err error
	a.Storage, _, err = postgres.One(ctx, s.pool, "read the storage limit of an account", pgx.RowTo[*int64],
		`select storage_limit from accounts where id = $1`, id)
	if err != nil {
		return 0, err
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

// LimitOf returns the storage limit according to a in bytes, 0 = no limit.
func (s *Storage) LimitOf(a account.Account) int64 { return a.StorageLimit(s.standard) }

// Forget removes the cached limit of an account, which this process has changed.
func (s *Storage) Forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.limits, id)
}

// Quota returns the account's usage and limit, for an early refusal; the commit checks the limit. Without a limit, the
// usage is not counted.
func (s *Storage) Quota(ctx context.Context, id string) (account.Storage, error) {
	limit, err := s.Limit(ctx, id)
	if err != nil || limit == 0 {
		return account.Storage{}, err
	}
	kept, err := s.readUsage(ctx, id)
	kept.Limit = limit
	return kept, err
}

// Fits fails with Denied, fault.CodeStorageQuotaExceeded, if bytes more would exceed the account's limit.
func (s *Storage) Fits(ctx context.Context, id string, bytes int64) error {
	quota, err := s.Quota(ctx, id)
	if err != nil {
		return err
	}
	return quota.Fits(bytes)
}

// Usage returns the account's usage and limit.
func (s *Storage) Usage(ctx context.Context, id string) (account.Storage, error) {
	kept, err := s.readUsage(ctx, id)
	if err != nil {
		return account.Storage{}, err
	}
	kept.Limit, err = s.Limit(ctx, id)
	return kept, err
}

// UsageOf returns the usage of an account and its limit according to a.
func (s *Storage) UsageOf(ctx context.Context, a account.Account) (account.Storage, error) {
	kept, err := s.readUsage(ctx, a.ID)
	kept.Limit = a.StorageLimit(s.standard)
	return kept, err
}

// readUsage reads a range of the primary key: an account has at most 64 rows.
func (s *Storage) readUsage(ctx context.Context, id string) (kept account.Storage, err error) {
	err = s.pool.QueryRow(ctx, `select coalesce(sum(bytes), 0)::bigint, coalesce(sum(files), 0)::bigint from account_storage
		where account = $1`, id).
		Scan(&kept.Bytes, &kept.Files)
	return kept, postgres.Classify(err, "look up how much an account keeps")
}

// storingAccounts are the accounts that store data, with their usage and limit; $1 is the deployment's limit.
const storingAccounts = `select s.account, sum(s.bytes)::bigint as bytes, sum(s.files)::bigint as files, coalesce(min(a.storage_limit),
	$1)::bigint as allowed
	from account_storage s left join accounts a on a.id = s.account group by s.account having sum(s.files) <> 0`

// All returns the usage and limit of each account that stores data.
func (s *Storage) All(ctx context.Context) (map[string]account.Storage, error) {
	all := map[string]account.Storage{}
	return all, postgres.Each(ctx, s.pool, "read the storage usage of accounts", func(row pgx.CollectableRow) error {
		var id string
		var kept account.Storage
		err := row.Scan(&id, &kept.Bytes, &kept.Files, &kept.Limit)
		all[id] = kept
		return err
	}, storingAccounts, s.standard)
}

// Largest returns the n accounts with the highest usage, the usage of all others together, and the number of accounts
// at their limit.
func (s *Storage) Largest(ctx context.Context, n int) (largest []LargeAccount, rest, full int64, err error) {
	err = postgres.Each(ctx, s.pool, "read the accounts with the highest usage", func(row pgx.CollectableRow) error {
		var a LargeAccount
		err := row.Scan(&a.Account, &a.Bytes, &a.Limit, &rest, &full)
		largest = append(largest, a)
		return err
	}, `select account, bytes, allowed, sum(bytes) over ()::bigint, count(*) filter (where allowed > 0 and bytes >= allowed) over ()
		from (`+storingAccounts+`) k order by bytes desc, account limit $2`, s.standard, n)
	for _, a := range largest {
		rest -= a.Bytes
	}
	return largest, rest, full, err
}

// LargeAccount is the usage and limit of an account, in bytes; Limit 0 = no limit.
type LargeAccount struct {
	Account      string
	Bytes, Limit int64
}

// Recount adds up the records of the account and returns the result together with the maintained counts, both of the
// same moment. They are equal.
func (s *Storage) Recount(ctx context.Context, id string) (counted, kept account.Storage, err error) {
	err = s.pool.QueryRow(ctx, `select coalesce(sum(size), 0)::bigint, count(*),
			(select coalesce(sum(bytes), 0)::bigint from account_storage where account = $1),
			(select coalesce(sum(files), 0)::bigint from account_storage where account = $1)
		from (select size from files where account = $1 union all select size from userdata where account = $1) r`, id).
		Scan(&counted.Bytes, &counted.Files, &kept.Bytes, &kept.Files)
	return counted, kept, postgres.Classify(err, "count what an account keeps")
}

// QueueWithin queues the check that at most added bytes are within the account's limit. Without a limit it queues
// nothing.
func QueueWithin(c *eventstore.Changes, id string, limit, added int64) {
	if limit > 0 {
		c.Queue(`select within_storage_by($1, $2, $3)`, id, limit, added)
	}
}
