package catalog

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agnivade/levenshtein"

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Bounds of model ids; the pattern of their segments is in the entry schema.
const (
	maxProviderLength = 64
	maxNameLength     = 128
	maxIDLength       = maxProviderLength + 1 + maxNameLength
)

// Catalog is the current set of models. A reload replaces its snapshot atomically; snapshots and models that were
// returned before do not change.
type Catalog struct {
	current atomic.Pointer[Snapshot]
	options Options

	mu     sync.Mutex  // guards former
	former []*Snapshot // newest first: the snapshots with which unfinished calls were accepted
}

// maxFormer bounds the number of former snapshots that are kept. A snapshot of 1,000 models takes a few megabytes.
const maxFormer = 8

// Options configure the sources of models in addition to the embedded entries.
type Options struct {
	// Dirs are directories of *.yaml files, read in order. A later entry replaces an earlier entry with the same id.
	Dirs []string
	// Bases maps a provider to an address that replaces the provider's own: a simulator, a regional endpoint, a
	// proxy. This address may be private.
	Bases map[string]string
	// Simulator is the address of the provider simulator that serves sim/*. If it is "", the catalog does not have
	// these models.
	Simulator string
}

// Snapshot returns the current snapshot.
func (c *Catalog) Snapshot() *Snapshot { return c.current.Load() }

// At returns the snapshot with that hash, or the current one if this process does not have that snapshot or no longer
// has it.
func (c *Catalog) At(hash string) *Snapshot {
	now := c.Snapshot()
	if hash == "" || hash == now.Hash() {
		return now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.former {
		if s.Hash() == hash {
			return s
		}
	}
	return now
}

// Find returns a model from the snapshot with that hash. If this process does not have that snapshot, Find returns
// the current model, or the latest former one: a running call needs its model even after the model left the catalog.
func (c *Catalog) Find(id, hash string) (*Model, bool) {
	if m, ok := c.At(hash).Find(id); ok {
		return m, true
	}
	if m, ok := c.Snapshot().Find(id); ok {
		return m, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.former {
		if m, ok := s.Find(id); ok {
			return m, true
		}
	}
	return nil, false
}

// replace makes s the current snapshot and keeps the previous one.
func (c *Catalog) replace(s *Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.former = append([]*Snapshot{c.current.Swap(s)}, c.former[:min(len(c.former), maxFormer-1)]...)
}

// Load reads the embedded entries and the directories of the options. Its error reports every problem of every file,
// with file, line and field.
func Load(opts Options) (*Catalog, error) {
	files, err := readFiles(opts.Dirs)
	if err != nil {
		return nil, err
	}
	snapshot, err := build(files, opts)
	if err != nil {
		return nil, err
	}
	c := &Catalog{options: opts}
	c.current.Store(snapshot)
	return c, nil
}

// Reload reads the files again and replaces the snapshot if they have changed. After an error the old snapshot stays.
func (c *Catalog) Reload() (changed bool, err error) {
	files, err := readFiles(c.options.Dirs)
	if err != nil {
		return false, err
	}
	if hashFiles(files, c.options) == c.Snapshot().Hash() {
		return false, nil
	}
	snapshot, err := build(files, c.options)
	if err != nil {
		return false, err
	}
	c.replace(snapshot)
	return true, nil
}

// Watch reloads the catalog periodically until ctx ends. It calls report with nil after each change, and with the
// error when a new problem appears, once for each problem.
func (c *Catalog) Watch(ctx context.Context, every time.Duration, report func(*Snapshot, error)) {
	if len(c.options.Dirs) == 0 {
		return
	}
	last := ""
	for range pause.Every(ctx, every) {
		changed, err := c.Reload()
		switch {
		case err != nil && err.Error() != last:
			last = err.Error()
			report(c.Snapshot(), err)
		case err == nil:
			last = ""
			if changed {
				report(c.Snapshot(), nil)
			}
		}
	}
}

// Snapshot is the catalog at one moment. It is immutable and safe for concurrent use.
type Snapshot struct {
	models []*Model // sorted by ID
	byID   map[string]*Model
	hash   string
}

func newSnapshot(models []*Model, hash string) *Snapshot {
	s := &Snapshot{models: models, byID: make(map[string]*Model, len(models)), hash: hash}
	slices.SortFunc(s.models, func(a, b *Model) int { return strings.Compare(a.ID, b.ID) })
	for _, m := range s.models {
		for _, alias := range m.Aliases {
			s.byID[alias] = m
		}
	}
	for _, m := range s.models { // an id takes precedence over an alias
		s.byID[m.ID] = m
	}
	return s
}

// Find returns the model with this id or alias.
func (s *Snapshot) Find(id string) (*Model, bool) {
	m, ok := s.byID[id]
	return m, ok
}

// Models returns all models sorted by id. Callers must not change the slice.
func (s *Snapshot) Models() []*Model { return s.models }

// Variables returns the environment variables that the models of the snapshot read, sorted: credentials of providers and
// the settings of their addresses.
func (s *Snapshot) Variables() []string {
	var names []string
	for _, m := range s.models {
		names = append(names, m.Variables()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// After returns at most limit models, without variants, whose ids follow id and for which visible holds, and reports
// whether more follow. A listing that continues after its last id never returns a model twice, even if the catalog
// changes.
func (s *Snapshot) After(id string, limit int, visible func(*Model) bool) (page []*Model, more bool) {
	start, found := slices.BinarySearchFunc(s.models, id, func(m *Model, id string) int { return strings.Compare(m.ID, id) })
	if found {
		start++
	}
	for _, m := range s.models[start:] {
		if m.Variant != "" || !visible(m) {
			continue
		}
		if len(page) == limit {
			return page, true
		}
		page = append(page, m)
	}
	return page, false
}

// Hash identifies this state of the catalog: equal files have equal hashes.
func (s *Snapshot) Hash() string { return s.hash }

// maxSuggestions bounds the ids that a model_not_found answer suggests.
const maxSuggestions = 3

// Suggest returns at most three ids that resemble an unknown one, nearest first. It considers only models for which
// visible holds.
func (s *Snapshot) Suggest(id string, visible func(*Model) bool) []string {
	id = strings.ToLower(id)
	if len(id) > maxIDLength {
		return nil
	}
	type candidate struct {
		id       string
		distance int
	}
	var near []candidate
	for _, m := range s.models {
		if d, ok := idDistance(id, m); ok && m.Variant == "" && visible(m) {
			near = append(near, candidate{m.ID, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	ids := make([]string, 0, maxSuggestions)
	for _, c := range near[:min(len(near), maxSuggestions)] {
		ids = append(ids, c.id)
	}
	return ids
}

// idDistance returns the edit distance between an unknown id and a model's id, or the distance of their second
// segments plus one. ok reports whether the distance is small for the length of the ids.
func idDistance(id string, m *Model) (int, bool) {
	whole := levenshtein.ComputeDistance(id, m.ID)
	_, name, found := strings.Cut(id, "/")
	if !found {
		name = id
	}
	distance := min(whole, levenshtein.ComputeDistance(name, m.Name)+1)
	if strings.HasPrefix(m.Name, name) && len(name) >= 3 { // a prefix: "flux" for "flux-2-pro"
		distance = min(distance, 2)
	}
	return distance, distance <= max(2, len(id)/4)
}
