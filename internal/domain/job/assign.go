package job

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/ordered"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Assignment changes one input of a graph. Target is "node.input"; Value is JSON.
type Assignment struct {
	Target string
	Value  json.RawMessage
}

// ParseAssignment parses "node.input=value". A value that is not JSON is taken as a string.
func ParseAssignment(text string) (Assignment, error) {
	target, value, ok := strings.Cut(text, "=")
	if !ok || !strings.Contains(strings.Trim(target, "."), ".") {
		return Assignment{}, fault.New(fault.Invalid, fault.CodeInvalidAssignment, "%q is not node.input=value", text)
	}
	if json.Valid([]byte(value)) {
		return Assignment{Target: target, Value: json.RawMessage(value)}, nil
	}
	raw, err := json.Marshal(value)
	return Assignment{Target: target, Value: raw}, err
}

// parseObject reads an object; the order of a graph's nodes matters.
func parseObject(raw json.RawMessage) ([]ordered.Member, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidAssignment, "the graph is not an object of objects")
	}
	return ordered.Members(raw)
}

func find(members []ordered.Member, name string) int {
	return slices.IndexFunc(members, func(m ordered.Member) bool { return m.Name == name })
}

// with returns raw with the member at path set to value. Only the last element of path may be absent.
func with(raw json.RawMessage, value json.RawMessage, path ...string) (json.RawMessage, error) {
	if len(path) == 0 {
		return value, nil
	}
	o, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	i := find(o, path[0])
	switch {
	case i < 0 && len(path) > 1:
		return nil, fault.New(fault.Invalid, fault.CodeInvalidAssignment, "the graph has no %s at the path", path[0])
	case i < 0:
		return ordered.Object(append(o, ordered.Member{Name: path[0], Raw: value})), nil
	}
	if o[i].Raw, err = with(o[i].Raw, value, path[1:]...); err != nil {
		return nil, err
	}
	return ordered.Object(o), nil
}

// Assign applies the assignments and returns the inputs that changed. Node ids and input names may contain dots; the
// longest matching node id wins.
func Assign(prompt json.RawMessage, changes []Assignment) (json.RawMessage, []string, error) {
	var changed []string
	for _, c := range changes {
		if !json.Valid(c.Value) {
			return nil, nil, fault.New(fault.Invalid, fault.CodeInvalidAssignment, "the value for %s is not JSON", c.Target)
		}
		nodes, err := parseObject(prompt)
		if err != nil {
			return nil, nil, err
		}
		node, input, ok := splitTarget(nodes, c.Target)
		if !ok {
			return nil, nil, fault.New(fault.Invalid, fault.CodeUnknownNode, "the graph has no node for %q (node.input)", c.Target)
		}
		if prompt, err = with(prompt, c.Value, node, "inputs", input); err != nil {
			return nil, nil, err
		}
		changed = append(changed, node+"."+input)
	}
	return prompt, changed, nil
}

func splitTarget(nodes []ordered.Member, target string) (node, input string, ok bool) {
	for at := len(target) - 1; at > 0; at-- {
		if target[at] == '.' && at < len(target)-1 && find(nodes, target[:at]) >= 0 {
			return target[:at], target[at+1:], true
		}
	}
	return "", "", false
}
