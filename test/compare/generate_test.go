package compare_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// graph is a node graph in API format.
type graph map[string]graphNode

type graphNode struct {
	Class  string         `json:"class_type"`
	Inputs map[string]any `json:"inputs"`
}

// class is a class as the reference defines it.
type class struct {
	name     string
	inputs   []input
	outputs  []string
	isOutput bool
}

type input struct {
	name     string
	kind     string
	required bool
	options  []any
	opts     map[string]any
	below    map[string][]input // by choice: the inputs of a choice of inputs
	grown    *input             // an element of an autogrow input
	prefix   string             // prefix of the names of an autogrow input
	most     int                // maximum number of elements of an autogrow input
}

// skipped are parts of the names of shared classes that need parts which a test machine lacks, or whose files cannot
// be compared as pictures.
var skipped = []string{"Audio", "Video", "Webcam", "Save", "Load", "Latent", "Model"}

// shown are classes that show values; they are not steps of a graph.
var shown = []string{"PreviewImage", "PreviewAny"}

// readClasses reads the classes of an object_info that can be compared: classes of both systems, with inputs of
// simple types.
func readClasses(info map[string]json.RawMessage, shared func(string) bool) ([]class, error) {
	var out []class
	for _, name := range sortedKeys(info) {
		if !shared(name) || slices.ContainsFunc(skipped, func(s string) bool { return strings.Contains(name, s) }) ||
			slices.Contains(shown, name) {
			continue
		}
		c, usable, err := readClass(name, info[name])
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", name, err)
		}
		if usable {
			out = append(out, c)
		}
	}
	return out, nil
}

