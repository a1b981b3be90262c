package catalog

import (
	"strings"
)

// What a node writes into the body for a linked picture (Model.InputMedia).
const (
	MediaData   = "image"        // a data address; in a form, a file
	MediaBase64 = "image_base64" // base64 alone
)

// NodeOutputType is what an output of a node holds.
type NodeOutputType string

// The types of a node's outputs.
const (
	NodeImage NodeOutputType = "IMAGE"  // pictures, decoded
	NodeFile  NodeOutputType = "FILE"   // saved as a file of the account; the output is its name
	NodeText  NodeOutputType = "STRING" // text, or JSON as text
)

// NodeOutput is one output of a model's node.
type NodeOutput struct {
	Name string
	Type NodeOutputType
	// From are JSON pointers into the answer, with * for "every"; all that is found counts. Empty = the
	// whole answer.
	From []string
}

// Several reports whether the output may hold more than one thing.
func (o NodeOutput) Several() bool {
	for _, pointer := range o.From {
		if strings.Contains(pointer, "*") {
			return true
		}
	}
	return len(o.From) > 1
}

// NodeRule says how a model looks as a node.
type NodeRule struct {
	Outputs  []NodeOutput // as the entry declares them; NodeOutputs has what follows when there are none
	Uncached bool         // equal inputs are run, and paid for, again
}

type nodeRule struct {
	Outputs  []NodeOutput
	Uncached bool
}

func (r nodeRule) compile() NodeRule { return NodeRule(r) }

// NodeOutputs are the outputs of the model's node: those that the entry declares, or what its protocol and
// hosting rule suggest. Bytes are a picture where the content type says so and a file otherwise; hosted
// assets are files; any JSON answer is a text, too.
func (m *Model) NodeOutputs() []NodeOutput {
	switch {
	case len(m.Node.Outputs) > 0:
		return m.Node.Outputs
	case m.Protocol == Bytes && strings.HasPrefix(m.ContentType, "image/"):
		return []NodeOutput{{Name: "image", Type: NodeImage}}
	case m.Protocol == Bytes:
		return []NodeOutput{{Name: "file", Type: NodeFile}}
	}
	answer := NodeOutput{Name: "answer", Type: NodeText}
	if len(m.Hosting.Assets) == 0 {
		return []NodeOutput{answer}
	}
	return []NodeOutput{{Name: "files", Type: NodeFile, From: m.Hosting.Assets}, answer}
}
