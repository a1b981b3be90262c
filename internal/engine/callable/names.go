package callable

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"

	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Named are the inputs and outputs that a command names. Each is "name=NODE.WIDGET", or "NODE.WIDGET" if the name is to be
// found; an output is "name=NODE" or "NODE".
type Named struct {
	Inputs  []string `json:"inputs,omitempty"`
	Outputs []string `json:"outputs,omitempty"`
}

// ParseNamed reads names from YAML: the members "inputs" and "outputs", each a list of texts as in Named or an object of
// texts by name. Other members are ignored.
func ParseNamed(text []byte) (Named, error) {
	var file struct {
		Inputs  namedList `yaml:"inputs"`
		Outputs namedList `yaml:"outputs"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return Named{}, fault.Wrap(err, fault.Invalid, fault.CodeInvalidWorkflow, "The names of inputs and outputs cannot be read: %s.", err)
	}
	return Named{Inputs: file.Inputs, Outputs: file.Outputs}, nil
}

// namedList is a list of names, which may be written as an object.
type namedList []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *namedList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return n.Decode((*[]string)(l))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i+1].Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: %s takes NODE.WIDGET", n.Content[i+1].Line, n.Content[i].Value)
		}
		*l = append(*l, n.Content[i].Value+"="+n.Content[i+1].Value)
	}
	return nil
}

// entries parses the names.
func (n Named) entries() (inputs, outputs []entry, err error) {
	for _, text := range n.Inputs {
		name, at, given := cutName(text)
		id, widget, ok := strings.Cut(at, ".")
		if !ok || id == "" || widget == "" || given && fold(name) == "" {
			return nil, nil, invalid("Input %q cannot be read; write it as prompt=6.text.", clipped(text))
		}
		inputs = append(inputs, entry{name: fold(name), at: uiworkflow.AppInput{Node: id, Widget: widget}})
	}
	for _, text := range n.Outputs {
		name, id, given := cutName(text)
		if id == "" || given && fold(name) == "" {
			return nil, nil, invalid("Output %q cannot be read; write it as picture=9.", clipped(text))
		}
		outputs = append(outputs, entry{name: fold(name), at: uiworkflow.AppInput{Node: id}})
	}
	return inputs, outputs, nil
}

func cutName(text string) (name, at string, given bool) {
	if name, at, given = strings.Cut(text, "="); !given {
		return "", strings.TrimSpace(text), false
	}
	return name, strings.TrimSpace(at), true
}

// maxName bounds a name, in characters.
const maxName = 64

// fold returns a text as a name: letters and digits of any script in lower case, joined by "_". It may be empty.
func fold(text string) string {
	var b strings.Builder
	gap, length := false, 0
	for _, r := range strings.ToLower(norm.NFKC.String(text)) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			gap = length > 0
			continue
		}
		if gap {
			b.WriteByte('_')
			length++
		}
		if length++; length > maxName {
			break
		}
		b.WriteRune(r)
		gap = false
	}
	return strings.TrimSuffix(b.String(), "_")
}

// naming collects the possible names of an input or output.
type naming struct {
	name  string // the name that it gets
	given bool   // by the command

	texts []string // names, the best first
	apart []string // other names if others have the same one, the best first
	at    string   // how a command names it
}

// title returns the best text as it was written.
func (n *naming) title() string {
	for _, text := range n.texts {
		if fold(text) != "" {
			return text
		}
	}
	return ""
}

// naming returns the possible names of an input: labels, the title that the author gave the node if no other entry is
// about the node, and the name of the widget.
func (d *deriver) naming(e entry, f field) naming {
	n := naming{name: e.name, given: e.name != "", at: e.String(), texts: append([]string{e.label}, f.labels...)}
	if f.title != "" && d.entries[f.of] == 1 {
		n.texts = append(n.texts, f.title)
	}
	n.texts = append(n.texts, e.at.Widget, f.input)
	n.apart = append(d.apart(f.node, n.title()), n.texts...)
	return n
}

// apart returns names that distinguish nodes whose inputs share a name: the shared name with the node's title, and with that of each
// enclosing subgraph.
func (d *deriver) apart(id, name string) []string {
	texts := []string{d.titleOf(id) + " " + name}
	for path := id; strings.Contains(path, ":"); {
		path = path[:strings.LastIndex(path, ":")]
		texts = append(texts, d.drawing.Title(path)+" "+name)
	}
	return texts
}

// outputNaming returns the candidate names of an output: the node's title if its author set one, otherwise its kind. If that is taken, it
// uses the file name prefix or the titles of the nodes it reads from.
func (d *deriver) outputNaming(e entry, id string) naming {
	kind := string(d.outputKind(id))
	n := naming{name: e.name, given: e.name != "", at: id, texts: []string{d.drawing.Title(id), kind}}
	found, ok := d.graph.Node(id)
	if !ok {
		return n
	}
	prefix, _ := found.Input("filename_prefix")
	text, _ := prefix.(string)
	n.apart = append([]string{text[strings.LastIndex(text, "/")+1:]}, d.apart(id, kind)...)
	for _, in := range found.Inputs {
		if from, ok := linkOf(in.Value); ok {
			n.apart = append(n.apart, d.apart(from, kind)...)
		}
	}
	return n
}

// resolve gives every entry its name. Names that are equal are told apart; if they cannot be, the error lists them.
func resolve(all []naming, flag string) error {
	for i := range all {
		for _, text := range all[i].texts {
			if all[i].name == "" {
				all[i].name = fold(text)
			}
		}
		if all[i].name == "" {
			return invalid("%s has no name of letters or digits; name it: %s name=%s.", all[i].at, flag, all[i].at)
		}
	}
	for range all { // telling some apart may make others equal
		equal := sameName(all)
		if equal == nil {
			return nil
		}
		if !tellApart(all, equal) {
			var texts []string
			for _, i := range equal {
				texts = append(texts, all[i].at)
			}
			return invalid("%s would all be called %q; name them apart, for instance %s %s_1=%s.", listed(texts), all[equal[0]].name,
				flag, all[equal[0]].name, texts[0])
		}
	}
	return nil
}

// sameName returns the indexes of the first entries that have the same name, or nil.
func sameName(all []naming) []int {
	byName := map[string][]int{}
	for i, n := range all {
		byName[n.name] = append(byName[n.name], i)
	}
	for _, n := range all {
		if equal := byName[n.name]; len(equal) > 1 {
			return equal
		}
	}
	return nil
}

// tellApart gives entries of the same name other names. It returns false if they have no different ones.
func tellApart(all []naming, equal []int) bool {
	var open []int // those that the command did not name
	for _, i := range equal {
		if !all[i].given {
			open = append(open, i)
		}
	}
	if len(equal)-len(open) > 1 {
		return false
	}
	for level := range maxLevels {
		names := map[string]bool{all[equal[0]].name: true}
		made := make([]string, len(open))
		for k, i := range open {
			if level < len(all[i].apart) {
				made[k] = fold(all[i].apart[level])
			}
			names[made[k]] = true
		}
		if len(names) != len(open)+1 || names[""] {
			continue
		}
		for k, i := range open {
			all[i].name, all[i].given = made[k], true
		}
		return true
	}
	return false
}

// maxLevels bounds the texts by which names are told apart.
const maxLevels = 8
