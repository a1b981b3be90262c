package files

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

// ResolveAssets replaces the asset references in a graph by names under which loaders find exactly
// these assets, whatever else is uploaded under the same name later. A reference that is
// malformed, unknown, another account's or not to be read is missing_asset.
func (s *Service) ResolveAssets(ctx context.Context, account string, g *graph.Graph) error {
	return s.resolve(ctx, Viewer{Account: account}, g)
}

// ResolveForJob is ResolveAssets for a job that was accepted: what it refers to is there until it has
// ended, whatever the deadline.
func (s *Service) ResolveForJob(ctx context.Context, run job.RunRef, g *graph.Graph) error {
	return s.resolve(ctx, Viewer{Account: run.Account, Job: string(run.Job)}, g)
}

func (s *Service) resolve(ctx context.Context, who Viewer, g *graph.Graph) error {
	refs := g.AssetRefs()
	if len(refs) == 0 {
		return nil
	}
	found, err := s.referenced(ctx, who, refs)
	if err != nil {
		return err
	}
	for i, ref := range refs {
		e, ok := found[asset.PublicID(ref.ID)]
		if !ok || e.Rejected {
			return missing(refs[i], nil)
		}
		if err := g.ReplaceAsset(ref, AssetName(e.Public)); err != nil {
			return err
		}
	}
	return nil
}

// maxReferences bounds the different assets that one graph may name; a graph is bounded anyway.
const maxReferences = 10_000

// referenced looks all references up at once.
func (s *Service) referenced(ctx context.Context, who Viewer, refs []graph.AssetRef) (map[asset.PublicID]Entry, error) {
	ids, seen := make([]asset.PublicID, 0, len(refs)), make(map[asset.PublicID]bool, len(refs))
	for _, ref := range refs {
		id, err := asset.ParsePublicID(ref.ID)
		if err != nil {
			return nil, missing(ref, err)
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	if len(ids) > maxReferences {
		return nil, fault.New(fault.Invalid, "invalid_workflow", "a workflow may name %d assets, not %d", maxReferences, len(ids))
	}
	return s.store.ByAssets(ctx, who, ids)
}

func missing(ref graph.AssetRef, cause error) error {
	return fault.Wrap(cause, fault.Invalid, "missing_asset", "input %s of node %s names an asset that does not exist", ref.Input, ref.Node).
		WithDetails(map[string]any{"node_errors": map[string]any{
			ref.Node: []map[string]string{{"field": ref.Input, "reason": "the asset does not exist"}},
		}})
}
