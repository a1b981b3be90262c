package node

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Definition is a class as clients read it from object_info. Classes of ComfyUI's older schema leave out members that
// do not apply; classes of the newer schema (V3) show them as null.
type Definition struct {
	Input          Sections `json:"input"`
	InputOrder     Order    `json:"input_order"`
	IsInputList    bool     `json:"is_input_list"`
	Output         []Type   `json:"output"`
	OutputIsList   []bool   `json:"output_is_list"`
	OutputName     []string `json:"output_name"`
	OutputTooltips []string `json:"output_tooltips,omitempty"` // "" = none
	Name           string   `json:"name"`
	DisplayName    *string  `json:"display_name"` // nil = no display name
	Description    string   `json:"description"`
	PythonModule   string   `json:"python_module"`
	Category       string   `json:"category"`
	OutputNode     bool     `json:"output_node"`
	Intermediate   bool     `json:"has_intermediate_output"`
	SearchAliases  []string `json:"search_aliases"`
	Deprecated     bool     `json:"deprecated,omitempty"`
	Experimental   bool     `json:"experimental,omitempty"`
	APINode        bool     `json:"api_node,omitempty"`
	Essentials     string   `json:"essentials_category,omitempty"`

	matches  []string // by output: its match template; "" = none
	schemaV3 bool
	document json.RawMessage // the whole definition; nil = it is made of the other members
}

// MarshalJSON implements json.Marshaler.
func (d Definition) MarshalJSON() ([]byte, error) {
	if d.document != nil {
		return d.document, nil
	}
	type older Definition
	if !d.schemaV3 {
		if empty(d.OutputTooltips) {
			d.OutputTooltips = nil
		}
		return json.Marshal(older(d))
	}
	newer := struct {
		older
		OutputTooltips []*string `json:"output_tooltips"`
		Matches        []*string `json:"output_matchtypes"`
		SearchAliases  []string  `json:"search_aliases"`
		Deprecated     bool      `json:"deprecated"`
		Experimental   bool      `json:"experimental"`
		DevOnly        bool      `json:"dev_only"`
		APINode        bool      `json:"api_node"`
		PriceBadge     any       `json:"price_badge"`
		Essentials     *string   `json:"essentials_category"`
	}{older: older(d), OutputTooltips: orNull(d.OutputTooltips), Deprecated: d.Deprecated, Experimental: d.Experimental, APINode: d.APINode}
	if !empty(d.matches) {
		newer.Matches = orNull(d.matches)
	}
	if d.Essentials != "" {
		newer.Essentials = &d.Essentials
	}
	if len(d.SearchAliases) > 0 {
		newer.SearchAliases = d.SearchAliases
	}
	return json.Marshal(newer)
}

func empty(texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return text != "" })
}

// orNull replaces empty texts by null.
func orNull(texts []string) []*string {
	out := make([]*string, len(texts))
	for i := range texts {
		if texts[i] != "" {
			out[i] = &texts[i]
		}
	}
	return out
}

// Order lists the names of the inputs of each section, in definition order.
type Order struct {
	Required []string `json:"required"`
	Optional []string `json:"optional,omitempty"`
	Hidden   []string `json:"hidden,omitempty"`
}

// Sections are the inputs of a definition; in JSON each section is an object in definition order.
type Sections struct {
	Required, Optional, Hidden []Defined
}

// Defined is one member of an Object, for instance an input of a definition: its name and specification.
type Defined struct {
	Name string
	Spec any
}

// MarshalJSON implements json.Marshaler. Empty sections are left out, except for the required inputs.
func (s Sections) MarshalJSON() ([]byte, error) {
	sections := []Defined{{"required", Object(s.Required)}}
	if len(s.Optional) > 0 {
		sections = append(sections, Defined{"optional", Object(s.Optional)})
	}
	if len(s.Hidden) > 0 {
		sections = append(sections, Defined{"hidden", Object(s.Hidden)})
	}
	return Object(sections).MarshalJSON()
}

