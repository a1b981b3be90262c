package docs_test

import (
	"maps"
	"os"
	"path"
	"path/filepath"
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
	if *update {
		updateList(t, listed, tree)
	}
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
var beingSplit = map[string]bool{}

// omitted are the modules in place of what the local Temporal server never uses.
const omitted = "localtemporal/omitted"

// packages maps each directory with Go files to its size; one with tests only has no size.
func packages(t *testing.T) map[string]packageSize {
	t.Helper()
	sizes := map[string]packageSize{}
	for _, file := range goFiles(t) {
		dir := path.Dir(file)
		if strings.HasPrefix(dir, omitted) { // modules of a few lines: one row for all
			dir = omitted
		}
		size := sizes[dir]
		if !strings.HasSuffix(file, "_test.go") {
			size.files++
			size.lines += strings.Count(read(t, file), "\n")
		}
		sizes[dir] = size
	}
	return sizes
}

// updateList adds missing packages to docs/architecture.md, each with the beginning of its package comment for somebody
// to put into words, and removes packages that no longer exist.
func updateList(t *testing.T, listed map[string]string, tree map[string]packageSize) {
	t.Helper()
	lines := strings.Split(read(t, "docs/architecture.md"), "\n")
	for dir := range listed {
		if _, exists := tree[dir]; !exists {
			lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "| `"+dir+"` |") })
			delete(listed, dir)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(tree)) {
		if _, found := listed[dir]; found {
			continue
		}
		listed[dir] = firstSentence(t, dir)
		if tree[dir].files > maxFiles {
			listed[dir] += ". More than 12 files: "
		}
		after, common := -1, -1
		for i, line := range lines {
			if rest, row := strings.CutPrefix(line, "| `"); row {
				if n := commonPrefix(rest, dir); n >= common {
					after, common = i, n
				}
			}
		}
		lines = slices.Insert(lines, after+1, "| `"+dir+"` | "+listed[dir]+" |")
	}
	if err := os.WriteFile(filepath.Join(root, "docs/architecture.md"), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// firstSentence is the beginning of the comment of a package.
func firstSentence(t *testing.T, dir string) string {
	t.Helper()
	comment := regexp.MustCompile(`(?m)^// (?:Package|Command) \w+ ((?:.|\n// ?)+)`)
	for _, file := range goFiles(t) {
		if path.Dir(file) != dir {
			continue
		}
		if m := comment.FindStringSubmatch(read(t, file)); m != nil {
			text, _, _ := strings.Cut(strings.ReplaceAll(m[1], "\n// ", " "), ". ")
			return strings.TrimSuffix(strings.TrimSpace(text), ".")
		}
	}
	return "no package comment"
}
