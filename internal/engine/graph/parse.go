package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Parse reads a prompt in API format: one JSON object of nodes by id, within the limits and without repeated keys.
// Anything else is fault.Invalid with CodeInvalid, and a graph in the editor's save format fault.Invalid with
// CodeUIFormat. Parse accepts unknown classes and bad inputs, which Validate refuses.
func Parse(raw json.RawMessage, limits Limits) (*Graph, error) {
	limits = limits.withDefaults()
	if len(raw) > limits.MaxBytes {
		return nil, invalid("the workflow is larger than %d bytes", limits.MaxBytes)
	}
	if depth(raw) > limits.MaxDepth {
		return nil, invalid("the workflow is nested deeper than %d levels", limits.MaxDepth)
	}
	if err := json.Unmarshal(raw, &json.RawMessage{}); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidWorkflow, "the workflow is not valid JSON: %s", err)
	}
	text := bytes.TrimSpace(raw)
	if text[0] != '{' {
		return nil, invalid("the workflow must be a JSON object of nodes by id")
	}
	members, err := membersOf(text)
	if err != nil {
		return nil, err
	}
	if isUIFormat(members) {
		return nil, fault.New(fault.Invalid, fault.CodeWorkflowFormatUI,
			"the workflow is in the editor's save format; export it in API format")
	}
	if len(members) > limits.MaxNodes {
		return nil, invalid("the workflow has %d nodes; at most %d are allowed", len(members), limits.MaxNodes)
	}
	g, err := parseNodes(members, limits.MaxInputs)
	if err != nil {
		return nil, err
	}
	g.size = len(raw)
	return g, nil
}

func invalid(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, fault.CodeInvalidWorkflow, format, args...)
}

// maxName bounds the ids and classes of nodes, in bytes, because errors, events and messages repeat them.
const maxName = 256

func parseNodes(members []member, maxInputs int) (*Graph, error) {
	g := &Graph{Nodes: make([]*Node, len(members)), byID: make(map[string]*Node, len(members))}
	for i, m := range members {
		n := &Node{ID: m.key}
		if err := n.parse(m.value); err != nil {
			return nil, err
		}
		if n.ID == "" {
			return nil, invalid("the id of a node must not be empty")
		}
		if !named(n.ID) || !named(n.Class) {
			return nil, invalid("node %.64q: its id or class is longer than %d bytes or contains a NUL", n.ID, maxName)
		}
		if maxInputs -= len(n.Inputs); maxInputs < 0 {
			return nil, invalid("the nodes of the workflow have too many inputs in total")
		}
		g.Nodes[i], g.byID[n.ID] = n, n
	}
	return g, nil
}

func named(name string) bool { return len(name) <= maxName && !strings.ContainsRune(name, 0) }

// parse fills a node. A node that is not an object has no class, which Validate reports.
func (n *Node) parse(value []byte) error {
	if value[0] != '{' {
		return nil
	}
	fields, err := membersOf(value)
	if err != nil {
		return err
	}
	for _, f := range fields {
		switch f.key {
		case "class_type":
			n.Class, _ = textOf(f.value)
		case "_meta":
			n.Title = titleOf(f.value)
		case "inputs":
			if err := n.parseInputs(f.value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *Node) parseInputs(value []byte) error {
	if value[0] != '{' {
		return nil
	}
	members, err := membersOf(value)
	if err != nil {
		return err
	}
	n.HasInputs = true
	n.Inputs = make([]Given, len(members))
	for i, m := range members {
		decoded, err := decode(m.value)
		if err != nil {
			return err
		}
		n.Inputs[i] = Given{Name: m.key, Value: decoded}
	}
	return nil
}

func titleOf(value []byte) string {
	if value[0] != '{' {
		return ""
	}
	fields, err := membersOf(value)
	if err != nil {
		return "" // nothing depends on the title, so a bad one is ignored
	}
	for _, f := range fields {
		if f.key == "title" {
			title, _ := textOf(f.value)
			return shortened(title)
		}
	}
	return ""
}

// isUIFormat recognises the editor's save format, which has the lists "nodes" and "links".
func isUIFormat(members []member) bool {
	nodes, links := false, false
	for _, m := range members {
		nodes = nodes || m.key == "nodes" && m.value[0] == '['
		links = links || m.key == "links"
	}
	return nodes && links
}

// depth returns the nesting of objects and lists. For text that is not JSON the number has no meaning.
func depth(raw []byte) int {
	open, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted:
			if c == '\\' {
				i++
			}
			quoted = c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return deepest
}

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
