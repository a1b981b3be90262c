package expression

import (
	"math"
	"math/big"

	"github.com/millrace-dev/millrace/internal/engine/node/python"
)

// functions are the functions that an expression may call. The table is never written to.
var functions = map[string]func([]any) (any, error){
	"sum": sum,
	"min": func(args []any) (any, error) { return extreme("<", args) },
	"max": func(args []any) (any, error) { return extreme(">", args) },
	"abs": absolute, "round": round, "int": truncate,
	"pow": func(args []any) (any, error) {
		return two(args, func(a, b any) (any, error) { return calculate("**", a, b) })
	},
	"float": func(args []any) (any, error) { return unary(args, func(v any) (any, error) { return asAny(Float(v)) }) },
	"ceil":  func(args []any) (any, error) { return toInteger(args, math.Ceil) },
	"floor": func(args []any) (any, error) { return toInteger(args, math.Floor) },
	"sqrt":  floatFunction(math.Sqrt), "log": logarithm, "log2": floatFunction(math.Log2), "log10": floatFunction(math.Log10),
	"sin": floatFunction(math.Sin), "cos": floatFunction(math.Cos), "tan": floatFunction(math.Tan),
}

func asAny(f float64, err error) (any, error) { return f, err }

func unary(args []any, f func(any) (any, error)) (any, error) {
	if len(args) != 1 {
		return nil, invalid("a function takes one argument, not %d", len(args))
	}
	return f(args[0])
}

func two(args []any, f func(a, b any) (any, error)) (any, error) {
	if len(args) != 2 {
		return nil, invalid("a function takes two arguments, not %d", len(args))
	}
	return f(args[0], args[1])
}

// floatFunction makes a function of one float. A result that is not defined is an error.
func floatFunction(f func(float64) float64) func([]any) (any, error) {
	return func(args []any) (any, error) {
		return unary(args, func(v any) (any, error) {
			x, err := Float(v)
			if err != nil {
				return nil, err
			}
			y := f(x)
			if math.IsNaN(y) && !math.IsNaN(x) || math.IsInf(y, 0) && !math.IsInf(x, 0) {
				return nil, invalid("a function is not defined for %g", x).Raising("ValueError", "math domain error")
			}
			return y, nil
		})
	}
}

func logarithm(args []any) (any, error) {
	natural := floatFunction(math.Log)
	if len(args) != 2 {
		return natural(args)
	}
	x, err := natural(args[:1])
	if err != nil {
		return nil, err
	}
	base, err := natural(args[1:])
	if err != nil {
		return nil, err
	}
	return calculate("/", x, base)
}

func sum(args []any) (any, error) {
	return unary(args, func(v any) (any, error) {
		list, ok := v.([]any)
		if !ok {
			return nil, invalid("sum takes a list")
		}
		var total any = new(big.Int)
		for _, element := range list {
			var err error
			if total, err = calculate("+", total, element); err != nil {
				return nil, err
			}
		}
		return total, nil
	})
}

// notIterable is the error of a function of a list for another value.
func notIterable(value any) error {
	kind := python.TypeName(value)
	return invalid("min, max and sum take a list").Raising("TypeError", "'%s' object is not iterable", kind)
}

// extreme returns the first of the least or greatest arguments or, for a single argument, elements.
func extreme(better string, args []any) (any, error) {
	if len(args) == 1 {
		list, ok := args[0].([]any)
		if !ok {
			return nil, notIterable(args[0])
		}
		args = list
	}
	if len(args) == 0 {
		return nil, invalid("min and max take a list with at least one element")
	}
	best := args[0]
	for _, arg := range args[1:] {
		wins, err := compare(better, arg, best)
		if err != nil {
			return nil, err
		}
		if wins {
			best = arg
		}
	}
	return best, nil
}

func absolute(args []any) (any, error) {
	return unary(args, func(v any) (any, error) {
		if n, ok := integer(v); ok {
			return new(big.Int).Abs(n), nil
		}
		f, err := Float(v)
		return math.Abs(f), err
	})
}

func truncate(args []any) (any, error) {
	if len(args) == 0 {
		return new(big.Int), nil
	}
	return toInteger(args, math.Trunc)
}

// toInteger rounds a number to an integer.
func toInteger(args []any, f func(float64) float64) (any, error) {
	return unary(args, func(v any) (any, error) {
		if n, ok := integer(v); ok {
			return n, nil
		}
		x, err := Float(v)
		if err != nil {
			return nil, err
		}
		return Integer(f(x))
	})
}

// Integer returns a whole float as an integer. A float that is not finite is an error.
func Integer(f float64) (*big.Int, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, invalid("%g is not an integer", f)
	}
	n, _ := new(big.Float).SetFloat64(f).Int(nil)
	return n, nil
}

// maxDigits bounds the decimal places that round takes; no float has more.
const maxDigits = 400

// round rounds half to even, to an integer or to a number of decimal places.
func round(args []any) (any, error) {
	switch len(args) {
	case 1:
		return toInteger(args, math.RoundToEven)
	case 2:
	default:
		return nil, invalid("round takes one or two arguments")
	}
	places, ok := integer(args[1])
	if !ok || !places.IsInt64() || places.Int64() > maxDigits || places.Int64() < -maxDigits {
		return nil, invalid("the second argument of round must be a small whole number")
	}
	n, isInt := integer(args[0])
	if isInt && places.Sign() >= 0 {
		return n, nil
	}
	if isInt {
		return roundAt(new(big.Rat).SetInt(n), places.Int64()).Num(), nil
	}
	f, err := Float(args[0])
	if err != nil || f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return f, err
	}
	rounded, _ := roundAt(new(big.Rat).SetFloat64(f), places.Int64()).Float64()
	if math.IsInf(rounded, 0) {
		return nil, invalid("the rounded number is too large for a float")
	}
	return math.Copysign(rounded, f), nil
}

// roundAt rounds a number to a multiple of ten to the power of -places, half to even.
func roundAt(r *big.Rat, places int64) *big.Rat {
	unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(places, -places)), nil))
	if places > 0 {
		unit.Inv(unit)
	}
	scaled := new(big.Rat).Quo(r, unit)
	quotient, rest := floorDivide(scaled.Num(), scaled.Denom())
	twice := rest.Lsh(rest, 1).Cmp(scaled.Denom())
	if twice > 0 || twice == 0 && quotient.Bit(0) == 1 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return unit.Mul(unit, new(big.Rat).SetInt(quotient))
}
