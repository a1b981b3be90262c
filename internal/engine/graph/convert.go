package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
)

// convert converts a constant to the declared type as Python's int(), float(), str() and bool() do, since ComfyUI
// converts with these. Constants of other types are returned unchanged.
func convert(t node.Type, value any) (node.Value, error) {
	switch t {
	case node.Int:
		return toInt(value)
	case node.Float:
		return toFloat(value)
	case node.String:
		return python.Str(value), nil
	case node.Boolean:
		return truth(value), nil
	default:
		return node.PlainJSON(value), nil
	}
}

// tooLarge is the error for an integer of more than 64 bits. ComfyUI accepts such integers; no native class does.
type tooLarge struct{ n *big.Int }

// Error has the wording that clients know.
func (tooLarge) Error() string { return "Python int too large to convert to C long" }

func toInt(value any) (int64, error) {
	switch v := value.(type) {
	case json.Number:
		return truncated(v)
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case string:
		n, ok := new(big.Int), false
		if digits := python.Digits(v); len(digits) <= maxDigits {
			n, ok = n.SetString(digits, 10)
		}
		if !ok {
			return 0, fmt.Errorf("invalid literal for int() with base 10: %s", python.Quote(v))
		}
		return fitting(n)
	default:
		return 0, fmt.Errorf("int() argument must be a string, a bytes-like object or a real number, not '%s'", pythonType(v))
	}
}

// maxDigits bounds integers written as text, as Python does.
const maxDigits = 4300

// truncated returns a number without its fraction.
func truncated(number json.Number) (int64, error) {
	if i, err := number.Int64(); err == nil {
		return i, nil
	}
	if n, ok := new(big.Int).SetString(string(number), 10); ok && len(number) <= maxDigits {
		return fitting(n)
	}
	f, err := number.Float64()
	if err != nil {
		return 0, errors.New("cannot convert float infinity to integer")
	}
	n, _ := big.NewFloat(f).Int(nil)
	return fitting(n)
}

func fitting(n *big.Int) (int64, error) {
	if !n.IsInt64() {
		return 0, tooLarge{n}
	}
	return n.Int64(), nil
}

func toFloat(value any) (float64, error) {
	switch v := value.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return 0, errNotFinite
		}
		if v == "-0" { // an integer zero has no sign
			return 0, nil
		}
		return f, nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case string:
		return parseFloat(v)
	default:
		return 0, fmt.Errorf("float() argument must be a string or a real number, not '%s'", pythonType(v))
	}
}

// errNotFinite refuses infinities and NaN. ComfyUI accepts them, but no class can use them and JSON has no form for
// them.
var errNotFinite = errors.New("the number is not finite")

func parseFloat(s string) (float64, error) {
	f, err := strconv.ParseFloat(python.Digits(s), 64)
	switch {
	case err != nil && !math.IsInf(f, 0) || strings.ContainsAny(s, "xXpP"):
		return 0, fmt.Errorf("could not convert string to float: %s", python.Quote(s))
	case math.IsInf(f, 0) || math.IsNaN(f):
		return 0, errNotFinite
	}
	return f, nil
}

func truth(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case json.Number:
		f, err := v.Float64()
		return err != nil || f != 0
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	default:
		return true
	}
}

func pythonType(value any) string {
	switch value.(type) {
	case nil:
		return "NoneType"
	case []any:
		return "list"
	case map[string]any:
		return "dict"
	default:
		return fmt.Sprintf("%T", value)
	}
}
