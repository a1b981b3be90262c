package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

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
