package catalog

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
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
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
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
