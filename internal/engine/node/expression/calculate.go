package expression

import (
	"math"
	"math/big"
)

// IsTrue returns the truth value of a number or list, as in Python.
func IsTrue(value any) bool {
	switch v := value.(type) {
	case bool:
		return v
	case *big.Int:
		return v.Sign() != 0
	case float64:
		return v != 0
	case []any:
		return len(v) > 0
	}
	return false
}

// Float converts a number to a float. An integer beyond the range of floats is an error.
func Float(value any) (float64, error) {
	switch v := value.(type) {
	case float64:
		return v, nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		if math.IsInf(f, 0) {
			return 0, invalid("an integer is too large for a float")
		}
		return f, nil
	}
	return 0, invalid("found a list or a text, expected a number")
}

// integer returns booleans and integers as integers, and false for any other value.
func integer(value any) (*big.Int, bool) {
	switch v := value.(type) {
	case *big.Int:
		return v, true
	case bool:
		if v {
			return big.NewInt(1), true
		}
		return new(big.Int), true
	}
	return nil, false
}

// calculate applies a binary operator. Two integers give an integer, except for "/".
func calculate(operator string, a, b any) (any, error) {
	if operator == "[]" {
		return element(a, b)
	}
	x, xIsInt := integer(a)
	y, yIsInt := integer(b)
	if xIsInt && yIsInt {
		if _, bothBool := a.(bool); bothBool {
			if _, bothBool = b.(bool); bothBool && (operator == "&" || operator == "|" || operator == "^") {
				return logical(operator, a == true, b == true), nil
			}
		}
		return integers(operator, x, y)
	}
	fx, err := Float(a)
	if err != nil {
		return nil, err
	}
	fy, err := Float(b)
	if err != nil {
		return nil, err
	}
	return floats(operator, fx, fy)
}

func logical(operator string, a, b bool) bool {
	switch operator {
	case "&":
		return a && b
	case "|":
		return a || b
	default:
		return a != b
	}
}

func element(list, place any) (any, error) {
	values, isList := list.([]any)
	i, isInt := integer(place)
	if !isList || !isInt || !i.IsInt64() {
		return nil, invalid("an element can be taken of lists only, and the index must be a whole number")
	}
	n := i.Int64()
	if n < 0 {
		n += int64(len(values))
	}
	if n < 0 || n >= int64(len(values)) {
		return nil, invalid("the index is out of range: the list has %d elements", len(values))
	}
	return values[n], nil
}

func integers(operator string, a, b *big.Int) (any, error) {
	switch operator {
	case "+":
		return sized(new(big.Int).Add(a, b))
	case "-":
		return sized(new(big.Int).Sub(a, b))
	case "*":
		return sized(new(big.Int).Mul(a, b))
	case "&":
		return new(big.Int).And(a, b), nil
	case "|":
		return new(big.Int).Or(a, b), nil
	case "^":
		return new(big.Int).Xor(a, b), nil
	case "<<", ">>":
		return shift(operator, a, b)
	case "**":
		return power(a, b)
	}
	if b.Sign() == 0 {
		return nil, zeroDivision(map[string]string{
			"/": "division by zero", "//": "integer division or modulo by zero", "%": "integer modulo by zero",
		}[operator])
	}
	switch operator {
	case "/":
		f, _ := new(big.Rat).SetFrac(a, b).Float64()
		if math.IsInf(f, 0) {
			return nil, invalid("a quotient is too large for a float")
		}
		return f, nil
	case "//":
		quotient, _ := floorDivide(a, b)
		return quotient, nil
	default: // "%"
		_, rest := floorDivide(a, b)
		return rest, nil
	}
}

// floorDivide rounds towards minus infinity. The remainder has the sign of the divisor.
func floorDivide(a, b *big.Int) (quotient, rest *big.Int) {
	quotient, rest = new(big.Int).QuoRem(a, b, new(big.Int))
	if rest.Sign() != 0 && rest.Sign() != b.Sign() {
		quotient.Sub(quotient, big.NewInt(1))
		rest.Add(rest, b)
	}
	return quotient, rest
}

func sized(n *big.Int) (any, error) {
	if n.BitLen() > maxBits {
		return nil, invalid("an integer has more than %d bits", maxBits)
	}
	return n, nil
}

