package text

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

// JsonExtractString takes one value out of a JSON object, as text. A value that is not an object, or has no such key,
// gives the empty text.
func JsonExtractString() *node.Class {
	return &node.Class{
		Name: "JsonExtractString", DisplayName: "Extract Text from JSON", Category: "text", Module: moduleString,
		Description:   "Takes the value of a key out of a JSON object, as text.",
		SearchAliases: []string{"json", "extract json", "parse json", "json value", "read json"},
		Inputs: []node.Input{
			multiline("json_string", "The JSON object."),
			{Name: "key", Type: node.String, Tooltip: "The key."},
		},
		Outputs: textOut(),
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			return bounded(member(call.String("json_string"), call.String("key")), nil)
		},
	}
}

// member returns the value of a key as Python's str prints it.
func member(source, key string) string {
	d := json.NewDecoder(strings.NewReader(source))
	d.UseNumber()
	v, err := ordered(d, maxNested)
	if _, more := d.Token(); err != nil || !errors.Is(more, io.EOF) {
		return ""
	}
	o, _ := v.(python.Object)
	switch v := o.Values[key].(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return formatScalar(v)
	}
}

// maxNested bounds the nesting of objects and lists.
const maxNested = 900

// ordered decodes one value and keeps the order of keys.
func ordered(d *json.Decoder, deep int) (any, error) {
	if deep == 0 {
		return nil, errors.New("too deep")
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		o := python.Object{Values: map[string]any{}}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ := key.(string) // the decoder returns only strings as keys
			if _, again := o.Values[name]; !again {
				o.Keys = append(o.Keys, name)
			}
			if o.Values[name], err = ordered(d, deep-1); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := ordered(d, deep-1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return t, nil
}

func formatScalar(v any) string {
	var parts []string
	switch v := v.(type) {
	case python.Object:
		for _, key := range v.Keys {
			parts = append(parts, python.Quote(key)+": "+formatScalar(v.Values[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, element := range v {
			parts = append(parts, formatScalar(element))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return python.Repr(v)
	}
}

// ConvertDictionaryToString writes an object as JSON.
func ConvertDictionaryToString() *node.Class {
	return written("ConvertDictionaryToString", "Convert Dictionary to String", "dictionary", "DICT", "dict to json")
}

// ConvertArrayToString writes a list as JSON.
func ConvertArrayToString() *node.Class {
	return written("ConvertArrayToString", "Convert Array to String", "array", "ARRAY", "list to json")
}

// maxIndent bounds the spaces of one level.
const maxIndent = 64

// written is a class that writes a structure as JSON.
func written(name, display, input string, kind node.Type, alias string) *node.Class {
	return &node.Class{
		Name: name, DisplayName: display, Category: "text", Module: moduleString,
		Description:   "Writes a structure as JSON, on lines of its own or on one.",
		SearchAliases: []string{"json", "stringify", "serialize", alias},
		Inputs: []node.Input{
			{Name: input, Type: kind, Tooltip: "The structure."},
			{Name: "indent", Type: node.Int, Default: 2, Min: 0, Max: 8, Tooltip: "The spaces of each level; 0 writes one line."},
		},
		Outputs: textOut(),
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			indent := call.Int("indent")
			if indent > maxIndent { // linked values are not checked against the input's range
				return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "an indentation of %d spaces is out of range", indent)
			}
			value := valueToShow(call, input)
			switch value.(type) {
			case map[string]any, []any, python.Object, nil, bool, int64, float64, string:
			default:
				return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "input %s cannot be written as JSON", input)
			}
			if indent <= 0 {
				return bounded(python.JSONLine(value, boxKeys...), nil)
			}
			return bounded(python.JSON(value, indent, boxKeys...), nil)
		},
	}
}
