package standard

import (
	"maps"
	"slices"
)

// Referenced returns the classes that have a reference.
func Referenced() []string { return slices.Sorted(maps.Keys(references)) }
