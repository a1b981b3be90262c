package catalog

import (
	"strings"
)

// The forms in which a node writes a linked picture into the body (Model.InputMedia).
const (
	MediaData   = "image"        // a data: URL; in a multipart form, a file
	MediaBase64 = "image_base64" // base64 alone
)

// NodeOutputType is the type of a node's output.
type NodeOutputType string

// The types of a node's outputs.
const (
	NodeImage NodeOutputType = "IMAGE"  // decoded pictures
	NodeFile  NodeOutputType = "FILE"   // a file that is saved for the account; the output is its name
	NodeText  NodeOutputType = "STRING" // text, or JSON as text
)

// NodeOutput is one output of a model's node.
type NodeOutput struct {
	Name string
	Type NodeOutputType
	// From are JSON pointers into the answer, in which * means every element. The output has all values that they
	// select. Empty = the whole answer.
	From []string
}

// Several reports whether the output may have more than one value.
func (o NodeOutput) Several() bool {
	for _, pointer := range o.From {
		if strings.Contains(pointer, "*") {
			return true
		}
	}
	return len(o.From) > 1
}

// NodeRule describes a model's node class.
type NodeRule struct {
	Outputs  []NodeOutput // declared by the entry; NodeOutputs fills in the default
	Uncached bool         // a repeated run with equal inputs calls the model again and is charged again
}

// NodeOutputs returns the outputs of the model's node class. If the entry declares none, an answer of bytes is a
// picture or a file, depending on its content type; hosted assets are files; and a JSON answer is also a text.
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

// Kind is what a model makes.
type Kind string

// The kinds of models.
const (
	KindImage Kind = "image"
	KindVideo Kind = "video"
	KindAudio Kind = "audio"
	KindText  Kind = "text"
	KindFile  Kind = "file" // anything else
)

// Kind returns what the first output of the model's node holds.
func (m *Model) Kind() Kind {
	media, _, _ := strings.Cut(m.ContentType, "/")
	switch first := m.NodeOutputs()[0]; {
	case first.Type == NodeImage || first.Type == NodeFile && media == "image":
		return KindImage
	case first.Type == NodeText:
		return KindText
	case first.Name == "video" || media == "video":
		return KindVideo
	case first.Name == "audio" || media == "audio":
		return KindAudio
	}
	return KindFile
}