// Object is a JSON object that keeps its order.
type Object []Defined

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, member := range o {
		key, err := json.Marshal(member.Name)
		if err != nil {
			return nil, fmt.Errorf("name %q: %w", member.Name, err)
		}
		value, err := json.Marshal(member.Spec)
		if err != nil {
			return nil, fmt.Errorf("define %s: %w", member.Name, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Definitions are the definitions of several classes. Their JSON is an object by class name, in the order of the
// registry.
type Definitions []Definition

// MarshalJSON implements json.Marshaler.
func (d Definitions) MarshalJSON() ([]byte, error) {
	members := make(Object, len(d))
	for i := range d {
		members[i] = Defined{d[i].Name, d[i]}
	}
	return members.MarshalJSON()
}

// maxOfferedFiles bounds the file names that one input offers.
const maxOfferedFiles = 1000

// Definitions returns the definitions of the named classes, or of all classes if no name is given. Unknown names are
// left out, and classes that lack what they need to run. Inputs that choose a file offer the caller's files; files may be nil.
func (r *Registry) Definitions(ctx context.Context, files Files, names ...string) (Definitions, error) {
	classes := r.Classes()
	if len(names) > 0 {
		classes = nil
		for _, name := range names {
			if c, ok := r.Lookup(name); ok {
				classes = append(classes, c)
			}
		}
	}
	classes = slices.DeleteFunc(classes, func(c *Class) bool { return len(c.Lacks) > 0 })
	offers := offered{ctx: ctx, files: files, byFolder: map[Folder][]string{}}
	out := make(Definitions, 0, len(classes))
	for _, c := range classes {
		d, err := c.define(&offers)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// offered caches the files of each folder while Definitions runs.
type offered struct {
	ctx      context.Context //nolint:containedctx // lives for one call of Definitions
	files    Files
	byFolder map[Folder][]string
}

// options returns the choices of a combo: the declared ones and the caller's files.
func (o *offered) options(in Input) ([]string, error) {
	if in.Folder == "" || o.files == nil {
		return in.Options, nil
	}
	names, known := o.byFolder[in.Folder]
	if !known {
		var err error
		if names, err = o.files.List(o.ctx, in.Folder, maxOfferedFiles); err != nil {
			return nil, fmt.Errorf("list the files of folder %s: %w", in.Folder, err)
		}
		o.byFolder[in.Folder] = names
	}
	if in.Directory {
		names = Directories(names)
	}
	return append(append([]string{}, in.Options...), of(in.kinds(), names)...), nil
}

func (c *Class) define(offers *offered) (Definition, error) {
	if c.Document != nil {
		raw, err := c.Document.render(c, offers)
		return Definition{Name: c.Name, document: raw}, err
	}
	d := Definition{
		InputOrder: Order{Required: []string{}}, IsInputList: c.InputIsList,
		Output: []Type{}, OutputIsList: []bool{}, OutputName: []string{},
		Name: c.Name, Description: c.Description, PythonModule: c.Module,
		Category: c.Category, OutputNode: c.OutputNode, Intermediate: c.Intermediate,
		SearchAliases: append([]string{}, c.SearchAliases...), Deprecated: c.Deprecated, Experimental: c.Experimental, APINode: c.Partner,
		Essentials: c.Essentials, schemaV3: c.SchemaV3(),
	}
	switch {
	case c.DisplayName != "":
		d.DisplayName = &c.DisplayName
	case !d.schemaV3: // in the newer schema a display name is optional; clients then show the class name
		d.DisplayName = &c.Name
	}
	for _, in := range c.Inputs {
		if err := d.addInput(in, c.SchemaV3(), offers); err != nil {
			return Definition{}, fmt.Errorf("define class %s: %w", c.Name, err)
		}
	}
	d.addOutputs(c.Outputs)
	return d, nil
}

func (d *Definition) addInput(in Input, schemaV3 bool, offers *offered) error {
	if in.Section == Hidden {
		var spec any = in.Type
		if schemaV3 {
			spec = []any{in.Type}
		}
		d.Input.Hidden = append(d.Input.Hidden, Defined{in.Name, spec})
		d.InputOrder.Hidden = append(d.InputOrder.Hidden, in.Name)
		return nil
	}
	if in.Section == Undeclared {
		return nil
	}
	options, err := offers.options(in)
	if err != nil {
		return err
	}
	defined := Defined{in.Name, in.Spec(options, schemaV3)}
	if in.Section == Optional {
		d.Input.Optional = append(d.Input.Optional, defined)
		d.InputOrder.Optional = append(d.InputOrder.Optional, in.Name)
		return nil
	}
	d.Input.Required = append(d.Input.Required, defined)
	d.InputOrder.Required = append(d.InputOrder.Required, in.Name)
	return nil
}

func (d *Definition) addOutputs(outputs []Output) {
	for _, out := range outputs {
		name := out.Name
		name = cmp.Or(name, string(out.Type))
		d.Output = append(d.Output, out.Type)
		d.OutputIsList = append(d.OutputIsList, out.IsList)
		d.OutputName = append(d.OutputName, name)
		d.OutputTooltips = append(d.OutputTooltips, out.Tooltip)
		d.matches = append(d.matches, out.MatchTemplate)
	}
}

// SchemaV3 reports whether ComfyUI declares the class in its newer schema, which changes the specifications of combos
// and hidden inputs. These are the classes of comfy_extras and those of partner models.
func (c *Class) SchemaV3() bool {
	return !c.OlderSchema && (strings.HasPrefix(c.Module, "comfy_extras.") || strings.HasPrefix(c.Module, "comfy_api_nodes."))
}
