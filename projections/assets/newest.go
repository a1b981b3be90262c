package assets

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Newest returns assets of an account in a state, newest first; "" = all accounts or all states.
func Newest(ctx context.Context, pool *pgxpool.Pool, account string, state asset.State, limit int) ([]asset.Asset, error) {
	return postgres.Collect(ctx, pool, "list assets", pgx.RowTo[asset.Asset], `select asset from `+Name+`
		where ($1 = '' or account = $1) and ($2 = '' or state = $2) order by created desc limit $3`, account, string(state), limit)
}
