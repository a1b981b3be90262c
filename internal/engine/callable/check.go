package callable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Problem is a value that an input does not accept.
type Problem struct {
	Input   string `json:"input"` // "" = no single input is the cause
	Reason  string `json:"reason"`
	Allowed string `json:"allowed,omitempty"`
}

// String returns the problem as a sentence without its full stop.
func (p Problem) String() string {
	text := p.Reason
	if p.Input != "" {
		text = fmt.Sprintf("input %q: %s", p.Input, p.Reason)
	}
	if p.Allowed != "" {
		text += "; allowed: " + p.Allowed
	}
	return text
}

// Invalid refuses the values of a call. It is fault.Invalid with CodeInvalidInput.
type Invalid struct {
	Problems []Problem
}

// maxListed bounds the problems in a message.
const maxListed = 10

// Error returns the problems as one text.
func (e *Invalid) Error() string {
	texts := make([]string, 0, maxListed)
	for _, p := range e.Problems[:min(len(e.Problems), maxListed)] {
		texts = append(texts, p.String())
	}
	if more := len(e.Problems) - maxListed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ") + "."
}

// Unwrap classifies the error.
func (e *Invalid) Unwrap() error {
	return fault.New(fault.Invalid, fault.CodeInvalidInput, "%s", e.Error()).WithDetails(map[string]any{"inputs": e.Problems})
}

// Form is the form in which a value names a file.
type Form string

// The forms of a file.
const (
	FormAsset Form = "asset" // the id of an asset
	FormHash  Form = "hash"  // the hash of its content, "blake3:<hex>"
	FormName  Form = "name"  // the name of an uploaded file
	FormData  Form = "data"  // a data: URL
	FormURL   Form = "url"   // an address of the web
)

// FileValue is a value that names a file. The caller finds or fetches the file.
type FileValue struct {
	Input string
	Kind  Kind
	Form  Form
	Value string
}

var (
	assetID  = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	fileHash = regexp.MustCompile(`^blake3:[0-9a-fA-F]{64}$`)
)

// FormOf returns the form in which a text names a file. The form alone does not mean that there is such a file.
func FormOf(text string) Form {
	scheme, _, _ := strings.Cut(text, ":")
	switch strings.ToLower(scheme) {
	case "data":
		return FormData
	case "http", "https":
		return FormURL
	}
	switch {
	case assetID.MatchString(text):
		return FormAsset
	case fileHash.MatchString(text):
		return FormHash
	}
	return FormName
}

// Check checks the values of a call, which are valid JSON. The error is nil, or an *Invalid that names every problem. files
// are the values that name files, in the order of the inputs. An input in links has a value of another graph, which that graph's
// validation checks.
func (t *Template) Check(values, links map[string]json.RawMessage) (files []FileValue, err error) {
	var refused Invalid
	for i := range t.Schema.Inputs {
		in := &t.Schema.Inputs[i]
		value, given := values[in.Name]
		if !given {
			if _, linked := links[in.Name]; in.Required() && !linked {
				refused.Problems = append(refused.Problems, Problem{in.Name, "a value is required", in.allowed()})
			}
			continue
		}
		if reason := in.check(value); reason != "" {
			refused.Problems = append(refused.Problems, Problem{in.Name, reason, in.allowed()})
			continue
		}
		if text := textOf(value); in.Kind.IsFile() && !slices.Contains(in.Choices, text) {
			files = append(files, FileValue{in.Name, in.Kind, FormOf(text), text})
		}
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(links))) {
		if _, known := t.names[name]; !known {
			refused.Problems = append(refused.Problems, Problem{clipped(name), "there is no such input", t.Schema.names()})
		}
	}
	if refused.Problems != nil {
		return nil, &refused
	}
	return files, nil
}

func textOf(value json.RawMessage) (text string) {
	_ = json.Unmarshal(value, &text) // the caller knows that it is a text
	return text
}

// maxShown bounds a text that an error repeats, in bytes.
const maxShown = 200

func clipped(text string) string { return fault.Shorten(text, maxShown) }

// names lists the names of the inputs.
func (s *Schema) names() string {
	if len(s.Inputs) == 0 {
		return "none; the deployment takes no inputs"
	}
	names := make([]string, len(s.Inputs))
	for i, in := range s.Inputs {
		names[i] = in.Name
	}
	return listed(names)
}

