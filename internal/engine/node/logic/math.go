package logic

import (
	"context"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/expression"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	moduleMath = "comfy_extras.nodes_math"

	// valuesPrefix is the prefix of the names of the values that a prompt gives to MathExpression.
	valuesPrefix = "values."
	// numeric is the type of the values of an expression.
	numeric node.Type = "FLOAT,INT,BOOLEAN"
)

// letters names the values of an expression.
func letters() []string { return strings.Split("abcdefghijklmnopqrstuvwxyz", "") }

// MathExpression evaluates an expression over up to 26 values.
func MathExpression() *node.Class {
	return &node.Class{
		Name: "ComfyMathExpression", DisplayName: "Math Expression", Category: "utilities", Module: moduleMath,
		Description: "Evaluates an expression such as (a + b) / 2. Besides the operators there are sum, min, max, abs, " +
			"round, pow, sqrt, ceil, floor, log, log2, log10, sin, cos, tan, int and float; values is the list of all values.",
		SearchAliases: []string{"calculate", "arithmetic", "formula", "add", "multiply"},
		Inputs: []node.Input{
			{Name: "expression", Type: node.String, Default: "a + b", Multiline: true, Tooltip: "The expression."},
			{
				Name: "values", Type: node.AutogrowType, Tooltip: "The values that the expression names.",
				Extra: map[string]any{"template": node.Autogrow{
					Each: node.Input{Name: "value", Type: numeric}, Names: letters(), Min: 1,
				}},
			},
		},
		Outputs: []node.Output{{Type: node.Float}, {Type: node.Int}, {Type: node.Boolean, Name: "BOOL"}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			source := call.String("expression")
			result, err := expression.Eval(source, variables(call.Args))
			if err != nil {
				return node.Result{}, err
			}
			if list, isList := result.([]any); isList {
				return node.Result{}, expression.NotNumeric(source, list)
			}
			if f, ok := result.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
				return node.Result{}, fault.New(fault.Invalid, fault.CodeNumber, "the result is not finite").
					Raising("ValueError", "Math Expression '%s' produced a non-finite result: %s", source, python.Float(f))
			}
			return numbers(result, expression.IsTrue(result))
		},
	}
}

// variables returns the given values by letter, and the list of all values.
func variables(args node.Args) map[string]any {
	vars, list := map[string]any{}, []any{}
	for _, name := range letters() {
		if value, ok := args[valuesPrefix+name]; ok {
			vars[name] = value
			list = append(list, value)
		}
	}
	vars["values"] = list
	return vars
}

// numbers returns a number as float and as integer, followed by more outputs.
func numbers(value any, more ...node.Value) (node.Result, error) {
	f, err := expression.Float(value)
	if err != nil {
		return node.Result{}, err
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeNumber, "the result %g is not finite", f)
	}
	n, isInt := value.(*big.Int)
	if !isInt {
		if n, err = expression.Integer(math.Trunc(f)); err != nil {
			return node.Result{}, err
		}
	}
	if !n.IsInt64() {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeNumber, "the result %.32s… has more than 64 bits", n)
	}
	return node.Result{Outputs: append([]node.Value{f, n.Int64()}, more...)}, nil
}

// NumberConvert turns a number, a truth value or digits into a float and an integer.
func NumberConvert() *node.Class {
	return &node.Class{
		Name: "ComfyNumberConvert", DisplayName: "Convert Number", Category: "utilities", Module: "comfy_extras.nodes_number_convert",
		Description:   "Turns a number, a truth value or digits into a float and an integer, which is cut, not rounded.",
		SearchAliases: []string{"int to float", "float to int", "number convert", "int2float", "parse number"},
		Inputs:        []node.Input{{Name: "value", Type: "INT,FLOAT,STRING,BOOLEAN", DisplayName: "value", Tooltip: "The value to convert."}},
		Outputs:       []node.Output{{Type: node.Float}, {Type: node.Int}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			switch v := call.Args["value"].(type) {
			case int64:
				return numbers(big.NewInt(v))
			case float64, bool:
				return numbers(v)
			case string:
				n, err := parseNumber(v)
				if err != nil {
					return node.Result{}, err
				}
				if f, ok := n.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
					return node.Result{}, fault.New(fault.Invalid, fault.CodeNumber, "%.64q is not finite", v).
						Raising("ValueError", "Cannot convert non-finite value to number: %s", python.Float(f))
				}
				return numbers(n)
			default:
				return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "input value is missing or not a number")
			}
		},
	}
}

// maxQuoted bounds the part of a text that an error repeats.
const maxQuoted = 256

// parseNumber reads an integer of any size, or else a float.
func parseNumber(text string) (any, error) {
	digits := python.Digits(text)
	if n, ok := new(big.Int).SetString(digits, 10); ok && len(digits) < 400 {
		return n, nil
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil && !math.IsInf(f, 0) || strings.ContainsAny(digits, "xX") {
		refusal := fault.New(fault.Invalid, fault.CodeNumber, "%.64q is not a number", text)
		if strings.TrimFunc(text, python.IsSpace) == "" {
			return nil, refusal.Raising("ValueError", "Cannot convert empty string to number.")
		}
		return nil, refusal.Raising("ValueError", "Cannot convert string to number: %s", python.Quote(fault.Shorten(text, maxQuoted)))
	}
	return f, nil
}
