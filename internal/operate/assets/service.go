// Package assets lists assets for operators.
package assets

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/assets"
)

// assetStates are the states of an asset.
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
	return "", fault.New(fault.Invalid, fault.CodeInvalidRequest, "%q is not the state of an asset: live, rejected, deleted or expired",
		terminal.Clean(name))
}

// List returns the assets that f selects, the newest first.
func List(ctx context.Context, pool *postgres.Pool, names map[string]string, f Filter) ([]asset.Asset, error) {
	owner, err := operate.AccountNamed(f.Account, names)
	if err != nil {
		return nil, err
	}
	state, err := assetState(f.State)
	if err != nil {
		return nil, err
	}
	return assets.Newest(ctx, pool, owner, state, f.Limit)
}

// Service lists assets for operators.
type Service struct{ Pool *postgres.Pool }

// List implements admin.Assets.
func (a Service) List(ctx context.Context, f Filter) ([]asset.Asset, error) {
	names, err := operate.AccountNames(ctx, a.Pool)
	if err != nil {
		return nil, err
	}
	return List(ctx, a.Pool, names, f)
}
