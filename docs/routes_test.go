package docs_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Every route that is served with the prefix /api and without is in the table of docs/routes.md, and no other.
func TestTheTableOfRoutesIsComplete(t *testing.T) {
	t.Parallel()
	served := map[string]bool{}
	for _, file := range []string{"cloud.yaml", "library.yaml"} {
		var surface struct {
			Paths    map[string]any `yaml:"paths"`
			Prefixes []string       `yaml:"x-prefixes"`
		}
		if err := yaml.Unmarshal([]byte(read(t, "api/openapi/"+file)), &surface); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(surface.Prefixes, "/api") || !slices.Contains(surface.Prefixes, "") {
			t.Fatalf("%s is not served under both names", file)
		}
		for path := range surface.Paths {
			served[path] = true
		}
	}
	named := map[string]bool{}
	route := regexp.MustCompile("`(/[^` ]*)`")
	for row := range strings.Lines(read(t, "docs/routes.md")) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range route.FindAllStringSubmatch(cells[1], -1) {
			named[m[1]] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(served)) {
		if !named[path] {
			t.Errorf("docs/routes.md does not say what %s does without the prefix", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(named)) {
		if !served[path] {
			t.Errorf("docs/routes.md names %s, which is not served under both names", path)
		}
	}
}
