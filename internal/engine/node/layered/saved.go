package layered

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

// saved is a composition that an editor keeps in a graph. It applies only to layers with its fingerprints.
type saved struct {
	width, height float64
	entries       []any
	fingerprints  []any
	background    *layers.Ground
	order         []int
}

// parseSaved reads a composition from an object or its JSON. It returns nil for anything else; only a text that is
// too long is an error.
func parseSaved(value node.Value) (*saved, error) {
	if text, ok := value.(string); ok {
		if len(text) > maxJSON {
			return nil, fault.New(fault.Invalid, fault.CodeInputType, "input compositor of %d bytes is too long; at most %d bytes are read",
				len(text), maxJSON)
		}
		parsed, err := readJSON(text)
		if err != nil {
			return nil, nil //nolint:nilerr // ComfyUI treats it as no composition
		}
		value = parsed
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, nil
	}
	if version := object["version"]; version != nil {
		if n, ok := number(version); !ok || n != 1 {
			return nil, nil
		}
	}
	canvas, _ := object["canvas"].(map[string]any)
	s := &saved{background: backgroundOf(object["background"])}
	s.entries, _ = object["layers"].([]any)
	s.fingerprints, _ = object["inputs"].([]any)
	w, wide := float(canvas["w"])
	h, high := float(canvas["h"])
	s.width, s.height = math.RoundToEven(w), math.RoundToEven(h)
	if !wide || !high || !(s.width > 0 && s.height > 0) || math.IsInf(w, 0) || math.IsInf(h, 0) || len(s.entries) == 0 {
		return nil, nil
	}
	s.order = orderOf(object["order"], len(s.entries))
	return s, nil
}

// isFor reports whether the composition was made of these layers.
func (s *saved) isFor(fingerprints []string) bool {
	if s == nil || len(s.entries) != len(fingerprints) || len(s.fingerprints) != len(fingerprints) {
		return false
	}
	for i, want := range fingerprints {
		if s.fingerprints[i] != any(want) {
			return false
		}
	}
	return true
}

// provided reports whether an editor has saved anything.
func provided(value node.Value) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) > 0
	case string:
		return v != "" && v != "{}"
	}
	return false
}

// orderOf returns the order of n layers, or nil for the order of the stack.
func orderOf(value any, n int) []int {
	list, ok := value.([]any)
	if !ok || len(list) != n {
		return nil
	}
	order := make([]int, n)
	for i, v := range list {
		at, ok := v.(int64)
		if !ok || at < 0 || at >= int64(n) {
			return nil
		}
		order[i] = int(at)
	}
	if sorted := slices.Sorted(slices.Values(order)); len(slices.Compact(sorted)) != n {
		return nil
	}
	return order
}

// backgroundOf returns the colour below all layers, or nil.
func backgroundOf(value any) *layers.Ground {
	object, ok := value.(map[string]any)
	if !ok || !truth(object, "visible", true) {
		return nil
	}
	return &layers.Ground{Color: colourOf(object["color"]), Opacity: within(finite(object, "opacity", 1), 0, 1)}
}

// colourOf parses a colour in the form #rgb or #rrggbb; anything else is white.
func colourOf(value any) [3]uint8 {
	white := [3]uint8{255, 255, 255}
	text, _ := value.(string)
	digits, ok := strings.CutPrefix(strings.TrimFunc(text, python.IsSpace), "#")
	if !ok {
		return white
	}
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) != 6 {
		return white
	}
	return [3]uint8{uint8(n >> 16), uint8(n >> 8), uint8(n)}
}

// placement reads the position of a layer, within bounds; missing members are the picture's own.
func placement(entry any, width, height int) (p layers.Placement, visible bool) {
	object, _ := entry.(map[string]any)
	transform, _ := object["transform"].(map[string]any)
	p = layers.Placement{
		X:        within(finite(transform, "x", 0), -layers.MaxSide, layers.MaxSide),
		Y:        within(finite(transform, "y", 0), -layers.MaxSide, layers.MaxSide),
		Width:    extent(finite(transform, "w", float64(width)), width),
		Height:   extent(finite(transform, "h", float64(height)), height),
		Rotation: finite(transform, "rotation", 0),
		Opacity:  within(finite(object, "opacity", 1), 0, 1),
		FlipH:    truth(object, "flipH", false), FlipV: truth(object, "flipV", false),
	}
	p.Mode, _ = object["blend"].(string) // an unknown mode means normal
	return p, truth(object, "visible", true)
}

func extent(v float64, own int) float64 {
	if v <= 0 {
		return float64(own)
	}
	return min(v, layers.MaxSide)
}

func within(v, least, most float64) float64 { return min(max(v, least), most) }

// finite returns a member that is a finite number, or the value or for anything else.
func finite(object map[string]any, key string, or float64) float64 {
	v, ok := number(object[key])
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return or
	}
	return v
}

// truth returns the truth value of a member in Python; if the member is missing, the value or.
func truth(object map[string]any, key string, or bool) bool {
	value, ok := object[key]
	if !ok {
		return or
	}
	switch v := value.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	n, ok := number(value)
	return !ok || n != 0
}
