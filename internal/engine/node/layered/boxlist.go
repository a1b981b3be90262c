package layered

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	// maxJSON bounds the bytes of a text with JSON.
	maxJSON = 1 << 20
	// farthest bounds positions and sizes in pixels, so that sums of them are exact.
	farthest = 1 << 40
)

// box is the position and size of an image. The zero value is the corner, with the image's size.
type box struct {
	x, y, width, height int
	about               map[string]any
}

// boxesOf reads boxes from a box, a list of boxes, a list of such lists, of which only the first counts, a list of
// elements, or JSON of any of these.
func boxesOf(value node.Value, canvas layers.Size) ([]box, error) {
	for range 2 { // the JSON may be a string that itself holds JSON
		text, ok := value.(string)
		if !ok {
			break
		}
		if text = strings.TrimFunc(text, python.IsSpace); text == "" {
			return nil, nil
		}
		var err error
		if value, err = readJSON(text); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, fault.CodeInputType, "input bboxes is a text that is not JSON")
		}
	}
	if (canvas.Width <= 0 || canvas.Height <= 0) && holdsElement(value) {
		return nil, fault.New(fault.Invalid, fault.CodeInputType,
			"boxes of elements are relative to a canvas; set canvas_width and canvas_height")
	}
	list, ok := value.([]any)
	if !ok {
		if _, single := value.(map[string]any); !single {
			return nil, noBoxes()
		}
		list = []any{value}
	}
	if len(list) == 0 {
		return nil, nil
	}
	if nested, ok := list[0].([]any); ok {
		return pixelBoxes(nested)
	}
	first, ok := list[0].(map[string]any)
	switch {
	case !ok:
		return nil, noBoxes()
	case isElement(first):
		return elementBoxes(list, canvas)
	case has(first, "x", "y", "width", "height"):
		return pixelBoxes(list)
	}
	return nil, noBoxes()
}

func noBoxes() error {
	return fault.New(fault.Invalid, fault.CodeInputType,
		"input bboxes must hold boxes (x, y, width, height), elements (bbox), or JSON of these")
}

// readJSON reads one JSON value of bounded size.
func readJSON(text string) (any, error) {
	if len(text) > maxJSON {
		return nil, fault.New(fault.Invalid, fault.CodeInputType, "JSON of %d bytes is too long; at most %d bytes are read", len(text), maxJSON)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fault.New(fault.Invalid, fault.CodeInputType, "the text continues after the end of its JSON value")
	}
	return node.PlainJSON(value), nil
}

func has(object map[string]any, keys ...string) bool {
	for _, key := range keys {
		if _, ok := object[key]; !ok {
			return false
		}
	}
	return true
}

// holdsElement reports whether a box is an element, or a list contains one: an object with a bbox.
func holdsElement(value any) bool {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	if len(list) > 0 {
		if nested, ok := list[0].([]any); ok {
			list = nested
		}
	}
	return slices.ContainsFunc(list, func(value any) bool {
		object, _ := value.(map[string]any)
		_, ok := object["bbox"].([]any)
		return ok
	})
}

func isElement(object map[string]any) bool {
	list, ok := object["bbox"].([]any)
	return ok && len(list) == 4
}

// pixelBoxes reads boxes in pixels. It skips values that are not objects.
func pixelBoxes(list []any) ([]box, error) {
	var boxes []box
	for _, value := range list {
		object, ok := value.(map[string]any)
		if !ok {
			continue
		}
		var b box
		for key, to := range map[string]*int{"x": &b.x, "y": &b.y, "width": &b.width, "height": &b.height} {
			var err error
			if *to, err = truncated(object[key], 0); err != nil {
				return nil, err
			}
		}
		b.about, _ = object["metadata"].(map[string]any)
		boxes = append(boxes, b)
	}
	return boxes, nil
}

// elementBoxes returns the boxes of elements, which are top, left, bottom and right in thousandths of the canvas.
func elementBoxes(list []any, canvas layers.Size) ([]box, error) {
	var boxes []box
	for _, value := range list {
		object, ok := value.(map[string]any)
		if !ok {
			continue
		}
		if !isElement(object) {
			return nil, noBoxes()
		}
		var edges [4]float64
		for i, v := range object["bbox"].([]any) { //nolint:forcetypeassert // checked by isElement
			n, ok := float(v)
			if !ok || !(math.Abs(n) <= farthest) {
				return nil, fault.New(fault.Invalid, fault.CodeInputType, "each bbox in input bboxes must hold four numbers")
			}
			edges[i] = n / 1000
		}
		round := func(v float64, by int) int { return int(math.RoundToEven(v * float64(by))) }
		boxes = append(boxes, box{
			x: round(min(edges[1], edges[3]), canvas.Width), y: round(min(edges[0], edges[2]), canvas.Height),
			width:  round(math.Abs(edges[3]-edges[1]), canvas.Width),
			height: round(math.Abs(edges[2]-edges[0]), canvas.Height),
			about:  map[string]any{"desc": object["desc"]},
		})
	}
	return boxes, nil
}

// truncated returns the whole part of a number, or the value or for anything else.
func truncated(value any, or int) (int, error) {
	f := float64(or)
	switch v := value.(type) {
	case int64:
		f = float64(v)
	case float64:
		f = v
	}
	if !(math.Abs(f) <= farthest) {
		return 0, fault.New(fault.Invalid, fault.CodeInputType, "input bboxes has a number out of range: %g", f)
	}
	return int(f), nil
}

// float returns what Python's float() makes of a value, and false if that fails.
func float(value any) (float64, bool) {
	if text, ok := value.(string); ok {
		f, err := strconv.ParseFloat(strings.TrimFunc(text, python.IsSpace), 64)
		return f, err == nil
	}
	return number(value)
}

// number returns a number, or a boolean as 0 or 1.
func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}
