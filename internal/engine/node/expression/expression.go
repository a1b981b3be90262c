// Package expression evaluates arithmetic in Python's syntax, for the class ComfyMathExpression: numbers, booleans,
// variables, lists of these, operators, comparisons, conditionals and a fixed set of functions. Integers have up to
// maxBits bits. The language has no attributes, strings, assignments or other calls, so that every evaluation is safe
// and ends.
package expression

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The bounds of an expression.
const (
	maxSource   = 8 << 10 // bytes
	maxNesting  = 100
	maxExponent = 4000
	maxBits     = 1 << 16 // of an integer
)

// Eval evaluates source with variables of type bool, int64, float64 or []any of these. The result is a bool, *big.Int, float64
// or []any. Every mistake in the expression is fault.Invalid with code expression.
func Eval(source string, variables map[string]any) (any, error) {
	if len(source) > maxSource {
		return nil, invalid("it has more than %d bytes", maxSource)
	}
	if strings.TrimFunc(source, python.IsSpace) == "" {
		return nil, invalid("it is empty").Raising("ValueError", "Expression cannot be empty.")
	}
	tokens, err := scan(source)
	if err == nil {
		err = pairs(tokens)
	}
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, source: source}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != end {
		return nil, unexpected(t.text)
	}
	env := make(environment, len(variables))
	for name, value := range variables {
		if env[name], err = convert(value); err != nil {
			return nil, err
		}
	}
	value, err := e(env)
	if _, isText := value.(string); isText && err == nil {
		err = NotNumeric(source, value)
	}
	return value, err
}

// NotNumeric is the error of an expression whose value is a text or a list.
func NotNumeric(source string, value any) error {
	return invalid("its value is no number").Raising("ValueError", "Math Expression '%s' must evaluate to a numeric result, got %s: %s",
		source, python.TypeName(value), python.Repr(value))
}

// unexpected is the error of a token that does not belong where it is.
func unexpected(text string) error { return syntax("invalid syntax", "unexpected %q", text) }

// syntax is an error of Python's parser, for expressions of one line.
func syntax(sentence, format string, args ...any) error {
	return invalid(format, args...).Raising("SyntaxError", "%s (<unknown>, line 1)", sentence)
}

// zeroDivision is the error of a division by zero.
func zeroDivision(sentence string) error {
	return invalid("it divides by zero").Raising("ZeroDivisionError", "%s", sentence)
}

// environment holds the variables by name.
type environment map[string]any

// term is a parsed expression.
type term func(environment) (any, error)

// convert converts a variable to a value of this package.
func convert(value any) (any, error) {
	switch v := value.(type) {
	case bool, float64, *big.Int:
		return v, nil
	case int64:
		return big.NewInt(v), nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var err error
			if list[i], err = convert(v[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	default:
		return nil, invalid("a value of type %T is not a number", value)
	}
}

func invalid(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, fault.CodeExpression, "the expression cannot be evaluated: %s", fmt.Sprintf(format, args...))
}
