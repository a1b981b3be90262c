package catalog

import (
	"regexp"
	"sync/atomic"
)

// Bounds and pattern of model ids (checklist ).
const (
	maxProviderLength = 64
	maxNameLength     = 128
	maxIDLength       = maxProviderLength + 1 + maxNameLength
)

var segmentPattern = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*$`)

// Catalog is the set of models now. Reloading swaps its snapshot at once; whoever holds a
// snapshot or a model keeps it unchanged.
type Catalog struct {
	current atomic.Pointer[Snapshot]
	options Options
	stamp   string // of the files of the current snapshot
}

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
