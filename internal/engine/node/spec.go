package node

import (
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"
)

// Number is a number in a definition. A float keeps its decimal point, by which clients distinguish INT from FLOAT
// widgets.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(n), 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return []byte(text), nil
}

// Spec returns an input in the form of definitions and validation errors: [type, {options}], or for a combo of the
// older schema [[option, …], {options}]. options are the choices of a combo.
func (in Input) Spec(options []string, schemaV3 bool) []any {
	if in.Declared != nil {
		return in.declared(options)
	}
	opts := in.options()
	if schemaV3 && in.Type == String {
		opts["multiline"] = in.Multiline
	}
	if in.Type != Combo || in.Extra["remote"] != nil { // the editor fetches the choices of a remote combo from a route
		return []any{in.Type, opts}
	}
	if options == nil {
		options = []string{}
	}
	if !schemaV3 {
		return []any{options, opts}
	}
	opts["options"], opts["multiselect"] = options, false
	return []any{Combo, opts}
}

// declared returns the specification as the class declares it, with these choices of a combo.
func (in Input) declared(choices []string) []any {
	spec := make([]any, len(in.Declared))
	for i, part := range in.Declared {
		spec[i] = part
	}
	if choices == nil {
		choices = []string{}
	}
	switch {
	case in.Type != Combo:
	case !strings.HasPrefix(string(in.Declared[0]), `"`):
		spec[0] = choices
	case len(spec) > 1:
		opts := map[string]json.RawMessage{}
		raw, err := json.Marshal(choices)
		if err = errors.Join(err, json.Unmarshal(in.Declared[1], &opts)); err == nil {
			opts["options"], spec[1] = raw, opts
		}
	}
	return spec
}

// options returns the declared options by their keys in a definition.
func (in Input) options() map[string]any {
	opts := map[string]any{}
	for key, value := range map[string]any{
		"default": in.Default, "min": in.Min, "max": in.Max, "step": in.Step, "round": in.Round,
		"control_after_generate": in.Control,
	} {
		if value != nil {
			opts[key] = formatValue(value)
		}
	}
	for key, set := range map[string]bool{
		"multiline": in.Multiline, "dynamicPrompts": in.DynamicPrompts, "lazy": in.Lazy,
		"forceInput": in.ForceInput, "advanced": in.Advanced, "socketless": in.Socketless,
	} {
		if set {
			opts[key] = true
		}
	}
	for key, text := range map[string]string{
		"display": in.Display, "display_name": in.DisplayName, "placeholder": in.Placeholder,
		"tooltip": in.Tooltip,
	} {
		if text != "" {
			opts[key] = text
		}
	}
	if in.MatchTemplate != "" {
		opts["template"] = map[string]any{"template_id": in.MatchTemplate, "allowed_types": Any}
	}
	maps.Copy(opts, in.Extra)
	return opts
}

func formatValue(value any) any {
	if f, ok := value.(float64); ok {
		return Number(f)
	}
	return value
}
