// Package docs_test compares the documentation with the tree: every package is in docs/architecture.md, and every command and setting that
// a page names exists.
package docs_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "write anew what the pages take from the tree")

// root is the top of the repository, seen from this directory.
const root = ".."

// goFiles lists the Go files of the repository by their slash-separated paths, without testdata.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") && file != root) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(file, ".go") {
			rel, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// read returns the content of a file of the repository.
func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// A comment of a function or a type that begins with a name begins with the name of what it describes.
func TestCommentsBeginWithTheNameOfWhatTheyDescribe(t *testing.T) {
	t.Parallel()
	for _, name := range goFiles(t) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(root, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			described, doc := documented(decl)
			first, _, _ := strings.Cut(doc.Text(), " ")
			if first = strings.TrimRight(first, ":,"); first != "" && described != "" && first != described && unicode.IsLower(rune(first[0])) {
				t.Errorf("%s: the comment of %s begins with %q", files.Position(doc.Pos()), described, first)
			}
		}
	}
}

// documented returns the name of a declared function or type, "" for anything else and for a test, and its comment.
func documented(decl ast.Decl) (string, *ast.CommentGroup) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if !strings.HasPrefix(d.Name.Name, "Test") {
			return d.Name.Name, d.Doc
		}
	case *ast.GenDecl:
		if named, ok := d.Specs[0].(*ast.TypeSpec); ok && !d.Lparen.IsValid() {
			return named.Name.Name, d.Doc
		}
	}
	return "", nil
}
