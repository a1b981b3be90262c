package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// Scope holds the values that an expression of an entry can read. A value that the conversation does not have yet is
// nil, and a member of nil is nil.
type Scope struct {
	Status  int               `expr:"status"`  // HTTP status of the provider's answer
	Headers map[string]string `expr:"headers"` // headers of the answer, names in lower case
	Body    any               `expr:"body"`    // the decoded answer, with long strings cut
	Input   any               `expr:"input"`   // the caller's decoded body; nil while polling
	Handle  string            `expr:"handle"`  // handle of the submission
	// Settings are the operator's values of the entry's settings, such as a cloud project.
	Settings map[string]string `expr:"settings"`
}

// Expr is a compiled expression. The zero value means no expression.
type Expr struct {
	source  string
	program *vm.Program
}

// maxExpression bounds the text of an expression.
const maxExpression = 2000

// compileExpr compiles source. For "" it returns the zero Expr.
func compileExpr(source string) (Expr, error) {
	switch {
	case source == "":
		return Expr{}, nil
	case len(source) > maxExpression:
		return Expr{}, fmt.Errorf("the expression has more than %d characters", maxExpression)
	}
	program, err := expr.Compile(source, expr.Env(Scope{}), expr.Patch(optionalMembers{}))
	if err != nil {
		return Expr{}, errors.New(firstLine(err.Error()))
	}
	return Expr{source: source, program: program}, nil
}

// optionalMembers makes every member access optional, so that a member of nil is nil. Providers omit fields that do
// not apply.
type optionalMembers struct{}

// Visit implements ast.Visitor.
func (optionalMembers) Visit(node *ast.Node) {
	if member, ok := (*node).(*ast.MemberNode); ok && !member.Method {
		member.Optional = true
		ast.Patch(node, &ast.ChainNode{Node: member})
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Set reports whether the entry has this expression.
func (e Expr) Set() bool { return e.program != nil }

// Eval returns the expression's value. It returns nil if the documents lack a value that the expression needs, such
// as an element of an empty list or a string that contains a number.
func (e Expr) Eval(s Scope) any {
	if e.program == nil {
		return nil
	}
	value, err := expr.Run(e.program, s)
	if err != nil {
		return nil
	}
	return value
}

// Holds reports whether the expression is exactly true.
func (e Expr) Holds(s Scope) bool { return e.Eval(s) == true }

// Text returns the expression's value as text: a string unchanged, a whole number in digits, and "" for anything
// else.
func (e Expr) Text(s Scope) string {
	switch v := e.Eval(s).(type) {
	case string:
		return v
	case int:
		return fmt.Sprint(v)
	default:
		return ""
	}
}
