// Package assets is what operators ask of assets.
package assets

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/assets"
)

// assetStates are what an asset may be.
var assetStates = []asset.State{asset.Live, asset.Rejected, asset.Deleted, asset.Expired}

func assetState(name string) (asset.State, error) {
	if name == "" {
		return "", nil
	}
	for _, state := range assetStates {
		if string(state) == name {
			return state, nil
		}
	}
	return "", fault.New(fault.Invalid, "invalid_request", "%q is not the state of an asset: live, rejected, deleted or expired", inspect.Clean(name))
}

// newestAssets reads the assets that f selects from the view, newest first.
func List(ctx context.Context, pool *pgxpool.Pool, names map[string]string, f Filter) ([]asset.Asset, error) {
	owner, err := operate.AccountNamed(f.Account, names)
	if err != nil {
		return nil, err
	}
	state, err := assetState(f.State)
	if err != nil {
		return nil, err
	}
	rows, err := pool.Query(ctx, `select asset from `+assets.Name+`
		where ($1 = '' or account = $1) and ($2 = '' or state = $2) order by created desc limit $3`, owner, string(state), f.Limit)
	if err != nil {
		return nil, postgres.Classify(err, "list assets")
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (asset.Asset, error) {
		var raw []byte
		var a asset.Asset
		if err := row.Scan(&raw); err != nil {
			return a, err
		}
		return a, json.Unmarshal(raw, &a)
	})
	return found, postgres.Classify(err, "list assets")
}

// adminAssets implements admin.Assets.
type Service struct{ Pool *pgxpool.Pool }

// List implements admin.Assets.
func (a Service) List(ctx context.Context, f Filter) ([]asset.Asset, error) {
	names, err := operate.AccountNames(ctx, a.Pool)
	if err != nil {
		return nil, err
	}
	return List(ctx, a.Pool, names, f)
}
