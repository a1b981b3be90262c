package graph

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/node"
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
		return toText(value), nil
	case node.Boolean:
		return truth(value), nil
	default:
		return plain(value), nil
	}
}

func toInt(value any) (int64, error) {
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		f, err := v.Float64()
		if err != nil || math.Abs(f) >= 1<<63 {
			return 0, fmt.Errorf("Python int too large to convert to C long") //nolint:staticcheck // the wording clients know
		}
		return int64(f), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case string:
		i, err := strconv.ParseInt(pythonDigits(v), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("invalid literal for int() with base 10: %s", repr(v))
		}
		return i, nil
	default:
		return 0, fmt.Errorf("int() argument must be a string, a bytes-like object or a real number, not '%s'", pythonType(v))
	}
}

func toFloat(value any) (float64, error) {
	switch v := value.(type) {
	case json.Number:
		return v.Float64()
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case string:
		f, err := strconv.ParseFloat(pythonDigits(v), 64)
		if err != nil && !math.IsInf(f, 0) || strings.ContainsAny(v, "xXpP") {
			return 0, fmt.Errorf("could not convert string to float: %s", repr(v))
		}
		return f, nil
	default:
		return 0, fmt.Errorf("float() argument must be a string or a real number, not '%s'", pythonType(v))
	}
}

// pythonDigits accepts what Python does around and between digits: blanks and single underscores.
func pythonDigits(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return "" // not a number
	}
	return strings.ReplaceAll(s, "_", "")
}

func toText(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	return repr(value)
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

// repr renders a value as Python shows it in error texts.
func repr(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return quote(v)
	case json.Number:
		return v.String()
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = repr(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		return reprDict(v)
	default:
		return fmt.Sprint(v)
	}
}

func reprDict(m map[string]any) string {
	parts := make([]string, 0, len(m))
	for _, k := range sortedKeys(m) {
		parts = append(parts, quote(k)+": "+repr(m[k]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// quote writes a string in single quotes, or in double ones when it holds only single ones.
func quote(s string) string {
	mark := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = `"`
	}
	r := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, mark, `\`+mark)
	return mark + r.Replace(s) + mark
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
