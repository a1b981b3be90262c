package graph

import (
	"maps"
	"slices"
)

// sortedKeys returns the keys of m sorted, because results must not depend on the order of a map.
func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