func readClass(name string, raw json.RawMessage) (class, bool, error) {
	var d struct {
		Input struct {
			Required map[string][]json.RawMessage `json:"required"`
			Optional map[string][]json.RawMessage `json:"optional"`
		} `json:"input"`
		Output   []any `json:"output"`
		IsOutput bool  `json:"output_node"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return class{}, false, err
	}
	c := class{name: name, isOutput: d.IsOutput}
	for _, o := range d.Output {
		kind, _ := o.(string)
		c.outputs = append(c.outputs, kind)
	}
	usable := true
	for _, part := range []struct {
		inputs   map[string][]json.RawMessage
		required bool
	}{{d.Input.Required, true}, {d.Input.Optional, false}} {
		inputs, all := readInputs(part.inputs, part.required)
		c.inputs, usable = append(c.inputs, inputs...), usable && (all || !part.required)
	}
	return c, usable, nil
}

// readInputs reads the inputs of known kinds; all is false if there are other inputs.
func readInputs(specs map[string][]json.RawMessage, required bool) (inputs []input, all bool) {
	all = true
	for _, key := range sortedKeys(specs) {
		in, known := readInput(key, specs[key])
		in.required = required
		if known {
			inputs = append(inputs, in)
		}
		all = all && known
	}
	return inputs, all
}

// readChoices reads the inputs below a choice.
func (in *input) readChoices(raw json.RawMessage) bool {
	var opts struct {
		Options []struct {
			Key    string `json:"key"`
			Inputs struct {
				Required map[string][]json.RawMessage `json:"required"`
			} `json:"inputs"`
		} `json:"options"`
	}
	if json.Unmarshal(raw, &opts) != nil || len(opts.Options) == 0 {
		return false
	}
	in.below, in.options = map[string][]input{}, nil
	for _, o := range opts.Options {
		inputs, all := readInputs(o.Inputs.Required, true)
		if !all {
			return false
		}
		in.below[o.Key], in.options = inputs, append(in.options, o.Key)
	}
	return true
}

// readGrowing reads the elements of an autogrow input.
func (in *input) readGrowing(raw json.RawMessage) bool {
	var opts struct {
		Template struct {
			Prefix string `json:"prefix"`
			Max    int    `json:"max"`
			Input  struct {
				Required map[string][]json.RawMessage `json:"required"`
			} `json:"input"`
		} `json:"template"`
	}
	if json.Unmarshal(raw, &opts) != nil || opts.Template.Prefix == "" {
		return false
	}
	each, all := readInputs(opts.Template.Input.Required, true)
	if !all || len(each) != 1 {
		return false
	}
	in.grown, in.prefix, in.most = &each[0], opts.Template.Prefix, min(opts.Template.Max, 3)
	return true
}

// linkedKinds are the types of values that only other nodes make.
var linkedKinds = []string{"IMAGE", "MASK", "*", "COMFY_MATCHTYPE_V3", "IMAGE,MASK", "HISTOGRAM"}

var simple = []string{
	"IMAGE", "MASK", "IMAGE,MASK", "HISTOGRAM", "IMAGECOMPARE", "BOUNDING_BOX", "STRING", "INT", "FLOAT", "BOOLEAN",
	"COMBO", "COLOR", "*", "COMFY_MATCHTYPE_V3",
}

func readInput(name string, spec []json.RawMessage) (input, bool) {
	in := input{name: name, opts: map[string]any{}}
	if len(spec) == 0 {
		return in, false
	}
	if len(spec) > 1 {
		_ = json.Unmarshal(spec[1], &in.opts) // options that are no object are none
	}
	if len(spec) > 1 && json.Unmarshal(spec[0], &in.kind) == nil {
		switch in.kind {
		case "COMFY_DYNAMICCOMBO_V3":
			return in, in.readChoices(spec[1])
		case "COMFY_AUTOGROW_V3":
			return in, in.readGrowing(spec[1])
		}
	}
	if json.Unmarshal(spec[0], &in.options) == nil {
		in.kind = "COMBO"
	} else {
		_ = json.Unmarshal(spec[0], &in.kind) // an unknown kind is not used
		in.options, _ = in.opts["options"].([]any)
	}
	return in, slices.Contains(simple, in.kind) && (in.kind != "COMBO" || len(in.options) > 0)
}

// generator makes random graphs. Equal seeds give equal graphs.
type generator struct {
	r       *rand.Rand
	classes []class
	files   []string
	wrong   bool // one value of each graph is of a random type
	g       graph
	made    []made
}

// made is an output of a node of the graph.
type made struct {
	id   string
	slot int
	kind string
}

func (g *generator) add(class string, inputs map[string]any, outputs ...string) string {
	id := strconv.Itoa(len(g.g) + 1)
	g.g[id] = graphNode{class, inputs}
	for slot, kind := range outputs {
		g.made = append(g.made, made{id, slot, kind})
	}
	return id
}

// make returns a graph of sources, of some classes in a row, and of nodes that show the results.
func (g *generator) make() graph {
	g.g, g.made = graph{}, nil
	g.source()
	if g.r.IntN(2) == 0 {
		g.source()
	}
	used := map[string]bool{}
	for range 1 + g.r.IntN(4) {
		c := g.classes[g.r.IntN(len(g.classes))]
		if inputs, ok := g.fill(c); ok {
			id := g.add(c.name, inputs, c.outputs...)
			used[id] = true
		}
	}
	for _, m := range g.made {
		if used[m.id] && len(g.g) < 24 {
			g.show(m)
		}
	}
	if g.wrong {
		g.misuse()
	} else if g.r.IntN(12) == 0 {
		g.spoil()
	}
	return g.g
}

// misuse gives an input a value of a random type: a literal, or the output of a node, which a switch passes on as it is.
func (g *generator) misuse() {
	var ids []string
	for _, id := range sortedKeys(g.g) {
		if len(g.g[id].Inputs) > 0 && !slices.Contains([]string{"LoadImage", "SaveImage", "PreviewAny"}, g.g[id].Class) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	n := g.g[ids[g.r.IntN(len(ids))]]
	name := sortedKeys(n.Inputs)[g.r.IntN(len(n.Inputs))]
	value := []any{true, 3, 2.5, "no such thing", "", nil, map[string]any{"x": 1}, map[string]any{}, []any{}, []any{1, 2, 3}}[g.r.IntN(10)]
	if g.r.IntN(2) == 0 {
		id := ""
		switch g.r.IntN(6) {
		case 0:
			id = g.add("EmptyImage", map[string]any{"width": 8, "height": 6, "batch_size": 2, "color": 255})
		case 1:
			id = g.add("SolidMask", map[string]any{"value": 1.0, "width": 8, "height": 6})
		case 2:
			id = g.add("PrimitiveString", map[string]any{"value": "no such thing"})
		case 3:
			id = g.add("PrimitiveFloat", map[string]any{"value": 2.5})
		case 4:
			id = g.add("PrimitiveBoolean", map[string]any{"value": true})
		case 5:
			id = g.add("EmptyAudio", map[string]any{"duration": 1.0, "sample_rate": 8000, "channels": 1})
		}
		from := []any{id, 0}
		value = []any{g.add("ComfySwitchNode", map[string]any{"switch": true, "on_true": from, "on_false": from}), 0}
	}
	n.Inputs[name] = value
}

func (g *generator) source() {
	switch g.r.IntN(5) {
	case 0:
		g.add("EmptyImage", map[string]any{
			"width": 1 + g.r.IntN(40), "height": 1 + g.r.IntN(40), "batch_size": 1 + g.r.IntN(2),
			"color": g.r.IntN(1 << 24),
		}, "IMAGE")
	case 1:
		g.add("SolidMask", map[string]any{"value": float64(g.r.IntN(11)) / 10, "width": 1 + g.r.IntN(40), "height": 1 + g.r.IntN(40)}, "MASK")
	default:
		g.add("LoadImage", map[string]any{"image": g.files[g.r.IntN(len(g.files))]}, "IMAGE", "MASK")
	}
}

// fill gives a class its inputs. It fails if no node makes a value of a required type.
func (g *generator) fill(c class) (map[string]any, bool) {
	inputs := map[string]any{}
	for _, in := range c.inputs {
		if !in.required && g.r.IntN(2) == 0 {
			continue
		}
		if ok := g.give(inputs, in); !ok && in.required {
			return nil, false
		}
	}
	return inputs, true
}

// give sets the values of an input, or of the inputs for which it stands.
func (g *generator) give(inputs map[string]any, in input) bool {
	if in.grown != nil {
		given := false
		for i := range 1 + g.r.IntN(in.most) {
			each := *in.grown
			each.name = fmt.Sprintf("%s.%s%d", in.name, in.prefix, i)
			given = g.give(inputs, each) || given
		}
		return given
	}
	value, ok := g.value(in)
	if !ok {
		return false
	}
	inputs[in.name] = value
	key, _ := value.(string)
	for _, each := range in.below[key] {
		each.name = in.name + "." + each.name
		if !g.give(inputs, each) {
			return false
		}
	}
	return true
}

func (g *generator) value(in input) (any, bool) {
	if in.name == "overlap" { // ComfyUI never ends where tiles overlap by their size, and some tiles here are a pixel wide
		return 0, true
	}
	linked := in.opts["forceInput"] == true || slices.Contains(linkedKinds, in.kind)
	if linked || g.r.IntN(5) == 0 && in.kind != "COMBO" && in.below == nil {
		var fit []made
		for _, m := range g.made {
			if slices.Contains(strings.Split(in.kind, ","), m.kind) || in.kind == "*" || in.kind == "COMFY_MATCHTYPE_V3" {
				fit = append(fit, m)
			}
		}
		if len(fit) > 0 {
			m := fit[g.r.IntN(len(fit))]
			return []any{m.id, m.slot}, true
		}
		if linked {
			return nil, false
		}
	}
	switch in.kind {
	case "INT":
		low, high := g.bounds(in, 0, 48)
		return int(low) + g.r.IntN(int(high-low)+1), true
	case "FLOAT":
		low, high := g.bounds(in, 0, 4)
		return float64(int((low+g.r.Float64()*(high-low))*100)) / 100, true
	case "BOOLEAN":
		return g.r.IntN(2) == 0, true
	case "STRING":
		return []string{"", "a", "Hello, wörld", "a,b,,c", "3.5", " x ", "line\nline", "{\"a\": [1, 2.0, null]}"}[g.r.IntN(8)], true
	case "IMAGECOMPARE":
		return "", true
	case "BOUNDING_BOX":
		return map[string]any{"x": g.r.IntN(30), "y": g.r.IntN(30), "width": 1 + g.r.IntN(30), "height": 1 + g.r.IntN(30)}, true
	case "COLOR":
		return fmt.Sprintf("#%06x", g.r.IntN(1<<24)), true
	default:
		return in.options[g.r.IntN(len(in.options))], true
	}
}

// bounds are the bounds of a number, so narrow that pictures stay small.
func (g *generator) bounds(in input, least, most float64) (low, high float64) {
	low, high = least, most
	if v, ok := in.opts["min"].(float64); ok {
		low = max(v, -most)
	}
	if v, ok := in.opts["max"].(float64); ok {
		high = min(v, low+most)
	}
	return low, max(low, high)
}

// show adds the node that shows or saves a value.
func (g *generator) show(m made) {
	switch m.kind {
	case "IMAGE":
		g.add("SaveImage", map[string]any{"images": []any{m.id, m.slot}, "filename_prefix": "compared"})
	case "MASK":
		picture := g.add("MaskToImage", map[string]any{"mask": []any{m.id, m.slot}})
		g.add("SaveImage", map[string]any{"images": []any{picture, 0}, "filename_prefix": "compared"})
	default:
		g.add("PreviewAny", map[string]any{"source": []any{m.id, m.slot}})
	}
}

// spoil breaks the graph at one position.
func (g *generator) spoil() {
	ids := sortedKeys(g.g)
	n := g.g[ids[g.r.IntN(len(ids))]]
	if len(n.Inputs) == 0 {
		return
	}
	name := sortedKeys(n.Inputs)[g.r.IntN(len(n.Inputs))]
	switch g.r.IntN(6) {
	case 0:
		delete(n.Inputs, name)
	case 1:
		n.Inputs[name] = []any{"1", 7}
	case 2:
		n.Inputs[name] = []any{"nowhere", 0}
	case 3:
		n.Inputs[name] = -1e9
	case 4:
		n.Inputs[name] = "no such thing"
	case 5:
		n.Inputs[name] = nil
	}
}

// pictures are the inputs: gradients with noise, with and without transparency, of odd sizes.
func pictures() (map[string][]byte, error) {
	out := map[string][]byte{}
	for i, size := range [][2]int{{31, 17}, {16, 16}, {40, 23}, {1, 9}} {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		im := image.NewNRGBA(image.Rect(0, 0, size[0], size[1]))
		for y := range size[1] {
			for x := range size[0] {
				alpha := 255
				if i%2 == 1 {
					alpha = r.IntN(256)
				}
				im.SetNRGBA(x, y, color.NRGBA{uint8(x * 255 / size[0]), uint8(y * 255 / size[1]), uint8(r.IntN(256)), uint8(alpha)})
			}
		}
		var b bytes.Buffer
		if err := png.Encode(&b, im); err != nil {
			return nil, err
		}
		out[fmt.Sprintf("compared%d.png", i)] = b.Bytes()
	}
	return out, nil
}

func nrgba(c color.Color) [4]uint8 {
	n, _ := color.NRGBAModel.Convert(c).(color.NRGBA)
	return [4]uint8{n.R, n.G, n.B, n.A}
}
