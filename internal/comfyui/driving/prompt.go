package driving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/metadata"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/segment"
	"github.com/millrace-dev/millrace/internal/fault"
)

// promptNode is a node of a prompt in the form that servers read.
type promptNode struct {
	Class  string
	Inputs map[string]any
	Meta   json.RawMessage // as submitted; nil = none
	order  []string        // of the inputs
}

// compiled is a segment as the prompt that is sent. Nodes keep their ids. Added nodes have ids whose prefix no node
// of the segment has; the ids are the same on every attempt.
type compiled struct {
	r        *Run
	d        *Driver
	nodes    map[string]*graph.PlanNode // nodes of the segment, by id
	prompt   map[string]promptNode
	outputs  []exportedValue // in the order of graph.Segment.Outputs
	root     string          // folder of the files that the prompt saves
	prefix   string          // prefix of the ids of added nodes
	uploaded map[string]any  // constants and links that stand for uploaded values, by name and type
	lists    [][]bool        // by node and slot: the value may be a list
	owner    string          // the node of the segment for which nodes are being added
	serves   map[string]string
	topLevel map[string]bool           // nodes whose files must lie directly in the input folder
	members  map[string][]comfyui.File // copied files of sequences, by node
	graph    *metadata.Graph           // nil = files keep the prompt that was sent
}

// exportedValue is a value that leaves its server.
type exportedValue struct {
	id    string // id of the added node that exports the value
	sizes string // id of the added node that puts out the number of frames of each picture of a list; "" = none
	list  bool   // the value may be a list
}

func (c *compiled) node(id string) *graph.PlanNode { return c.nodes[id] }

// compile builds the prompt except for the parts that need uploads.
func (d *Driver) compile(r *Run) (*compiled, error) {
	c := &compiled{
		r: r, d: d, nodes: map[string]*graph.PlanNode{}, root: comfyui.FilesFolder + "/" + string(r.Prompt),
		prompt: map[string]promptNode{}, prefix: "millrace", uploaded: map[string]any{}, serves: map[string]string{},
		topLevel: map[string]bool{}, members: map[string][]comfyui.File{},
	}
	for i := range r.Segment.Nodes {
		n := &r.Segment.Nodes[i]
		c.nodes[n.ID] = n
		for strings.HasPrefix(n.ID, c.prefix) {
			c.prefix += "_"
		}
	}
	for i := range r.Segment.Nodes {
		if err := c.addNode(&r.Segment.Nodes[i]); err != nil {
			return nil, err
		}
	}
	if len(r.Graph) > 0 {
		var err error
		if c.graph, err = metadata.New(c.prefix+"-"+string(r.Prompt), r.Graph); err != nil {
			return nil, err
		}
	}
	c.separate()
	c.lists = c.findLists()
	for i, out := range r.Segment.Outputs {
		c.outputs = append(c.outputs, c.addOutput(i, out))
	}
	return c, nil
}

// complete uploads the values and files that the prompt reads, and returns the prompt.
func (c *compiled) complete(ctx context.Context) (json.RawMessage, error) {
	for i := range c.r.Segment.Nodes {
		if err := c.moveFiles(ctx, &c.r.Segment.Nodes[i]); err != nil {
			return nil, err
		}
	}
	for _, in := range c.r.Segment.Inputs {
		if err := c.addInput(ctx, in); err != nil {
			return nil, err
		}
	}
	if err := c.makeFolders(ctx); err != nil {
		return nil, err
	}
	raw, err := c.encode()
	if err != nil {
		return nil, err
	}
	if c.graph != nil {
		raw = c.graph.Mark(raw)
	}
	return raw, nil
}

// add adds a node and returns its id.
func (c *compiled) add(class string, inputs map[string]any) string {
	id := c.prefix + strconv.Itoa(len(c.prompt))
	c.prompt[id] = promptNode{Class: class, Inputs: inputs}
	c.serves[id] = c.owner
	return id
}

// linkTo returns a link in the form of prompts.
func linkTo(id string, slot int) []any { return []any{id, slot} }

// addNode adds a node of the segment with its constants and its links within the segment.
func (c *compiled) addNode(n *graph.PlanNode) error {
	class, ok := c.r.Classes.Lookup(n.Class)
	if !ok {
		return fault.New(fault.Invalid, "", "class %s is not known to this worker", n.Class)
	}
	inputs := make(map[string]any, len(n.Constants)+len(n.Links))
	for name, value := range n.Constants {
		inputs[name] = constant(class, value)
	}
	for name, link := range n.Links {
		inputs[name] = linkTo(c.r.Segment.Nodes[link.Unit].ID, link.Slot)
	}
	c.prompt[n.ID] = promptNode{Class: n.Class, Inputs: inputs}
	return nil
}

// constant returns a constant in the form of prompts. Constants of native classes are plain lists; the prompt needs
// them wrapped, so that they are not read as links.
func constant(class *node.Class, value any) any {
	if list, ok := value.([]any); ok && !class.Remote {
		return map[string]any{"__value__": list}
	}
	return value
}

// prefixInput is the input with which classes that save files name them.
const prefixInput = "filename_prefix"

// separate gives every node that saves files a folder of this prompt alone. Two jobs therefore never share a file,
// and the server never returns a file from its cache that no longer exists.
func (c *compiled) separate() {
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) { // gives added nodes the same ids on every attempt
		n := c.prompt[id]
		c.owner = id
		prefix, given := n.Inputs[prefixInput]
		if !given {
			c.distinguish(id)
			continue
		}
		n.Inputs[prefixInput] = c.belowRoot(prefix)
	}
}

