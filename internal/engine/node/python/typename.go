package python

import (
	"encoding/json"
	"strings"
)

// TypeName returns the name of the type that Python gives to a value of a JSON document.
func TypeName(value any) string {
	switch v := value.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case string:
		return "str"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "float"
		}
		return "int"
	case float64:
		return "float"
	case map[string]any:
		return "dict"
	case []any:
		return "list"
	}
	return "int"
}
