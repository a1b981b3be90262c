package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

// longList is the number of options above which an error does not list them.
const longList = 20

// listLimit bounds the files of an account that count as options of one input.
const listLimit = 10_000

// checkInputs checks a node's own inputs, required ones first, and collects its links. It stops at a link to a node or
// slot that does not exist and sets f.raised.
func (w *walk) checkInputs(f *frame) {
	if !f.node.HasInputs {
		f.raised = errors.New("KeyError: 'inputs'")
		return
	}
	inputs := f.node.declared(f.class)
	for _, section := range []node.Section{node.Required, node.Optional, node.Undeclared} {
		for _, in := range inputs {
			if in.Section == section && f.raised == nil {
				w.checkInput(f, in)
			}
		}
	}
}

func (w *walk) checkInput(f *frame, in node.Input) {
	raw, given := f.node.Input(in.Name)
	if !given {
		if in.Section == node.Required {
			f.fail(InputError{
				Type: "required_input_missing", Message: "Required input is missing", Details: in.Name[strings.LastIndex(in.Name, ".")+1:],
				ExtraInfo: map[string]any{"input_name": in.Name},
			})
		}
		return
	}
	if list, ok := wrapped(raw); ok {
		w.checkConstant(f, in, list)
		return
	}
	ref, isList, good := asReference(raw)
	switch {
	case !isList:
		w.checkConstant(f, in, raw)
	case !good && w.raises(f, raw):
	case !good:
		f.fail(InputError{
			Type:    "bad_linked_input",
			Message: "Bad linked input, must be a length-2 list of [node_id, slot_index]", Details: in.Name,
			ExtraInfo: map[string]any{"input_name": in.Name, "input_config": f.config(in, in.Options), "received_value": quoted(raw)},
		})
	default:
		w.checkLink(f, in, raw, ref)
	}
}

// raises sets the exception that ComfyUI raises for a list of two elements that is not a link: ComfyUI takes such a
// list for a link.
func (w *walk) raises(f *frame, raw any) bool {
	list, _ := raw.([]any)
	if len(list) != 2 {
		return false
	}
	id, isText := list[0].(string)
	from, ok := w.g.byID[id]
	switch {
	case !isText:
		f.raised = fmt.Errorf("KeyError: %s", shortenedRepr(list[0]))
	case !ok:
		f.raised = fmt.Errorf("KeyError: %s", python.Quote(shortened(id)))
	default:
		class, _ := from.classIn(w.v.Classes)
		f.raised = fmt.Errorf("TypeError: %s indices must be integers or slices, not %s", outputsIn(class), python.TypeName(list[1]))
	}
	return true
}

// outputsIn returns the Python type in which ComfyUI keeps the outputs of a class.
func outputsIn(class *node.Class) string {
	if class.SchemaV3() {
		return "list"
	}
	return "tuple"
}

func (w *walk) checkLink(f *frame, in node.Input, raw any, ref reference) {
	from, ok := w.g.byID[ref.node]
	if !ok {
		f.raised = fmt.Errorf("KeyError: %s", python.Quote(ref.node))
		return
	}
	class, _ := from.classIn(w.v.Classes)
	if ref.slot < 0 && ref.slot >= -len(class.Outputs) { // counted from the last output
		ref.slot += len(class.Outputs)
	}
	if ref.slot < 0 || ref.slot >= len(class.Outputs) && !class.MoreOutputs {
		f.raised = fmt.Errorf("IndexError: %s index out of range", outputsIn(class))
		return
	}
	received := node.Any
	if ref.slot < len(class.Outputs) {
		received = class.Outputs[ref.slot].Type
	}
	if !compatible(received, in.Type) {
		f.fail(InputError{
			Type: "return_type_mismatch", Message: "Return type mismatch between linked nodes",
			Details: fmt.Sprintf("%s, received_type(%s) mismatch input_type(%s)", in.Name, received, in.Type),
			ExtraInfo: map[string]any{
				"input_name": in.Name, "input_config": f.config(in, in.Options), "received_type": received, "linked_node": raw,
			},
		})
		return
	}
	f.links = append(f.links, linked{input: in, value: raw, from: ref.node})
}

// matchType is the type of an input or output that takes the type of the output or input at the other end of its
// link.
const matchType node.Type = "COMFY_MATCHTYPE_V3"

// compatible reports whether an output of one type may feed an input of another.
func compatible(received, wanted node.Type) bool {
	if received == wanted || received == node.Any || wanted == node.Any || received == matchType || wanted == matchType {
		return true
	}
	wantedTypes := strings.Split(string(wanted), ",")
	for t := range strings.SplitSeq(string(received), ",") {
		if slices.ContainsFunc(wantedTypes, func(w string) bool { return strings.TrimSpace(w) == strings.TrimSpace(t) }) {
			return true
		}
	}
	return false
}

func (w *walk) checkConstant(f *frame, in node.Input, raw any) {
	value, err := convert(in.Type, raw)
	var large tooLarge
	if errors.As(err, &large) && !slices.Contains(f.class.Checked, in.Name) && f.checkLarge(in, large.n) {
		return
	}
	if err != nil {
		f.fail(InputError{
			Type: "invalid_input_type", Message: fmt.Sprintf("Failed to convert an input value to a %s value", in.Type),
			Details: fmt.Sprintf("%s, %s, %s", in.Name, shortened(python.Str(raw)), shortened(err.Error())),
			ExtraInfo: map[string]any{
				"input_name": in.Name, "input_config": f.config(in, in.Options), "received_value": quoted(raw),
				"exception_message": shortened(err.Error()),
			},
		})
		return
	}
	if slices.Contains(f.class.Checked, in.Name) {
		return
	}
	w.checkRange(f, in, value)
	if in.Type == node.Combo {
		w.checkOption(f, in, raw)
	}
}