// distinctInput is an input that no class declares. Servers ignore it, except in the keys of their caches.
const distinctInput = "millrace_prompt"

// distinguish prevents the server from answering a node that shows its output with a file of another prompt, whose
// metadata has another graph.
func (c *compiled) distinguish(id string) {
	if class, ok := c.r.Classes.Lookup(c.nodes[id].Class); ok && class.OutputNode {
		c.prompt[id].Inputs[distinctInput] = string(c.r.Prompt)
	}
}

// belowRoot puts a name, given as a text or a link, below the folder of the prompt.
func (c *compiled) belowRoot(name any) any {
	switch v := name.(type) {
	case string:
		return c.inRoot(v)
	case []any:
		harmless := c.add("StringReplace", map[string]any{"string": v, "find": "..", "replace": "__"})
		joined := c.add("StringConcatenate", map[string]any{"string_a": c.root + "/", "string_b": linkTo(harmless, 0), "delimiter": ""})
		return linkTo(joined, 0)
	}
	return name
}

// inRoot returns a prefix of file names that lies in the folder of the prompt, even if the graph's prefix contains
// "..". The folders beside it belong to other jobs, perhaps of other accounts.
func (c *compiled) inRoot(prefix string) string {
	parts := strings.FieldsFunc(prefix, func(r rune) bool { return r == '/' || r == '\\' })
	parts = slices.DeleteFunc(parts, func(part string) bool { return strings.Trim(part, ".") == "" })
	if strings.HasSuffix(prefix, "/") {
		parts = append(parts, "")
	}
	return c.root + "/" + strings.Join(parts, "/")
}

// addOutput adds the nodes that export a value.
func (c *compiled) addOutput(i int, out graph.SegmentOut) exportedValue {
	c.owner = c.r.Segment.Nodes[out.Node].ID
	from := linkTo(c.owner, out.Slot)
	p := exportedValue{list: out.Slot < len(c.lists[out.Node]) && c.lists[out.Node][out.Slot]}
	if class, ok := lossless[out.Type]; ok && c.lossless(class.save) {
		p.id = c.add(class.save, map[string]any{class.input: from, prefixInput: fmt.Sprintf("%s/value%d", c.root, i)})
		return p
	}
	switch out.Type {
	case node.Image:
		p.id, p.sizes = c.addPicture(from, p.list)
	case node.Mask:
		p.id, p.sizes = c.addPicture(linkTo(c.add("MaskToImage", map[string]any{"mask": from}), 0), p.list)
	case segment.Latent:
		p.id = c.add("SaveLatent", map[string]any{"samples": from, prefixInput: fmt.Sprintf("%s/latent%d", c.root, i)})
	case node.Audio:
		p.id = c.add("SaveAudio", map[string]any{"audio": from, prefixInput: fmt.Sprintf("%s/sound%d", c.root, i)})
	case node.Video:
		p.id = c.add("SaveVideo", map[string]any{
			"video": from, prefixInput: fmt.Sprintf("%s/video%d", c.root, i), "format": "auto", "codec": "auto", "format.codec": "auto",
		})
	default:
		p.id = c.add("PreviewAny", map[string]any{"source": from})
	}
	return p
}

// addPicture adds the nodes that export pictures and, for a list, the number of frames of each picture.
func (c *compiled) addPicture(from []any, list bool) (id, sizes string) {
	if list && c.offers("GetImageSize") {
		sizes = c.add("PreviewAny", map[string]any{"source": linkTo(c.add("GetImageSize", map[string]any{"image": from}), 2)})
	}
	return c.add("PreviewImage", map[string]any{"images": from}), sizes
}

// offers reports whether the server has a class.
func (c *compiled) offers(class string) bool { return c.r.Offers == nil || c.r.Offers(class) }

// stripRoot returns the subfolder of a file without the folder of the prompt, which some classes repeat within it.
func (c *compiled) stripRoot(f comfyui.File) string {
	sub := strings.Trim(strings.ReplaceAll(f.Subfolder, `\`, "/"), "/")
	if sub == c.root {
		return ""
	}
	sub, _, _ = strings.Cut(strings.TrimPrefix(sub, c.root+"/"), "/"+c.root)
	return sub
}

// copyFile copies a file of the prompt, with the submitted graph in its metadata.
func (c *compiled) copyFile(w io.Writer, r io.Reader) error {
	if c.graph != nil {
		return c.graph.Copy(w, r)
	}
	_, err := io.Copy(w, r)
	return err
}

// attributeRefusal returns the refusal of a prompt with nodes of the graph in place of the nodes that were added for them,
// because clients do not see added nodes. Any other error is returned unchanged.
func (c *compiled) attributeRefusal(err error) error {
	var refused *comfyui.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	nodes := make(map[string]comfyui.NodeErrors, len(refused.Nodes))
	for id, e := range refused.Nodes {
		if owner, added := c.serves[id]; added {
			id, e.Class = owner, c.nodes[owner].Class
		}
		nodes[id] = e
	}
	return &comfyui.Refusal{Err: refused.Err, Nodes: nodes}
}

// submit sends the prompt with the files and values that it reads.
func (f *follower) submit(ctx context.Context) error {
	prompt, err := f.c.complete(ctx)
	if err != nil {
		return err
	}
	f.sent++
	f.mayExist = true
	f.began = time.Now()
	sending, cancel := outlasting(ctx, submitGrace)
	defer cancel()
	_, err = f.r.Server.Submit(sending, comfyui.Prompt{
		ID: f.r.Prompt, Client: string(f.r.Prompt), Graph: prompt, Extra: f.r.Extra, Targets: f.c.targets(),
	})
	return err
}
