package apitest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
)

// SocketURL returns the address of the WebSocket.
func (h *Harness) SocketURL(query string) string {
	return "ws" + strings.TrimPrefix(h.URL, "http") + "/ws?" + query
}

// Dial opens a socket and reads its first frame, which is always the status.
func (h *Harness) Dial(t *testing.T, query string) *websocket.Conn {
	conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), h.SocketURL(query), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, res.StatusCode)
	t.Cleanup(func() { conn.Close() })
	require.Contains(t, Next(t, conn), `"queue_remaining"`)
	return conn
}

// Next reads a message of a socket.
func Next(t *testing.T, conn *websocket.Conn) string {
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(2*time.Minute)))
	_, raw, err := conn.ReadMessage()
	require.NoError(t, err)
	return string(raw)
}

// Text is a message with that text.
func Text(s string) *stream.Message { return &stream.Message{Text: []byte(s)} }

// Preview is a message with a preview of job A.
func Preview(node, contentType, data string) *stream.Message {
	return &stream.Message{Frame: &stream.Frame{
		Job: "internal", Public: job.PublicID(JobA), Node: node, Kind: stream.FramePreview,
		ContentType: contentType, Data: []byte(data),
	}}
}

// CloseOf reads to the end of a socket and returns how it was closed.
func CloseOf(t *testing.T, conn *websocket.Conn) *websocket.CloseError {
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(2*time.Minute)))
	for {
		if _, _, err := conn.ReadMessage(); err != nil {
			var closed *websocket.CloseError
			require.ErrorAs(t, err, &closed)
			return closed
		}
	}
}
