package graph

import (
	"maps"
	"slices"
)

// sortedKeys returns the keys of m in order, since nothing here may depend on a map's own.
func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
