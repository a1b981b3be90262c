package live

import (
	"encoding/binary"
	"encoding/json"

	"github.com/gorilla/websocket"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
)

// Types of binary frames and of their images.
const (
	framePreview         = 1
	frameText            = 3
	framePreviewMetadata = 4

	imageJPEG = 1
	imagePNG  = 2
)

// wireForms are the payloads of a message, built once for all sockets. The library's prepared messages are not used: each
// takes two buffers of 4 KiB, which was a third of what a small job allocated.
type wireForms struct {
	kind      int    // websocket.TextMessage or websocket.BinaryMessage
	plain     []byte // nil = nothing to send
	described []byte // a preview with metadata, for clients that read metadata
}

// renderWire builds the payloads of a message. It is the only function that this package passes to Message.Rendered.
func renderWire(m *stream.Message) any {
	switch {
	case m.Text != nil:
		return wireForms{kind: websocket.TextMessage, plain: m.Text}
	case m.Frame == nil:
		return wireForms{}
	case m.Frame.Kind == stream.FrameText:
		return wireForms{kind: websocket.BinaryMessage, plain: textFrame(*m.Frame)}
	default:
		return wireForms{kind: websocket.BinaryMessage, plain: previewFrame(*m.Frame), described: describedFrame(*m.Frame)}
	}
}

func previewFrame(f stream.Frame) []byte {
	kind := uint32(imageJPEG)
	if f.ContentType == "image/png" {
		kind = imagePNG
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(f.Data)), framePreview)
	return append(binary.BigEndian.AppendUint32(b, kind), f.Data...)
}

func textFrame(f stream.Frame) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(f.Node)+len(f.Data)), frameText)
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.Node)))
	return append(append(b, f.Node...), f.Data...)
}

type previewMetadata struct {
	NodeID        string       `json:"node_id"`
	PromptID      job.PublicID `json:"prompt_id"`
	DisplayNodeID string       `json:"display_node_id"`
	ParentNodeID  *string      `json:"parent_node_id"`
	RealNodeID    string       `json:"real_node_id"`
	ImageType     string       `json:"image_type"`
}

func describedFrame(f stream.Frame) []byte {
	parent, display, root := f.Within.Places(f.Node)
	metadata, err := json.Marshal(previewMetadata{
		NodeID: f.Node, PromptID: f.Public, DisplayNodeID: display, ParentNodeID: parent, RealNodeID: root, ImageType: f.ContentType,
	})
	if err != nil {
		panic(err) // strings always marshal
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(metadata)+len(f.Data)), framePreviewMetadata)
	b = binary.BigEndian.AppendUint32(b, uint32(len(metadata)))
	return append(append(b, metadata...), f.Data...)
}
