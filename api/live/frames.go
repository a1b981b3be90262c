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

// hijacker lets the upgrade run over a batchConn.
type hijacker struct {
	http.ResponseWriter
	pool *sync.Pool // of the buffers of connections
	conn *batchConn
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = &batchConn{Conn: conn, pool: h.pool}
	return h.conn, rw, nil
}

// maxBatch is the number of buffered bytes at which a connection writes before flush.
const maxBatch = 64 << 10

// batchConn combines the frames written between buffer and flush into one write.
type batchConn struct {
	net.Conn
	pool *sync.Pool // of *[]byte, so that an idle connection has no buffer

	mu        sync.Mutex // guards the fields below
	buffering bool
	buf       *[]byte // nil = nothing is buffered
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
	if b.buf == nil {
		b.buf = b.buffers()
	}
	*b.buf = append(*b.buf, p...)
	if len(*b.buf) >= maxBatch {
		if err := b.drain(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// drain writes the buffer under a deadline of its own and gives it back. The caller must hold mu.
func (b *batchConn) drain() error {
	if b.buf == nil {
		return nil
	}
	defer b.release()
	if err := b.Conn.SetWriteDeadline(time.Now().Add(socketWrite)); err != nil {
		return err
	}
	_, err := b.Conn.Write(*b.buf)
	return err
}

// buffers returns an empty buffer.
func (b *batchConn) buffers() *[]byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return buf
	}
	return new([]byte)
}

// release gives the buffer back, unless it is a large one.
func (b *batchConn) release() {
	if cap(*b.buf) <= 2*maxBatch {
		*b.buf = (*b.buf)[:0]
		b.pool.Put(b.buf)
	}
	b.buf = nil
}

// SetWriteDeadline implements net.Conn: the library sets one per frame, drain sets one per write.
func (b *batchConn) SetWriteDeadline(time.Time) error { return nil }
