package webhooks

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Reader reads the endpoints of accounts. It implements webhook.Books.
type Reader struct {
	pool     *pgxpool.Pool
	registry *eventlog.Registry
}

var _ webhook.EndpointReader = (*Reader)(nil)

// NewReader returns a reader of the view in pool's database.
func NewReader(pool *pgxpool.Pool, registry *eventlog.Registry) *Reader {
	return &Reader{pool: pool, registry: registry}
}

// Book implements webhook.Books.
func (r *Reader) Book(ctx context.Context, account string) (webhook.Book, error) {
	books, err := readEndpoints(ctx, r.pool, r.registry, []string{account})
	return books[account], err
}

// Books returns the endpoints of several accounts. An account without endpoints is absent.
func (r *Reader) Books(ctx context.Context, accounts []string) (map[string]webhook.Book, error) {
	return readEndpoints(ctx, r.pool, r.registry, accounts)
}

// readEndpoints reads the view's rows and the versions of their streams with one query; only a row that lags behind needs
// a second query.
func readEndpoints(ctx context.Context, db postgres.Queryer, registry *eventlog.Registry,
	accounts []string,
) (map[string]webhook.Book, error) {
	streams := make([]string, len(accounts))
	for i, account := range accounts {
		streams[i] = webhook.Stream(account)
	}
	books, heads := make(map[string]webhook.Book), make(map[string]int64)
	err := postgres.Each(ctx, db, "read webhooks", func(row pgx.CollectableRow) error {
		var account string
		var head int64
		var book webhook.Book
		err := row.Scan(&account, &head, &book.Version, &book.Endpoints)
		books[account], heads[account] = book, head
		return err
	}, `select s.account, s.version, coalesce(v.version, 0), coalesce(v.endpoints, '[]')
		from streams s left join `+Name+` v on v.account = s.account where s.id = any($1)`, streams)
	for account, head := range heads {
		if err != nil {
			return nil, err
		}
		unseen := eventlog.ReadThrough(ctx, eventstore.StreamsOf(db), webhook.Stream(account), books[account].Version, head)
		books[account], err = eventlog.Fold(registry, unseen, books[account], webhook.Book.Fold)
	}
	return books, err
}
