package files

import (
	"context"

	"github.com/millrace-dev/millrace/internal/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/graph"
)

// ResolveAssets replaces the asset references in a graph by names under which loaders find exactly
// these assets, whatever else is uploaded under the same name later. A reference that is
// malformed, unknown, another account's or not to be read is missing_asset.
func (s *Service) ResolveAssets(ctx context.Context, account string, g *graph.Graph) error {
	for _, ref := range g.AssetRefs() {
		e, err := s.referenced(ctx, account, ref)
		if err != nil {
			return err
		}
		if err := g.ReplaceAsset(ref, AssetName(e.Asset)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) referenced(ctx context.Context, account string, ref graph.AssetRef) (Entry, error) {
	id, err := asset.ParseID(ref.ID)
	if err != nil {
		return Entry{}, missing(ref, err)
	}
	e, err := s.store.ByAsset(ctx, Viewer{Account: account}, id)
	if fault.Is(err, fault.NotFound) || err == nil && e.Rejected {
		return Entry{}, missing(ref, err)
	}
	return e, err
}

func missing(ref graph.AssetRef, cause error) error {
	return fault.Wrap(cause, fault.Invalid, "missing_asset", "input %s of node %s names an asset that does not exist", ref.Input, ref.Node).
		WithDetails(map[string]any{"node_errors": map[string]any{
			ref.Node: []map[string]string{{"field": ref.Input, "reason": "the asset does not exist"}},
		}})
}