// listed joins texts, of a long list only the first.
func listed(texts []string) string {
	if more := len(texts) - 2*maxListed; more > 0 {
		texts = append(slices.Clone(texts[:2*maxListed]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// check returns why an input does not accept a value, or "".
func (in *Input) check(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	switch in.Kind {
	case Any:
		return ""
	case Boolean:
		if value[0] != 't' && value[0] != 'f' {
			return "it takes true or false, not " + described(value)
		}
	case Integer, Number:
		return in.checkNumber(value)
	default:
		if value[0] != '"' {
			return "it takes a text, not " + described(value)
		}
		text := textOf(value)
		switch {
		case in.Kind == Choice && !slices.Contains(in.Choices, text):
			return fmt.Sprintf("%q is none of the choices", clipped(text))
		case in.Kind.IsFile() && text == "":
			return "the text that names a file is empty"
		}
	}
	return ""
}

func (in *Input) checkNumber(value []byte) string {
	if value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		return "it takes a number, not " + described(value)
	}
	number, ok := parseNumber(string(value))
	if !ok {
		return fmt.Sprintf("the number %s has too many digits", clipped(string(value)))
	}
	if in.Kind == Integer && !number.IsInt() {
		return fmt.Sprintf("it takes an integer, not %s", clipped(string(value)))
	}
	if low, bounded := parseNumber(string(in.Minimum)); bounded && number.Cmp(low) < 0 {
		return fmt.Sprintf("%s is less than %s", clipped(string(value)), in.Minimum)
	}
	if high, bounded := parseNumber(string(in.Maximum)); bounded && number.Cmp(high) > 0 {
		return fmt.Sprintf("%s is more than %s", clipped(string(value)), in.Maximum)
	}
	return ""
}

// Limits on the text of a number. Comparing 1e999999999 exactly would take a billion digits, and every numeric input has bounds that
// exclude it anyway.
const (
	maxDigits   = 400
	maxExponent = 800
)

// parseNumber returns the value of a JSON number: the exact one, unless its exponent is beyond the bounds.
func parseNumber(text string) (*big.Rat, bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if text == "" || len(mantissa) > maxDigits {
		return nil, false
	}
	number, ok := new(big.Rat).SetString(mantissa)
	if !ok || exponent == "" || number.Sign() == 0 {
		return number, ok
	}
	e, err := strconv.Atoi(exponent)
	if err != nil {
		e = maxExponent
		if exponent[0] == '-' {
			e = -maxExponent
		}
	}
	return new(big.Rat).SetString(mantissa + "e" + strconv.Itoa(min(max(e, -maxExponent), maxExponent)))
}

// described names the kind of a JSON value.
func described(value []byte) string {
	switch value[0] {
	case '"':
		return "a text"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// allowed describes the values that the input accepts.
func (in *Input) allowed() string {
	switch in.Kind {
	case Boolean:
		return "true or false"
	case Choice:
		return listed(in.Choices)
	case Text:
		return "a text"
	case Any:
		return "any JSON value"
	case Integer, Number:
		return in.allowedNumbers()
	default:
		text := "the id or hash of an asset, the name of an uploaded file, a data: URL or an https: URL"
		if len(in.Choices) > 0 {
			text += ", or " + listed(in.Choices)
		}
		return text
	}
}

func (in *Input) allowedNumbers() string {
	noun := map[Kind]string{Integer: "an integer", Number: "a number"}[in.Kind]
	switch {
	case in.Minimum != "" && in.Maximum != "":
		return fmt.Sprintf("%s from %s to %s", noun, in.Minimum, in.Maximum)
	case in.Minimum != "":
		return fmt.Sprintf("%s of at least %s", noun, in.Minimum)
	case in.Maximum != "":
		return fmt.Sprintf("%s of at most %s", noun, in.Maximum)
	}
	return noun
}

// Explain returns an error of a graph's validation in words of inputs: a *graph.PromptError becomes an *Invalid without ids
// and inputs of nodes. Other errors stay as they are.
func (s *Schema) Explain(err error) error {
	var refused *graph.PromptError
	if !errors.As(err, &refused) {
		return err
	}
	var e Invalid
	for _, n := range refused.NodeErrors {
		for _, broken := range n.Errors {
			field, _ := broken.ExtraInfo["input_name"].(string)
			p := Problem{Reason: broken.Message}
			if name, ok := s.InputOf(n.Node, field); ok {
				p.Input = name
				if in, _ := s.Input(name); true {
					p.Allowed = in.allowed()
				}
			} else {
				p.Reason = fmt.Sprintf("a node of class %s cannot run: %s", n.Class, broken.Message)
			}
			if !slices.Contains(e.Problems, p) {
				e.Problems = append(e.Problems, p)
			}
		}
	}
	if e.Problems == nil {
		e.Problems = []Problem{{Reason: refused.Message}}
	}
	return &e
}
