package live

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"time"

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

// wireForms are the frames of one message, built once for all sockets.
type wireForms struct {
	plain     *websocket.PreparedMessage // nil = nothing to send
	described *websocket.PreparedMessage // a preview for clients that read metadata
}

// renderWire is the one function that this package gives to Message.Rendered.
func renderWire(m *stream.Message) any {
	switch {
	case m.Text != nil:
		return wireForms{plain: prepare(websocket.TextMessage, m.Text)}
	case m.Frame == nil:
		return wireForms{}
	case m.Frame.Kind == stream.FrameText:
		return wireForms{plain: prepare(websocket.BinaryMessage, textFrame(*m.Frame))}
	default:
		return wireForms{
			plain:     prepare(websocket.BinaryMessage, previewFrame(*m.Frame)),
			described: prepare(websocket.BinaryMessage, describedFrame(*m.Frame)),
		}
	}
}

func prepare(kind int, data []byte) *websocket.PreparedMessage {
	p, err := websocket.NewPreparedMessage(kind, data)
	if err != nil {
		panic(err) // it fails for unknown kinds only
	}
	return p
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

// hijacker lets the upgrade run over a batchConn.
type hijacker struct {
	http.ResponseWriter
	conn *batchConn
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = &batchConn{Conn: conn}
	return h.conn, rw, nil
}

// maxBatch is the number of buffered bytes at which a connection writes before flush.
const maxBatch = 64 << 10

// batchConn combines the frames written between buffer and flush into one write.
type batchConn struct {
	net.Conn

	mu        sync.Mutex // guards the fields below
	buffering bool
	buf       []byte
}

// buffer starts to buffer frames.
func (b *batchConn) buffer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buffering = true
}

// flush writes the buffered frames and stops buffering.
func (b *batchConn) flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buffering = false
	return b.drain()
}

// Write implements net.Conn.
func (b *batchConn) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.buffering {
		return b.Conn.Write(p)
	}
	b.buf = append(b.buf, p...)
	if len(b.buf) >= maxBatch {
		if err := b.drain(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// drain writes the buffer under a deadline of its own. The caller must hold mu.
func (b *batchConn) drain() error {
	if len(b.buf) == 0 {
		return nil
	}
	if err := b.Conn.SetWriteDeadline(time.Now().Add(socketWrite)); err != nil {
		return err
	}
	_, err := b.Conn.Write(b.buf)
	if b.buf = b.buf[:0]; cap(b.buf) > maxIdleBatch {
		b.buf = nil
	}
	return err
}

// maxIdleBatch is the largest buffer that an idle socket keeps: a thousand sockets cost 4 MiB.
const maxIdleBatch = 4 << 10

// SetWriteDeadline implements net.Conn: the library sets one per frame, drain sets one per write.
func (b *batchConn) SetWriteDeadline(time.Time) error { return nil }
