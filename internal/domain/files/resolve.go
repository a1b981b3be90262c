package files

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	accounts "github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

// ResolveAssets replaces the asset references in a graph by names under which loaders find exactly these assets, even
// if another file of the same name is uploaded later. A reference that is malformed, unknown, of another account or
// unreadable is missing_asset.
func (s *Service) ResolveAssets(ctx context.Context, account string, g *graph.Graph) error {
	return s.resolve(ctx, Viewer{Account: accounts.Reads(account)}, g)
}

// ResolveForJob is ResolveAssets for an accepted job. Its assets can be read until it has ended, even after their
// deadlines.
func (s *Service) ResolveForJob(ctx context.Context, run job.RunRef, g *graph.Graph) error {
	return s.resolve(ctx, Viewer{Account: accounts.Reads(run.Account), Job: string(run.Job)}, g)
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

// NameAssets returns a graph in API format in which every reference to an asset is replaced by the name of its file,
// so that the same graph can be submitted again. An asset that was deleted, or whose name now belongs to another
// file, is named by its id.
func (s *Service) NameAssets(ctx context.Context, account string, id job.ID, prompt json.RawMessage) (json.RawMessage, error) {
	written, err := references(prompt)
	if err != nil || len(written) == 0 {
		return prompt, err
	}
	ids := make([]asset.PublicID, 0, len(written))
	for _, id := range written {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	found, err := s.store.ByAssets(ctx, Viewer{Account: account, Job: string(id)}, ids)
	if err != nil {
		return nil, err
	}
	replace := make([]string, 0, 2*len(written))
	for raw, id := range written {
		name := AssetName(id)
		if e, ok := found[id]; ok && e.Named {
			name = Join(e.Place)
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		replace = append(replace, raw, string(quoted))
	}
	return json.RawMessage(strings.NewReplacer(replace...).Replace(string(prompt))), nil
}

// references returns the references to assets in a graph, as they are written, with the ids that they name.
func references(prompt json.RawMessage) (map[string]asset.PublicID, error) {
	if !bytes.Contains(prompt, []byte(graph.AssetType)) {
		return nil, nil
	}
	var nodes map[string]struct{ Inputs map[string]json.RawMessage }
	if err := json.Unmarshal(prompt, &nodes); err != nil {
		return nil, fmt.Errorf("read the graph: %w", err)
	}
	written := map[string]asset.PublicID{}
	for _, n := range nodes {
		for _, value := range n.Inputs {
			var ref struct {
				Type string `json:"__type"`
				Info struct{ ID string }
			}
			if json.Unmarshal(value, &ref) != nil || ref.Type != graph.AssetType {
				continue
			}
			if id, err := asset.ParsePublicID(ref.Info.ID); err == nil {
				written[string(value)] = id
			}
		}
	}
	return written, nil
}

// maxReferences bounds the different assets that one graph may name.
const maxReferences = 10_000

// referenced looks up all references with one query.
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
		return nil, fault.New(fault.Invalid, fault.CodeInvalidWorkflow, "a workflow may name at most %d assets, not %d", maxReferences, len(ids))
	}
	return s.store.ByAssets(ctx, who, ids)
}

func missing(ref graph.AssetRef, cause error) error {
	return fault.Wrap(cause, fault.Invalid, fault.CodeMissingAsset, "input %s of node %s names an asset that does not exist", ref.Input,
		ref.Node).
		WithDetails(map[string]any{"node_errors": map[string]any{
			ref.Node: []map[string]string{{"field": ref.Input, "reason": "the asset does not exist"}},
		}})
}
