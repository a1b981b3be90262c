// Package remote makes node classes from the definitions of ComfyUI servers. It keeps one promise: a graph that
// passes validation against these classes names only classes and choices that at least one of the servers has. Values
// that only a server can check are left to the server; running such classes is left to other packages.
package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/ordered"
)

// Definition is a class as one server defines it.
type Definition struct {
	Name    string
	inputs  []input
	outputs []node.Output
	head    head
	raw     json.RawMessage
	others  []json.RawMessage // the definitions of the class on other servers
}

// Module returns the Python module that defines the class: a node pack or a part of ComfyUI.
func (d *Definition) Module() string { return d.head.Module }

// Raw returns the definition as the server wrote it.
func (d *Definition) Raw() json.RawMessage { return d.raw }

// head holds the members of a definition besides its inputs and outputs.
type head struct {
	DisplayName  string          `json:"display_name"`
	Description  string          `json:"description"`
	Module       string          `json:"python_module"`
	Category     string          `json:"category"`
	OutputNode   bool            `json:"output_node"`
	Intermediate bool            `json:"has_intermediate_output"`
	InputIsList  bool            `json:"is_input_list"`
	Deprecated   bool            `json:"deprecated"`
	Experimental bool            `json:"experimental"`
	Aliases      []string        `json:"search_aliases"`
	Input        json.RawMessage `json:"input"`
	Output       []outputType    `json:"output"`
	OutputIsList []bool          `json:"output_is_list"`
	OutputName   []outputType    `json:"output_name"` // the types, if the pack gives no names
	Tooltips     []*string       `json:"output_tooltips"`
	MatchTypes   []*string       `json:"output_matchtypes"`
}

// outputType is the type of an output; older classes may give a list of choices instead.
type outputType node.Type

// UnmarshalJSON implements json.Unmarshaler.
func (t *outputType) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(node.Combo)
	}
	*t = outputType(text)
	return nil
}

// input is an input with its choices. checked reports whether its values can be checked here.
type input struct {
	node.Input
	open   bool     // values are not checked, because only the server knows the choices
	listed []string // the choices of an input that offers files, as the server lists them
}

// maxName bounds the name of a class, in bytes. The longest of published node packs have about a hundred.
const maxName = 256

// checkName refuses a name that no graph can use, or that would make messages and pages unreadable.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("a class has no name")
	case len(name) > maxName:
		return fmt.Errorf("class %q…: its name has %d bytes, more than %d", name[:40], len(name), maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }):
		return fmt.Errorf("class %q: its name has characters that are not text", name)
	}
	return nil
}

// Parse reads the definition of a class. A malformed definition is an error.
func Parse(name string, raw json.RawMessage) (*Definition, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	d := &Definition{Name: name, raw: raw}
	if err := json.Unmarshal(raw, &d.head); err != nil {
		return nil, fmt.Errorf("class %s: %w", name, err)
	}
	sections := []struct {
		name string
		is   node.Section
	}{{"required", node.Required}, {"optional", node.Optional}, {"hidden", node.Hidden}}
	var bySection map[string]json.RawMessage
	if len(d.head.Input) > 0 {
		if err := json.Unmarshal(d.head.Input, &bySection); err != nil {
			return nil, fmt.Errorf("class %s: inputs: %w", name, err)
		}
	}
	seen := map[string]bool{}
	for _, s := range sections {
		members, err := ordered.Members(bySection[s.name])
		if err != nil {
			return nil, fmt.Errorf("class %s: %s inputs: %w", name, s.name, err)
		}
		for _, m := range members {
			if !seen[m.Name] && m.Name != "" {
				seen[m.Name] = true
				in := parseInput(m, s.is)
				if Sent(name) == m.Name {
					in.Folder = node.FolderInput
				}
				d.inputs = append(d.inputs, in)
			}
		}
	}
	d.outputs = d.head.parseOutputs()
	return d, nil
}

func (h *head) parseOutputs() []node.Output {
	out := make([]node.Output, len(h.Output))
	for i, t := range h.Output {
		out[i] = node.Output{Type: node.Type(t)}
		if out[i].Type == "" {
			out[i].Type = node.Any
		}
		if i < len(h.OutputName) && h.OutputName[i] != t {
			out[i].Name = string(h.OutputName[i])
		}
		if i < len(h.OutputIsList) {
			out[i].IsList = h.OutputIsList[i]
		}
		if i < len(h.MatchTypes) && h.MatchTypes[i] != nil {
			out[i].MatchTemplate = *h.MatchTypes[i]
		}
	}
	return out
}

