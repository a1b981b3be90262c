package docs_test

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Bounds of a package, without its tests.
const (
	maxFiles    = 12    // more need a reason in docs/architecture.md
	maxLines    = 5_000 // the size that one person reads in a day
	maxSiblings = 20    // directly below internal
	maxAppLines = 2_500 // internal/app: wiring only
)

// packageSize is the size of a package without its tests.
type packageSize struct{ files, lines int }

// The list of packages in docs/architecture.md is that of the tree, and packages keep their bounds.
func TestArchitectureListsEveryPackage(t *testing.T) {
	t.Parallel()
	listed := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([a-z0-9_/]+)` \\| (.+) \\|$")
	for _, m := range row.FindAllStringSubmatch(read(t, "docs/architecture.md"), -1) {
		if _, twice := listed[m[1]]; twice {
			t.Errorf("docs/architecture.md lists %s twice", m[1])
		}
		listed[m[1]] = m[2]
	}
	tree := packages(t)
	for _, dir := range slices.Sorted(maps.Keys(tree)) {
		promise, found := listed[dir]
		if !found {
			t.Errorf("docs/architecture.md does not list %s", dir)
			continue
		}
		size := tree[dir]
		switch reason := strings.Contains(promise, "More than 12 files: "); {
		case size.files > maxFiles && !reason:
			t.Errorf("%s has %d files and docs/architecture.md gives no reason (\"More than 12 files: …\")", dir, size.files)
		case size.files <= maxFiles && reason:
			t.Errorf("docs/architecture.md gives a reason for the number of files of %s, which are only %d", dir, size.files)
		}
	}
	for dir := range listed {
		if _, exists := tree[dir]; !exists {
			t.Errorf("docs/architecture.md lists %s, which does not exist", dir)
		}
	}
}

func TestPackagesKeepTheirBounds(t *testing.T) {
	t.Parallel()
	siblings := map[string]bool{}
	for dir, size := range packages(t) {
		if size.lines > maxLines && !beingSplit[dir] {
			t.Errorf("%s has %d lines, more than %d", dir, size.lines, maxLines)
		}
		if below, found := strings.CutPrefix(dir, "internal/"); found {
			top, _, _ := strings.Cut(below, "/")
			siblings[top] = true
		}
		if dir == "internal/app" && size.lines > maxAppLines && !beingSplit[dir] {
			t.Errorf("internal/app has %d lines, more than %d: it holds wiring only", size.lines, maxAppLines)
		}
	}
	if len(siblings) > maxSiblings {
		t.Errorf("internal has %d directories, more than %d", len(siblings), maxSiblings)
	}
}

// beingSplit are the packages that are larger than they may be, until they are taken apart.
var beingSplit = map[string]bool{"api": true, "internal/app": true, "internal/postgres": true}

// packages maps each directory with Go files to its size; one with tests only has no size.
func packages(t *testing.T) map[string]packageSize {
	t.Helper()
	sizes := map[string]packageSize{}
	for _, file := range goFiles(t) {
		dir := path.Dir(file)
		size := sizes[dir]
		if !strings.HasSuffix(file, "_test.go") {
			size.files++
			size.lines += strings.Count(read(t, file), "\n")
		}
		sizes[dir] = size
	}
	return sizes
}
