package assets

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Newest returns assets of an account in a state, newest first; "" = all accounts or all states.
func Newest(ctx context.Context, pool *pgxpool.Pool, account string, state asset.State, limit int) ([]asset.Asset, error) {
	rows, err := pool.Query(ctx, `select asset from `+Name+`
		where ($1 = '' or account = $1) and ($2 = '' or state = $2) order by created desc limit $3`, account, string(state), limit)
	if err != nil {
		return nil, postgres.Classify(err, "list assets")
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a asset.Asset, err error) {
		var raw []byte
		if err := row.Scan(&raw); err != nil {
			return a, err
		}
		return a, json.Unmarshal(raw, &a)
	})
	return found, postgres.Classify(err, "list assets")
}
