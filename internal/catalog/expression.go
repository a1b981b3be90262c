package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// Scope is what an expression of an entry sees. What the conversation does not have yet is nil,
// and a member of nil is nil.
type Scope struct {
	Status  int               // HTTP status of the provider's answer
	Headers map[string]string // of the answer, names in lower case
	Body    any               // the answer, decoded; long strings cut
	Input   any               // the caller's body, decoded; nil while polling
	Handle  string            // of the submission
}

// variables is the environment of an expression: its names are the vocabulary of entries.
func (s Scope) variables() map[string]any {
	return map[string]any{
		"status": s.Status, "headers": s.Headers, "body": s.Body, "input": s.Input, "handle": s.Handle,
	}
}

// Expr is a compiled expression. The zero value is absent.
type Expr struct {
	source  string
	program *vm.Program
}

// maxExpression bounds an expression's text; a longer one is a program.
const maxExpression = 2000

// compileExpr compiles source; "" gives the absent expression.
func compileExpr(source string) (Expr, error) {
	switch {
	case source == "":
		return Expr{}, nil
	case len(source) > maxExpression:
		return Expr{}, fmt.Errorf("the expression is longer than %d characters", maxExpression)
	}
	program, err := expr.Compile(source, expr.Env(Scope{Headers: map[string]string{}}.variables()))
	if err != nil {
		return Expr{}, errors.New(firstLine(err.Error()))
	}
	return Expr{source: source, program: program}, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Set reports whether the entry has this expression.
func (e Expr) Set() bool { return e.program != nil }

// Eval returns the expression's value. A path that the documents do not have is nil: providers
// leave out what does not apply.
func (e Expr) Eval(s Scope) any {
	if e.program == nil {
		return nil
	}
	value, err := expr.Run(e.program, s.variables())
	if err != nil { // a member of nil, a number where a string was expected
		return nil
	}
	return value
}

// Holds reports whether the expression is exactly true.
func (e Expr) Holds(s Scope) bool { return e.Eval(s) == true }

// Text returns the value of an expression that names something: a string, or a number in digits.
// Everything else is "".
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