func shift(operator string, a, b *big.Int) (any, error) {
	if b.Sign() < 0 {
		return nil, invalid("it shifts by a negative number")
	}
	if operator == ">>" {
		n := uint(maxBits)
		if b.IsUint64() && b.Uint64() < maxBits {
			n = uint(b.Uint64())
		}
		return new(big.Int).Rsh(a, n), nil
	}
	if a.Sign() == 0 {
		return new(big.Int), nil
	}
	if !b.IsUint64() || b.Uint64() > maxBits {
		return nil, invalid("an integer has more than %d bits", maxBits)
	}
	return sized(new(big.Int).Lsh(a, uint(b.Uint64())))
}

// power raises integers. A negative exponent gives a float.
func power(a, b *big.Int) (any, error) {
	if new(big.Int).Abs(b).Cmp(big.NewInt(maxExponent)) > 0 {
		return nil, invalid("an exponent is larger than %d", maxExponent)
	}
	if b.Sign() < 0 {
		x, err := Float(a)
		if err != nil {
			return nil, err
		}
		return floats("**", x, float64(b.Int64()))
	}
	if int64(a.BitLen()-1)*b.Int64() > maxBits {
		return nil, invalid("an integer has more than %d bits", maxBits)
	}
	return sized(new(big.Int).Exp(a, b, nil))
}

func floats(operator string, a, b float64) (any, error) {
	switch operator {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "**":
		return floatPower(a, b)
	case "/", "//", "%":
		if b == 0 {
			return nil, zeroDivision(map[string]string{
				"/": "float division by zero", "//": "float floor division by zero", "%": "float modulo",
			}[operator])
		}
	default:
		return nil, invalid("%q takes whole numbers", operator)
	}
	if operator == "/" {
		return a / b, nil
	}
	quotient, rest := divideFloats(a, b)
	if operator == "//" {
		return quotient, nil
	}
	return rest, nil
}

// divideFloats is floor division whose remainder has the sign of the divisor, as Python computes it.
func divideFloats(a, b float64) (quotient, rest float64) {
	rest = math.Mod(a, b)
	quotient = (a - rest) / b
	switch {
	case rest == 0:
		rest = math.Copysign(0, b)
	case (b < 0) != (rest < 0):
		rest += b
		quotient--
	}
	if quotient == 0 {
		return math.Copysign(0, a/b), rest
	}
	floor := math.Floor(quotient)
	if quotient-floor > 0.5 {
		floor++
	}
	return floor, rest
}

func floatPower(a, b float64) (any, error) {
	if math.Abs(b) > maxExponent {
		return nil, invalid("an exponent is larger than %d", maxExponent)
	}
	if a == 0 && b < 0 {
		return nil, zeroDivision("0.0 cannot be raised to a negative power")
	}
	if a < 0 && b != math.Trunc(b) {
		return nil, invalid("it raises a negative number to a fractional power")
	}
	f := math.Pow(a, b)
	if math.IsInf(f, 0) && !math.IsInf(a, 0) {
		return nil, invalid("a power is too large")
	}
	return f, nil
}

// sign applies a unary operator.
func sign(operator string, value any) (any, error) {
	if n, ok := integer(value); ok {
		switch operator {
		case "-":
			return new(big.Int).Neg(n), nil
		case "~":
			return new(big.Int).Not(n), nil
		default:
			return n, nil
		}
	}
	f, err := Float(value)
	switch {
	case err != nil:
		return nil, err
	case operator == "~":
		return nil, invalid("%q takes whole numbers", operator)
	case operator == "-":
		return -f, nil
	}
	return f, nil
}

// compare reports whether a comparison holds. Integers and floats are compared exactly.
func compare(operator string, a, b any) (bool, error) {
	order, ordered, err := order(a, b)
	if err != nil {
		return false, err
	}
	switch operator {
	case "==":
		return ordered && order == 0, nil
	case "!=":
		return !ordered || order != 0, nil
	case "<":
		return ordered && order < 0, nil
	case ">":
		return ordered && order > 0, nil
	case "<=":
		return ordered && order <= 0, nil
	default: // ">="
		return ordered && order >= 0, nil
	}
}

// order returns the order of two numbers, and false if one is NaN.
func order(a, b any) (int, bool, error) {
	x, err := exact(a)
	if err != nil {
		return 0, false, err
	}
	y, err := exact(b)
	if err != nil || x == nil || y == nil {
		return 0, false, err
	}
	return x.Cmp(y), true, nil
}

// exact returns a number without rounding; nil stands for NaN.
func exact(value any) (*big.Float, error) {
	if n, ok := integer(value); ok {
		return new(big.Float).SetPrec(uint(max(64, n.BitLen()))).SetInt(n), nil
	}
	f, err := Float(value)
	if err != nil || math.IsNaN(f) {
		return nil, err
	}
	return new(big.Float).SetFloat64(f), nil
}
