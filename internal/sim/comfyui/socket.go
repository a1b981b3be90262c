package comfyui

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

// writeTimeout bounds how long a message may take to a client that does not read.
const writeTimeout = 5 * time.Second

// sockets are the clients of a server. One name is one socket: the newest takes the messages.
type sockets struct {
	mu     sync.Mutex // guards the fields below
	byName map[string]*socket
	open   map[*socket]bool
	client string // whose prompt runs
	node   string // that runs
	gate   <-chan struct{}
	closed bool
}

// socket is one connection.
type socket struct {
	mu       sync.Mutex                     // serializes writers, which wait until the client is answered
	conn     atomic.Pointer[websocket.Conn] // nil = the client is not answered yet, or could not be
	metadata bool                           // wants previews with metadata
}

func newSockets() *sockets {
	gate := make(chan struct{})
	close(gate)
	return &sockets{byName: map[string]*socket{}, open: map[*socket]bool{}, gate: gate}
}

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

// socket serves GET /ws. As in the original, a client that has the answer misses no message.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	name := cmp.Or(r.URL.Query().Get("clientId"), uuid.NewString())
	k := &socket{}
	k.mu.Lock() // messages wait for the connection
	running := s.sockets.add(name, k)
	defer s.sockets.drop(name, k)
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		k.mu.Unlock()
		return // it was answered
	}
	k.conn.Store(conn)
	confirm := conn.CloseHandler()
	conn.SetCloseHandler(func(code int, text string) error { // as the original, before it confirms the end
		s.sockets.forget(name, k)
		return confirm(code, text)
	})
	k.put("status", map[string]any{"status": s.remaining(), "sid": name})
	if running != "" {
		k.put("executing", map[string]any{"node": running})
	}
	k.mu.Unlock()
	if s.sockets.live() {
		s.listen(k)
	}
}

// listen reads the client's messages. The first may name the client's capabilities.
func (s *Server) listen(k *socket) {
	conn := k.conn.Load()
	pong := conn.PingHandler()
	conn.SetPingHandler(func(data string) error { s.sockets.pass(); return pong(data) })
	for first := true; ; first = false {
		var m struct {
			Type string `json:"type"`
			Data struct {
				Metadata bool `json:"supports_preview_metadata"`
			} `json:"data"`
		}
		if err := conn.ReadJSON(&m); err != nil {
			return
		}
		if first && m.Type == "feature_flags" {
			k.mu.Lock()
			k.metadata = m.Data.Metadata
			k.mu.Unlock()
			k.send("feature_flags", s.capabilities())
		}
	}
}

// add registers a socket and returns the node that runs of the client's prompt.
func (s *sockets) add(name string, k *socket) (running string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[k] = true
	s.byName[name] = k
	if s.client == name {
		running = s.node
	}
	return running
}

// live reports whether the server has not ended.
func (s *sockets) live() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed
}

// forget forgets a name when any of its sockets ends, also one that another has replaced.
func (s *sockets) forget(name string, k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[k] {
		delete(s.byName, name)
		delete(s.open, k)
	}
}

// drop ends a socket.
func (s *sockets) drop(name string, k *socket) {
	s.forget(name, k)
	k.close()
}

// cut breaks every connection.
func (s *sockets) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for k := range s.open {
		k.close()
	}
}

// freeze lets nothing pass until gate is closed.
func (s *sockets) freeze(gate <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = gate
}

// pass waits while the server is frozen.
func (s *sockets) pass() {
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	<-gate
}

// executing remembers which prompt runs, and its node.
func (s *sockets) executing(client, node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client, s.node = client, node
}

func (s *sockets) named(name string) *socket {
	s.pass()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name]
}

// broadcast sends a message to everybody.
func (s *sockets) broadcast(kind string, data any) {
	for _, k := range s.all() {
		k.send(kind, data)
	}
}

// all returns the socket of each client.
func (s *sockets) all() []*socket {
	s.pass()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byName))
}

// send sends a message to one client.
func (s *sockets) send(name, kind string, data any) {
	if k := s.named(name); k != nil {
		k.send(kind, data)
	}
}

// preview sends a picture in the form that the client understands. Without metadata it sends it as nodes do that send pictures
// themselves.
func (s *sockets) preview(name string, metadata map[string]any, image []byte) {
	k := s.named(name)
	if k == nil {
		return
	}
	k.mu.Lock()
	wanted := k.metadata
	k.mu.Unlock()
	if !wanted || metadata == nil {
		format := uint32(1)
		if bytes.HasPrefix(image, []byte("\x89PNG")) {
			format = 2
		}
		k.write(websocket.BinaryMessage, prefixed(1, format, image))
		return
	}
	head, err := json.Marshal(metadata)
	if err != nil {
		return // a map of texts always encodes
	}
	k.write(websocket.BinaryMessage, prefixed(4, uint32(len(head)), append(head, image...)))
}

// text sends a node's text about its progress to all clients.
func (s *sockets) text(id, text string) {
	for _, k := range s.all() {
		k.write(websocket.BinaryMessage, prefixed(3, uint32(len(id)), []byte(id+text)))
	}
}

// prefixed puts two numbers of four bytes before a body.
func prefixed(first, second uint32, body []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, first)
	return append(binary.BigEndian.AppendUint32(out, second), body...)
}

func (k *socket) send(kind string, data any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.put(kind, data)
}

// put does the work of send; the caller has locked mu.
func (k *socket) put(kind string, data any) {
	raw, err := json.Marshal(map[string]any{"type": kind, "data": data})
	if err != nil {
		return // what the simulator says always encodes
	}
	k.transmit(websocket.TextMessage, raw)
}

// close breaks the connection, even during a write.
func (k *socket) close() {
	if conn := k.conn.Load(); conn != nil {
		conn.Close() //nolint:errcheck // it is over
	}
}

func (k *socket) write(kind int, raw []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.transmit(kind, raw)
}

// transmit sends a message; mu is locked. If the client has disconnected, its reader notices.
func (k *socket) transmit(kind int, raw []byte) {
	conn := k.conn.Load()
	if conn != nil && conn.SetWriteDeadline(time.Now().Add(writeTimeout)) == nil {
		conn.WriteMessage(kind, raw) //nolint:errcheck // see above
	}
}
