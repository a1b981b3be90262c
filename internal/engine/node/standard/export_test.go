package standard

import (
	"maps"
	"slices"
)

// Referenced returns the classes that are held against something.
func Referenced() []string { return slices.Sorted(maps.Keys(references)) }
