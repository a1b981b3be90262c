package driving

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/segment"
	"github.com/millrace-dev/millrace/internal/fault"
)

// promptNode is a node of a prompt as servers read it.
type promptNode struct {
	Class  string         `json:"class_type"`
	Inputs map[string]any `json:"inputs"`
}

// compiled is a segment as the prompt that is sent. Nodes keep their ids; those that are added have ids that no node of
// the segment begins with, and are the same on every attempt.
type compiled struct {
	r       *Run
	d       *Driver
	nodes   map[string]*graph.PlanNode // of the segment, by id
	prompt  map[string]promptNode
	outputs []string       // by graph.Segment.Outputs: the added node that puts the value out
	root    string         // folder of the files that the prompt saves
	prefix  string         // of the ids of added nodes
	moved   map[string]any // what stands for a value that was moved in, by its name and type
}

func (c *compiled) node(id string) *graph.PlanNode { return c.nodes[id] }

// rootFolder is the folder on servers below which prompts of this program read and save.
const rootFolder = "millrace"

// compile builds the prompt but for what has to be moved to the server first.
func (d *Driver) compile(r *Run) (*compiled, error) {
	c := &compiled{
		r: r, d: d, nodes: map[string]*graph.PlanNode{}, root: rootFolder + "/" + string(r.Prompt),
		prompt: map[string]promptNode{}, prefix: "millrace", moved: map[string]any{},
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
	c.separate()
	for i, out := range r.Segment.Outputs {
		c.outputs = append(c.outputs, c.addOutput(i, out))
	}
	return c, nil
}

// complete moves to the server what the prompt reads, and returns the prompt.
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
	raw, err := json.Marshal(c.prompt)
	if err != nil {
		return nil, fmt.Errorf("encode the prompt: %w", err)
	}
	return raw, nil
}

// add adds a node of our own and returns its id.
func (c *compiled) add(class string, inputs map[string]any) string {
	id := c.prefix + strconv.Itoa(len(c.prompt))
	c.prompt[id] = promptNode{class, inputs}
	return id
}

// linkTo is a link as prompts write it.
func linkTo(id string, slot int) []any { return []any{id, slot} }

// addNode adds a node of the segment with its constants and the links within.
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
	c.prompt[n.ID] = promptNode{n.Class, inputs}
	return nil
}

// constant is a constant as a prompt gives it. Of native classes lists have lost what tells them from links.
func constant(class *node.Class, value any) any {
	if list, ok := value.([]any); ok && !class.Remote {
		return map[string]any{"__value__": list}
	}
	return value
}

// moveFiles copies the files of the account that a node names to the server. What names no such file is left to the
// server.
func (c *compiled) moveFiles(ctx context.Context, n *graph.PlanNode) error {
	class, _ := c.r.Classes.Lookup(n.Class)
	for _, in := range class.Inputs {
		name, given := n.Constants[in.Name].(string)
		if in.Folder == "" || !given {
			continue
		}
		stored, err := c.moveFile(ctx, n.ID, name)
		if fault.Is(err, fault.NotFound) && slices.Contains(in.Options, name) {
			continue
		}
		if err != nil {
			return err
		}
		c.prompt[n.ID].Inputs[in.Name] = stored
	}
	return nil
}

func (c *compiled) moveFile(ctx context.Context, id, name string) (string, error) {
	file, err := c.r.Files(id).Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info := file.Info()
	return c.d.uploaded.put(ctx, c.r, upload{digest: info.Hash, suffix: suffixOf(info.Name), size: info.Size, body: file})
}

// prefixInput is the input of the classes that save files by which they name them.
const prefixInput = "filename_prefix"

// separate gives every node that saves files a folder that no other prompt has, so that two jobs never share a file
// and the server does not name a file from its cache that is gone.
func (c *compiled) separate() {
	for id := range c.nodes {
		n := c.prompt[id]
		prefix, given := n.Inputs[prefixInput]
		if !given {
			continue
		}
		switch v := prefix.(type) {
		case string:
			n.Inputs[prefixInput] = c.inRoot(v)
		case []any:
			harmless := c.add("StringReplace", map[string]any{"string": v, "find": "..", "replace": "__"})
			joined := c.add("StringConcatenate", map[string]any{"string_a": c.root + "/", "string_b": linkTo(harmless, 0), "delimiter": ""})
			n.Inputs[prefixInput] = linkTo(joined, 0)
		}
	}
}

// inRoot returns the prefix of a file name that lies in the folder of the prompt, whatever ".." the graph has in it:
// the folders beside it belong to other jobs, perhaps of other accounts.
func (c *compiled) inRoot(prefix string) string {
	parts := strings.FieldsFunc(prefix, func(r rune) bool { return r == '/' || r == '\\' })
	parts = slices.DeleteFunc(parts, func(part string) bool { return strings.Trim(part, ".") == "" })
	if strings.HasSuffix(prefix, "/") {
		parts = append(parts, "")
	}
	return c.root + "/" + strings.Join(parts, "/")
}

// addOutput adds the node that puts a value out, and returns its id.
func (c *compiled) addOutput(i int, out graph.SegmentOut) string {
	from := linkTo(c.r.Segment.Nodes[out.Node].ID, out.Slot)
	switch out.Type {
	case node.Image:
		return c.add("PreviewImage", map[string]any{"images": from})
	case node.Mask:
		picture := c.add("MaskToImage", map[string]any{"mask": from})
		return c.add("PreviewImage", map[string]any{"images": linkTo(picture, 0)})
	case segment.Latent:
		return c.add("SaveLatent", map[string]any{"samples": from, prefixInput: fmt.Sprintf("%s/latent%d", c.root, i)})
	default:
		return c.add("PreviewAny", map[string]any{"source": from})
	}
}

// stripRoot returns the subfolder that a file would have without the folder of the prompt.
func (c *compiled) stripRoot(f comfyui.File) string {
	sub := strings.Trim(strings.ReplaceAll(f.Subfolder, `\`, "/"), "/")
	if sub == c.root {
		return ""
	}
	return strings.TrimPrefix(sub, c.root+"/")
}