func (w *walk) checkRange(f *frame, in node.Input, value node.Value) {
	got, ok := asFloat(value)
	if !ok {
		return
	}
	if low, ok := asFloat(in.Min); ok && got < low {
		f.outOfRange(in, below, python.Repr(value), value)
	}
	if high, ok := asFloat(in.Max); ok && got > high {
		f.outOfRange(in, above, python.Repr(value), value)
	}
}

// checkLarge reports an integer of more than 64 bits as out of range, if the input has a bound on that side. Seeds of
// classes of servers go up to the largest unsigned 64-bit integer.
func (f *frame) checkLarge(in node.Input, n *big.Int) bool {
	most, unsigned := in.Max.(uint64)
	switch {
	case unsigned && f.class.Remote && n.Sign() > 0 && n.Cmp(new(big.Int).SetUint64(most)) <= 0:
	case n.Sign() < 0 && in.Min != nil:
		f.outOfRange(in, below, n.String(), n)
	case n.Sign() > 0 && in.Max != nil:
		f.outOfRange(in, above, n.String(), n)
	default:
		return false
	}
	return true
}

// side is the bound of an input that a value exceeds.
type side bool

const (
	below side = false
	above side = true
)

func (f *frame) outOfRange(in node.Input, s side, shown string, received any) {
	kind, text, bound := "value_smaller_than_min", "Value %s smaller than min of %s", in.Min
	if s == above {
		kind, text, bound = "value_bigger_than_max", "Value %s bigger than max of %s", in.Max
	}
	f.fail(InputError{
		Type: kind, Message: fmt.Sprintf(text, shortened(shown), python.Repr(bound)), Details: in.Name,
		ExtraInfo: map[string]any{"input_name": in.Name, "input_config": f.config(in, in.Options), "received_value": received},
	})
}

func (w *walk) checkOption(f *frame, in node.Input, raw any) {
	options := w.options(in)
	text, isText := raw.(string)
	if isText && (slices.Contains(options, text) || f.class.Remote && w.weight(in, text)) {
		return
	}
	shown, spec := "(list of length "+strconv.Itoa(len(options))+")", any(nil)
	if len(options) <= longList {
		shown, spec = python.Repr(options), f.config(in, options)
	}
	f.fail(InputError{
		Type: "value_not_in_list", Message: "Value not in list",
		Details:   fmt.Sprintf("%s: %s not in %s", in.Name, shortenedRepr(raw), shown),
		ExtraInfo: map[string]any{"input_name": in.Name, "input_config": spec, "received_value": quoted(raw)},
	})
}

// weight reports whether a choice that no server has is a weight that can be brought to a server.
func (w *walk) weight(in node.Input, choice string) bool {
	if !in.MayBeWeight(choice) {
		return false
	}
	names, err := w.files.List(w.ctx, node.FolderModels, listLimit)
	if err != nil {
		w.failed = fmt.Errorf("list the weights for input %s: %w", in.Name, err)
	}
	return slices.ContainsFunc(names, func(path string) bool {
		folder, name, _ := strings.Cut(path, "/")
		return name == choice && (in.Weights == folder || in.Weights == node.AnyFolder)
	})
}

// shortenedRepr returns a value as Python's repr writes it; of a long value, only the beginning.
func shortenedRepr(raw any) string {
	if text, ok := raw.(string); ok {
		return python.Repr(shortened(text))
	}
	return shortened(python.Repr(raw))
}

// options returns the choices of a combo: the declared ones, or the caller's files in a folder.
func (w *walk) options(in node.Input) []string {
	if in.Folder == "" {
		return in.Options
	}
	names, err := w.files.List(w.ctx, in.Folder, listLimit)
	if err != nil {
		w.failed = fmt.Errorf("list the files of folder %s: %w", in.Folder, err)
		return nil
	}
	if in.Directory {
		names = node.Directories(names)
	}
	return append(slices.Clone(in.Options), names...)
}

// config returns the specification of an input for errors, without the files of the account. It has options even if the class
// declares none.
func (f *frame) config(in node.Input, choices []string) []any {
	spec := in.Spec(choices, f.class.SchemaV3())
	if len(spec) == 1 {
		spec = append(spec, struct{}{})
	}
	return spec
}

// maxQuoted bounds the length of a value in an error.
const maxQuoted = 1024

// quoted returns a value for use in an error. A value with a number that JSON readers cannot hold, such as 1e999,
// becomes text, so that clients can read the error.
func quoted(raw any) any {
	text := python.Str(raw)
	if len(text) > maxQuoted || !readable(raw) {
		return shortened(text)
	}
	return raw
}

func readable(raw any) bool {
	var back any
	encoded, err := json.Marshal(raw)
	return err == nil && json.Unmarshal(encoded, &back) == nil
}

func shortened(text string) string { return fault.Shorten(text, maxQuoted) }

func asFloat(value any) (float64, bool) {
	switch v := value.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
