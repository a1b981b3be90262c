package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/node"
	"github.com/millrace-dev/millrace/internal/node/python"
)

// convert turns a constant into the declared type as Python's int(), float(), str() and bool() do
// (node graph semantics, section 1.4). Other types pass as they are.
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
		return plain(value), nil
	}
}

// errTooLarge has the wording that clients know.
var errTooLarge = errors.New("Python int too large to convert to C long") //nolint:staticcheck // see above

func toInt(value any) (int64, error) {
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		f, err := v.Float64()
		if err != nil || math.Abs(f) >= 1<<63 {
			return 0, errTooLarge
		}
		return int64(f), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case string:
		i, err := strconv.ParseInt(python.Digits(v), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return 0, errTooLarge
		}
		if err != nil {
			return 0, fmt.Errorf("invalid literal for int() with base 10: %s", python.Quote(v))
		}
		return i, nil
	default:
		return 0, fmt.Errorf("int() argument must be a string, a bytes-like object or a real number, not '%s'", pythonType(v))
	}
}

func toFloat(value any) (float64, error) {
	switch v := value.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return 0, errNotFinite
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

// errNotFinite refuses infinities and NaN, which the reference lets through: no class can use
// them and no JSON can carry them.
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
