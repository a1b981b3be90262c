package live

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"time"
)

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