// options holds the options of an input that matter to validation and planning.
type options struct {
	Min         any             `json:"min"`
	Max         any             `json:"max"`
	Default     any             `json:"default"`
	Options     []any           `json:"options"`
	Remote      json.RawMessage `json:"remote"`
	Multiselect bool            `json:"multiselect"`
	ImageUpload bool            `json:"image_upload"`
	AudioUpload bool            `json:"audio_upload"`
	VideoUpload bool            `json:"video_upload"`
	FileUpload  bool            `json:"file_upload"`
	Folder      string          `json:"image_folder"`
	Lazy        bool            `json:"lazy"`
	ForceInput  bool            `json:"forceInput"`
	Template    json.RawMessage `json:"template"`
}

// parseInput reads the specification of an input. Parts that it does not understand are left to the server.
func parseInput(m ordered.Member, section node.Section) input {
	in := input{Input: node.Input{Name: m.Name, Type: node.Any, Section: section}}
	if section == node.Hidden {
		in.Type = hiddenType(m.Raw)
		return in
	}
	var spec []json.RawMessage
	if json.Unmarshal(m.Raw, &spec) != nil || len(spec) == 0 {
		in.open = true
		return in
	}
	var opts options
	if len(spec) > 1 {
		dec := json.NewDecoder(bytes.NewReader(spec[1]))
		dec.UseNumber()
		if dec.Decode(&opts) != nil {
			opts, in.open = options{}, true
		}
	}
	var choices []any
	if json.Unmarshal(spec[0], &choices) == nil {
		in.Type, opts.Options = node.Combo, choices
	} else if json.Unmarshal(spec[0], (*string)(&in.Type)) != nil || in.Type == "" {
		in.Type, in.open = node.Any, true
	}
	in.fill(opts)
	if in.Folder == "" { // the names of the server's own files are not shown to accounts
		in.Declared = spec
	}
	return in
}

func hiddenType(raw json.RawMessage) node.Type {
	var text string
	var list []string
	switch {
	case json.Unmarshal(raw, &text) == nil && text != "":
		return node.Type(text)
	case json.Unmarshal(raw, &list) == nil && len(list) > 0 && list[0] != "":
		return node.Type(list[0])
	}
	return node.Any
}

// dynamic lists the types of inputs that stand for others, to which the prompt gives dotted names.
var dynamic = map[node.Type]bool{node.AutogrowType: true, "COMFY_DYNAMICCOMBO_V3": true, "COMFY_DYNAMICSLOT_V3": true}

func (in *input) fill(opts options) {
	in.Min, in.Max, in.Default = bound(opts.Min), bound(opts.Max), bound(opts.Default)
	in.Lazy, in.ForceInput = opts.Lazy, opts.ForceInput
	if dynamic[in.Type] {
		in.open, in.Section = true, node.Optional
	}
	if in.Type == "COMFY_MATCHTYPE_V3" {
		var template struct {
			ID string `json:"template_id"`
		}
		if json.Unmarshal(opts.Template, &template) == nil {
			in.MatchTemplate = template.ID
		}
	}
	if in.Type != node.Combo {
		return
	}
	in.open = in.open || len(opts.Remote) > 0 && string(opts.Remote) != "null" || opts.Multiselect
	for _, choice := range opts.Options {
		text, ok := choice.(string)
		if !ok {
			in.open = true
			continue
		}
		in.Options = append(in.Options, text)
	}
	in.uploads(opts)
}

// uploads changes an input that offers files of the server into one that offers files of the account. A choice
// without an extension is not a file but a choice of the class, such as "none".
func (in *input) uploads(opts options) {
	if !opts.ImageUpload && !opts.AudioUpload && !opts.VideoUpload && !opts.FileUpload && opts.Folder == "" {
		return
	}
	in.offer(map[string]bool{
		"image_upload": opts.ImageUpload, "audio_upload": opts.AudioUpload,
		"video_upload": opts.VideoUpload,
	})
	if opts.Folder == "output" {
		in.Folder = node.FolderOutput
	}
}

// offer makes the input offer the account's files of some kinds.
func (in *input) offer(kinds map[string]bool) {
	in.Folder, in.listed = node.FolderInput, slices.Clone(in.Options)
	in.Options = slices.DeleteFunc(in.Options, func(choice string) bool { return strings.Contains(choice, ".") })
	in.Extra = map[string]any{}
	for key, set := range kinds {
		if set {
			in.Extra[key] = true
		}
	}
}

// Sent returns the input of a class that names a picture which a client has sent to a route of the pack, or "".
func Sent(class string) (input string) {
	if class == "ETN_LoadImageCache" {
		return "id"
	}
	return ""
}

// bound converts a number of a definition to a bound of an input.
func bound(value any) any {
	n, ok := value.(json.Number)
	if !ok {
		return value
	}
	if i, err := n.Int64(); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		return u
	}
	if f, err := n.Float64(); err == nil {
		return f
	}
	return nil
}
