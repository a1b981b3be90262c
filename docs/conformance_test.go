package docs_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "correct the packages of the tests that docs/conformance names")

// namedTest is a test as a page of docs/conformance names it: `package.TestName`, the package by the last elements of
// its path, with or without the name of a subtest.
var namedTest = regexp.MustCompile("`(?:([a-z0-9_/]+)\\.)?((?:Test|Fuzz|Benchmark|Example)[A-Z]\\w*)((?:/[^`]*)?)`")

// Every test that a page names exists, in the package that the page names. `go test ./docs -update` corrects the
// packages of tests that have moved; a test that was renamed is for people to find.
func TestEveryTestNamedByConformanceExists(t *testing.T) {
	t.Parallel()
	tests := testsOfTheTree(t)
	for _, page := range conformancePages(t) {
		text := read(t, page)
		corrected := namedTest.ReplaceAllStringFunc(text, func(mention string) string {
			m := namedTest.FindStringSubmatch(mention)
			qualifier, name, sub := m[1], m[2], m[3]
			dirs := tests[name]
			if qualifier != "" && slices.ContainsFunc(dirs, func(dir string) bool { return isSuffix(qualifier, dir) }) {
				return mention
			}
			switch {
			case len(dirs) == 0:
				t.Errorf("%s names %s, which does not exist", page, name)
			case len(dirs) > 1:
				t.Errorf("%s names %s, which exists in %s: name the package", page, mention, strings.Join(dirs, ", "))
			case !*update:
				t.Errorf("%s names %s, which is in %s (go test ./docs -update)", page, mention, dirs[0])
			default:
				return "`" + shortest(dirs[0], tests) + "." + name + sub + "`"
			}
			return mention
		})
		if *update && corrected != text {
			if err := os.WriteFile(filepath.Join(root, page), []byte(corrected), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A range of lines: "W-33 to W-36".
var lineRange = regexp.MustCompile(`\b([A-Z])-(\d+) to ([A-Z])-(\d+)\b`)

// Every line of the contracts is named by a page, alone or within a range, and no page names a line that does not exist.
func TestEveryLineOfTheContractsIsNamed(t *testing.T) {
	t.Parallel()
	lines := map[string]bool{} // whether a page names the line
	for row := range strings.Lines(read(t, "docs/conformance/lines.txt")) {
		row = strings.TrimSpace(row)
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		m := lineRange.FindStringSubmatch(row)
		if m == nil {
			t.Fatalf("docs/conformance/lines.txt: %q is not a range of lines", row)
		}
		for _, line := range expandRange(t, m) {
			lines[line] = false
		}
	}
	one := regexp.MustCompile(`\b[AWRXD]-\d+\b`)
	for _, page := range conformancePages(t) {
		text := read(t, page)
		var named []string
		for _, m := range lineRange.FindAllStringSubmatch(text, -1) {
			named = append(named, expandRange(t, m)...)
		}
		named = append(named, one.FindAllString(text, -1)...)
		for _, line := range named {
			if _, exists := lines[line]; !exists {
				t.Errorf("%s names %s, which is no line of the contracts", page, line)
				continue
			}
			lines[line] = true
		}
	}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		if !lines[line] {
			t.Errorf("no page of docs/conformance names %s", line)
		}
	}
}

// expandRange lists the lines of a match of lineRange.
func expandRange(t *testing.T, m []string) []string {
	t.Helper()
	from, _ := strconv.Atoi(m[2])
	to, _ := strconv.Atoi(m[4])
	if m[1] != m[3] || to < from {
		t.Fatalf("%q is not a range of lines", m[0])
	}
	var lines []string
	for n := from; n <= to; n++ {
		lines = append(lines, fmt.Sprintf("%s-%02d", m[1], n))
	}
	return lines
}

func conformancePages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("conformance/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages in docs/conformance (%v)", err)
	}
	for i, page := range pages {
		pages[i] = path.Join("docs", filepath.ToSlash(page))
	}
	return append(pages, "docs/conformance.md")
}

// testsOfTheTree maps the name of each test, fuzz test, benchmark and example to the directories that declare it.
func testsOfTheTree(t *testing.T) map[string][]string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	tests := map[string][]string{}
	for _, file := range goFiles(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range declared.FindAllStringSubmatch(read(t, file), -1) {
			if dir := path.Dir(file); !slices.Contains(tests[m[1]], dir) {
				tests[m[1]] = append(tests[m[1]], dir)
			}
		}
	}
	return tests
}

// isSuffix reports whether the elements of qualifier are the last elements of dir.
func isSuffix(qualifier, dir string) bool {
	return qualifier == dir || strings.HasSuffix(dir, "/"+qualifier)
}

// shortest is the shortest suffix of dir that names no other directory with tests.
func shortest(dir string, tests map[string][]string) string {
	elements := strings.Split(dir, "/")
	for n := 1; n < len(elements); n++ {
		suffix := strings.Join(elements[len(elements)-n:], "/")
		only := true
		for _, dirs := range tests {
			only = only && !slices.ContainsFunc(dirs, func(d string) bool { return d != dir && isSuffix(suffix, d) })
		}
		if only {
			return suffix
		}
	}
	return dir
}
