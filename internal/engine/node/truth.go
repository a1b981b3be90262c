package node

import (
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Truth returns the truth value of a value in Python. A picture is an error.
func Truth(value Value) (bool, error) {
	switch v := value.(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	case int64:
		return v != 0, nil
	case float64:
		return v != 0, nil
	case string:
		return v != "", nil
	case []any:
		return len(v) > 0, nil
	case map[string]any:
		return len(v) > 0, nil
	case *raster.Image, *raster.Mask:
		refusal := fault.New(fault.Invalid, fault.CodeInputType, "a picture has no truth value; connect a number, a text, a list or a boolean")
		return false, refusal.Raising("RuntimeError", "Boolean value of Tensor with more than one value is ambiguous")
	}
	return true, nil
}
