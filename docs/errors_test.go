package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/fault"
)

// listOfCodes declares every error code.
const listOfCodes = "internal/fault/codes.go"

// kindsByName are the names of the kinds of failures in the source.
var kindsByName = map[string]fault.Kind{
	"Internal": fault.Internal, "Invalid": fault.Invalid, "NotFound": fault.NotFound, "Conflict": fault.Conflict, "Exhausted": fault.Exhausted,
	"Unavailable": fault.Unavailable, "Unauthenticated": fault.Unauthenticated, "Denied": fault.Denied, "Canceled": fault.Canceled,
}

// docs/errors.md lists every code with the statuses that its failures have. `go test ./docs -update` writes it anew.
func TestErrorsPageListsEveryCode(t *testing.T) {
	t.Parallel()
	want := errorsPage(t, usedCodes(t))
	if *update {
		if err := os.WriteFile("errors.md", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, "docs/errors.md") != want {
		t.Error("docs/errors.md is not that of " + listOfCodes + " (go test ./docs -update)")
	}
}

// errorsPage renders the declared codes: a section for each group of constants.
func errorsPage(t *testing.T, used map[string]map[fault.Kind]bool) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), listOfCodes, read(t, listOfCodes), parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	page.WriteString(`# Error codes

The codes of failures, by which a client branches; messages may change. The statuses are those of the cloud routes, of
the v2 routes and of the admin API. Below ` + "`/api/v2/assets`" +
		` a 400 is a 422, except for a cursor, and a 503 is a 500. The model router answers with the error
types of its own contract. A code without a status is not the answer of a route: it is in the record of a job or an export, in
the outcome of a command, or inside the service. ` + "`go test ./docs -update`" + ` writes this page from ` + "`" + listOfCodes + "`" + `.
`)
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		fmt.Fprintf(&page, "\n%s\n| Code | Cloud | v2 | Admin | Meaning |\n|---|---|---|---|---|\n", group.Doc.Text())
		for _, spec := range group.Specs {
			constant := spec.(*ast.ValueSpec)
			name, code := constant.Names[0].Name, literal(constant.Values[0])
			meaning := strings.TrimSpace(constant.Comment.Text())
			if meaning == "" || used[name] == nil {
				t.Errorf("code %s has no meaning, or nothing uses it", name)
			}
			var columns []string
			for _, surface := range []httperr.Surface{httperr.Cloud, httperr.V2, httperr.Admin} {
				columns = append(columns, statuses(surface, code, used[name]))
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", code, strings.Join(columns, " | "), meaning)
		}
	}
	return page.String()
}

// statuses lists the statuses of a code's failures on a surface that show the code to the client.
func statuses(where httperr.Surface, code string, kinds map[fault.Kind]bool) string {
	found := map[string]bool{}
	for _, kind := range kindsByName {
		made := []fault.Code{""} // some codes stand for a kind
		if kinds[kind] {
			made = append(made, fault.Code(code))
		}
		for _, of := range made {
			if status, shown := httperr.Verdict(where, fault.New(kind, of, "")); shown == fault.Code(code) {
				found[strconv.Itoa(status)] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), ", ")
}

// usedCodes returns the constants that the program uses, with the kinds of the failures that are made with them. A code
// written as a literal is an error.
func usedCodes(t *testing.T) map[string]map[fault.Kind]bool {
	t.Helper()
	used := map[string]map[fault.Kind]bool{}
	for _, name := range goFiles(t) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/fault/") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if code := member(n, "fault"); strings.HasPrefix(code, "Code") && used[code] == nil {
					used[code] = map[fault.Kind]bool{}
				}
			case *ast.CallExpr:
				noteCode(t, used, n, files.Position(n.Pos()))
			}
			return true
		})
	}
	return used
}

// noteCode notes the kind and the code of a call that makes a failure.
func noteCode(t *testing.T, used map[string]map[fault.Kind]bool, call *ast.CallExpr, at token.Position) {
	t.Helper()
	var kind string
	var code ast.Expr
	switch {
	case member(call.Fun, "fault") == "New" && len(call.Args) > 2:
		kind, code = member(call.Args[0], "fault"), call.Args[1]
	case member(call.Fun, "fault") == "Wrap" && len(call.Args) > 3:
		kind, code = member(call.Args[1], "fault"), call.Args[2]
	case member(call.Fun, "httperr") == "RetryLater":
		kind, code = "Exhausted", call.Args[1]
	default:
		return
	}
	if text := literal(code); text != "" {
		t.Errorf("%s: the code %q stands here as a literal; declare it in %s", at, text, listOfCodes)
	}
	constant := member(code, "fault")
	if of, known := kindsByName[kind]; known && constant != "" {
		if used[constant] == nil {
			used[constant] = map[fault.Kind]bool{}
		}
		used[constant][of] = true
	}
}

// member returns the name that an expression takes from a package, or "".
func member(e ast.Expr, pkg string) string {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if from, ok := selector.X.(*ast.Ident); !ok || from.Name != pkg {
		return ""
	}
	return selector.Sel.Name
}

// literal returns the value of a literal string, or "".
func literal(e ast.Expr) string {
	text, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	value, err := strconv.Unquote(text.Value)
	if err != nil {
		return ""
	}
	return value
}
