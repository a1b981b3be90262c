package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages lists the pages for people by their paths below docs.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "tutorials/*.md", "recipes/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// Somebody with a question finds the page in the index.
func TestTheIndexHasEveryPage(t *testing.T) {
	t.Parallel()
	index := read(t, "docs/README.md")
	for _, page := range pages(t) {
		name := filepath.ToSlash(page)
		if name == "README.md" || strings.HasPrefix(name, "recipes/") && strings.Contains(index, "](recipes/)") {
			continue
		}
		if !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not lead to docs/%s", name)
		}
	}
}

var (
	pageLink = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	code     = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// Links between pages lead to files that are there.
func TestLinksLeadToFiles(t *testing.T) {
	t.Parallel()
	found := 0
	for _, page := range append(pages(t), "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md", "../SECURITY.md") {
		text := code.ReplaceAllString(read(t, filepath.Join("docs", page)), "")
		for _, link := range pageLink.FindAllStringSubmatch(text, -1) {
			found++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(link[1]))); err != nil {
				t.Errorf("%s leads to %s, which is not there", page, link[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d links were found", found)
	}
}

// The README says first what this is, for whom, and what it is not; then comes a first result, and then links. It is short.
func TestTheREADMEBeginsWithWhatAStrangerAsks(t *testing.T) {
	t.Parallel()
	page := read(t, "README.md")
	at := -1
	for _, part := range []string{
		"# Millrace\n", "It is for", "It is not", "![", "| Use Millrace when |", "| ComfyUI alone |", "| the official proxy",
		"| a hosted service |", "| a plain queue", "## Start", "make run", "## A first job", "## A partner model", "## Where next",
	} {
		next := strings.Index(page, part)
		if next <= at {
			t.Fatalf("README.md does not have %q, or not after the part before it", part)
		}
		at = next
	}
	head, _, _ := strings.Cut(page, "![")
	if n := strings.Count(head, "\n"); n > 8 {
		t.Errorf("%d lines stand before the picture of the console", n)
	}
	if n := len(strings.Fields(page)); n > 950 {
		t.Errorf("README.md has %d words; details belong on a page of docs", n)
	}
}
