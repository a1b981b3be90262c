// Package conformance_test compares the register in this directory with the tree: a page names every line of the contracts, and every test
// that a page names exists.
package conformance_test

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "correct the packages of the tests that the pages name")

// root is the top of the repository, seen from this directory.
const root = "../.."

// namedTest is a test as a page names it: `package.TestName`, the package by the last elements of
// its path, with or without the name of a subtest.
var namedTest = regexp.MustCompile("`(?:([a-z0-9_/]+)\\.)?((?:Test|Fuzz|Benchmark|Example)[A-Z]\\w*)((?:/[^`]*)?)`")

// Every test that a page names exists, in the package that the page names. `-update` corrects the packages of
// tests that have moved; a test that was renamed is for people to find.
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
				t.Errorf("%s names %s, which is in %s (go -C test test ./conformance -update)", page, mention, dirs[0])
			default:
				return "`" + shortest(dirs[0], tests) + "." + name + sub + "`"
			}
			return mention
		})
		if *update && corrected != text {
			if err := os.WriteFile(page, []byte(corrected), 0o600); err != nil {
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
	for row := range strings.Lines(read(t, "lines.txt")) {
		row = strings.TrimSpace(row)
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		m := lineRange.FindStringSubmatch(row)
		if m == nil {
			t.Fatalf("lines.txt: %q is not a range of lines", row)
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
			t.Errorf("no page names %s", line)
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
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("this directory has no pages (%v)", err)
	}
	return pages
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// testsOfTheTree maps the name of each test, fuzz test, benchmark and example to the directories that declare it.
func testsOfTheTree(t *testing.T) map[string][]string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	tests := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") && file != root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		for _, m := range declared.FindAllStringSubmatch(read(t, file), -1) {
			if dir := filepath.ToSlash(dir); !slices.Contains(tests[m[1]], dir) {
				tests[m[1]] = append(tests[m[1]], dir)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
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
