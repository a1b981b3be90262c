package comfyui

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// cache is the memory of a server: the results of nodes by what they were computed from, and the
// checkpoint that is loaded, of which there is one at most.
type cache struct {
	mu      sync.Mutex // guards the fields below
	results map[string]node.Result
	loaded  *checkpoint
}

// checkpointSize is the memory that a loaded checkpoint takes.
const checkpointSize = 4 << 30

func newCache() *cache { return &cache{results: map[string]node.Result{}} }

func (c *cache) get(signature string) (node.Result, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	result, ok := c.results[signature]
	for _, value := range result.Outputs {
		if model, is := value.(*checkpoint); is && model != c.loaded {
			return node.Result{}, false // it gave way to another one
		}
	}
	return result, ok && signature != ""
}

func (c *cache) put(signature string, result node.Result) {
	if signature == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[signature] = result
}

// load takes the place of the checkpoint that was loaded; it reports whether anything changed.
func (c *cache) load(name string) (*checkpoint, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded != nil && c.loaded.name == name {
		return c.loaded, false
	}
	c.loaded = &checkpoint{name: name}
	return c.loaded, true
}

func (c *cache) free(models, results bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if models {
		c.loaded = nil
	}
	if results {
		clear(c.results)
	}
}

// used is the memory in use.
func (c *cache) used() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded == nil {
		return 0
	}
	return checkpointSize
}

// signatures returns, for every unit of a plan, a key of everything on which its result depends; "" = it depends on
// more than the plan.
func (s *Server) signatures(ctx context.Context, g *graph.Graph, plan *graph.Plan) ([]string, error) {
	out := make([]string, len(plan.Nodes))
	for i := range plan.Nodes {
		signature, err := s.signature(ctx, g, &plan.Nodes[i], out)
		if err != nil {
			return nil, err
		}
		out[i] = signature
	}
	return out, nil
}

func (s *Server) signature(ctx context.Context, g *graph.Graph, pn *graph.PlanNode, before []string) (string, error) {
	class, _ := s.classes.Lookup(pn.Class)
	if class.Uncached {
		return "", nil
	}
	links := map[string]string{}
	for name, link := range pn.Links {
		if before[link.Unit] == "" {
			return "", nil
		}
		links[name] = fmt.Sprintf("%s/%d", before[link.Unit], link.Slot)
	}
	var files string
	if class.Fingerprint != nil {
		var err error
		if files, err = class.Fingerprint(ctx, s.files, pn.Constants); err != nil {
			return "", nil //nolint:nilerr // the node itself will say so
		}
	}
	id := ""
	if class.NotIdempotent {
		id = pn.ID
	}
	undeclared := map[string]any{} // they count, though the class does not get them
	if given, ok := g.Node(pn.ID); ok {
		for _, in := range given.Inputs {
			if _, known := class.Input(in.Name); !known {
				undeclared[in.Name] = in.Value
			}
		}
	}
	raw, err := json.Marshal([]any{pn.Class, id, files, pairs(pn.Constants), pairs(links), pairs(undeclared)})
	if err != nil {
		return "", fmt.Errorf("sign node %s: %w", pn.ID, err)
	}
	return fmt.Sprintf("%x", blake3.Sum256(raw)), nil
}

// pairs lists a map in the order of its keys.
func pairs[V any](m map[string]V) []any {
	var out []any
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, key, m[key])
	}
	return out
}
