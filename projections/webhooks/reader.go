package webhooks

import (
	"context"
	"encoding/json"
	"fmt"

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
	rows, err := db.Query(ctx, `select s.account, s.version, coalesce(v.version, 0), coalesce(v.endpoints, '[]')
		from streams s left join `+Name+` v on v.account = s.account where s.id = any($1)`, streams)
	if err != nil {
		return nil, postgres.Classify(err, "read webhooks")
	}
	books, heads := make(map[string]webhook.Book), make(map[string]int64)
	var account string
	var head, version int64
	var stored []byte
	_, err = pgx.ForEachRow(rows, []any{&account, &head, &version, &stored}, func() error {
		book := webhook.Book{Version: version}
		if err := json.Unmarshal(stored, &book.Endpoints); err != nil {
			return fmt.Errorf("decode the view of account %s: %w", account, err)
		}
		books[account], heads[account] = book, head
		return nil
	})
	if err != nil {
		return nil, postgres.Classify(err, "read webhooks")
	}
	for account, head := range heads {
		if books[account], err = catchUp(ctx, db, registry, account, books[account], head); err != nil {
			return nil, err
		}
	}
	return books, nil
}

// catchUp folds the events that the view has not folded.
func catchUp(ctx context.Context, db postgres.Queryer, registry *eventlog.Registry, account string, book webhook.Book,
	head int64,
) (webhook.Book, error) {
	unseen := eventlog.ReadThrough(ctx, eventstore.StreamsOf(db), webhook.Stream(account), book.Version, head)
	return eventlog.Fold(registry, unseen, book, webhook.Book.Fold)
}
