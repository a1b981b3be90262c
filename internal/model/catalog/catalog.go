package catalog

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of model ids; the pattern of their segments is in the entry schema (checklist ).
const (
	maxProviderLength = 64
	maxNameLength     = 128
	maxIDLength       = maxProviderLength + 1 + maxNameLength
)

// Catalog is the set of models now. Reloading swaps its snapshot at once; whoever holds a
// snapshot or a model keeps it unchanged.
type Catalog struct {
	current atomic.Pointer[Snapshot]
	options Options

	mu     sync.Mutex  // guards former
	former []*Snapshot // newest first: what calls under way were accepted with
}

// maxFormer is how many former states of the catalog are kept; one of 1,000 models takes a few megabytes.
const maxFormer = 8

// Options say where models come from besides the embedded entries.
type Options struct {
	// Dirs are directories of *.yaml files, read in order. A later entry replaces an earlier one
	// with the same id.
	Dirs []string
	// Bases replaces a provider's address: a simulator, a regional endpoint, a proxy of one's own.
	// Such an address is allowed although it may not be public.
	Bases map[string]string
	// Simulator is the address of the provider simulator that serves sim/*; "" leaves these out.
	Simulator string
}

// Snapshot returns the catalog as it is now.
func (c *Catalog) Snapshot() *Snapshot { return c.current.Load() }

// At returns the catalog as it was in the state of that hash, or as it is now when this process does not
// know that state (any more).
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

// Find returns a model as it was in the state of that hash. Of a state that this process does not know, it
// is the model as it is now, or as it was last: what a call needs that is under way while its model leaves
// the catalog.
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

// replace makes a snapshot the current one and keeps the one before.
func (c *Catalog) replace(s *Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.former = append([]*Snapshot{c.current.Swap(s)}, c.former[:min(len(c.former), maxFormer-1)]...)
}

// Load reads the embedded entries and the directories of the options. All problems of all files
// are reported, each with its file, line and field.
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

// Reload reads the files again and swaps the snapshot when they changed. After an error the old
// snapshot stays.
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

// Watch reloads the catalog until ctx ends, looking at its directories every so often. report is
// told about every change, with a nil error, and about every new problem, once.
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
