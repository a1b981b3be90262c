package live

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/fanout"
)

// Times and sizes of a socket. The ping interval must be well below the pong wait.
const (
	socketPing      = 25 * time.Second
	socketPongWait  = 60 * time.Second
	socketWrite     = 10 * time.Second // a client that reads nothing for this long is disconnected
	socketReadLimit = 64 << 10         // clients send little more than feature flags
)

func (s *Surface) socketRoutes() []edge.Route {
	return edge.Cloud(edge.Route{Method: http.MethodGet, Path: "/ws", Live: true, Handle: s.getSocket})
}

// getSocket upgrades to a WebSocket: GET /ws?clientId=&token=. The credential was checked before, so a wrong one is a
// plain 401.
func (s *Surface) getSocket(c *gin.Context) error {
	if !websocket.IsWebSocketUpgrade(c.Request) {
		return httperr.Invalidf("this path is a WebSocket: send an upgrade request")
	}
	secret, err := s.Edge.RequestSecret(c)
	if err != nil {
		return err
	}
	owner := edge.Caller(c).Account
	if !s.sockets.Acquire(owner) {
		return httperr.RetryLater(time.Second, fault.CodeTooManySockets, "the account has too many open sockets; close one and try again")
	}
	defer s.sockets.Release(owner)
	sub, snap, err := s.Source.Subscribe(c.Request.Context(), owner)
	if err != nil {
		return err
	}
	defer sub.Close()
	client := c.Query("clientId")
	if len(client) > jobio.MaxClientID {
		return httperr.Invalidf("clientId is longer than %d characters", jobio.MaxClientID)
	}
	hijack := &hijacker{ResponseWriter: c.Writer, pool: &s.batches}
	up := websocket.Upgrader{
		HandshakeTimeout: socketWrite, ReadBufferSize: 1 << 10, WriteBufferPool: &s.buffers,
		CheckOrigin: func(*http.Request) bool { return true }, // guardHost or RequestSecret has checked the origin
		Error:       refuseUpgrade,
	}
	conn, err := up.Upgrade(hijack, c.Request, nil)
	if err != nil {
		return nil // Upgrade has answered through refuseUpgrade, or closed the connection
	}
	defer conn.Close() // closed already, unless serve panicked: nothing else ends a connection that was taken over
	so := &socket{
		every: s.Edge.Recheck(), check: func() bool { return s.Edge.StillValid(c.Request.Context(), secret, owner) },
		conn: conn, out: hijack.conn, sub: sub, client: client, byClient: s.opts.RouteByClient,
		replies: make(chan []byte, 1), pongs: make(chan string, 1), left: make(chan struct{}),
	}
	so.serve(snap, s.Features())
	return nil
}

func refuseUpgrade(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	raw, err := json.Marshal(httperr.CloudEnvelope{Code: fault.CodeInvalidRequest, Message: strings.TrimPrefix(reason.Error(), "websocket: ")})
	if err != nil {
		panic(err) // strings always marshal
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	if _, err := w.Write(raw); err != nil {
		return // the client has left
	}
}

// socket is one WebSocket with two goroutines, a reader and a writer; serve runs the writer. Only the writer uses
// out, except for gorilla's own close frames.
type socket struct {
	conn     *websocket.Conn
	out      *batchConn
	sub      *stream.Subscription
	client   string
	byClient bool
	turns    turns
	every    time.Duration // between two checks
	check    func() bool   // reports whether the credential is still valid

	metadata atomic.Bool   // the client reads previews with metadata (type 4)
	replies  chan []byte   // from the reader to the writer
	pongs    chan string   // payloads of pings to answer
	left     chan struct{} // closed by the reader when the client has left
	code     int           // of the close frame; set by the reader before gone is closed
}

// serve returns when the connection has ended.
func (so *socket) serve(snap stream.Snapshot, features map[string]any) {
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(so.left)
		so.read(features)
	})
	so.write(snap)
	_ = so.conn.Close() // ends the reader; an error has no consequence
	reader.Wait()
}

type flagsMessage struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// read reads feature flags from the client's first message and ignores later messages.
func (so *socket) read(features map[string]any) {
	so.code = websocket.CloseNormalClosure
	so.conn.SetReadLimit(socketReadLimit)
	so.extend()
	so.conn.SetPongHandler(func(string) error { so.extend(); return nil })
	so.conn.SetPingHandler(func(payload string) error {
		so.extend()
		select {
		case so.pongs <- payload:
		default: // one pong answers all pings before it
		}
		return nil
	})
	so.conn.SetCloseHandler(func(int, string) error { return nil }) // the writer sends the close frame
	for first := true; ; first = false {
		kind, raw, err := so.conn.ReadMessage()
		switch {
		case errors.Is(err, websocket.ErrReadLimit):
			so.code = websocket.CloseMessageTooBig
		case err == nil && kind == websocket.TextMessage && !utf8.Valid(raw):
			so.code = websocket.CloseInvalidFramePayloadData
		case err == nil:
			so.extend()
			if first {
				so.negotiate(raw, features)
			}
			continue
		}
		return
	}
}

// extend extends the read deadline by the pong wait. On a closed connection it fails, and the next read reports the
// error.
func (so *socket) extend() { _ = so.conn.SetReadDeadline(time.Now().Add(socketPongWait)) }

func (so *socket) negotiate(raw []byte, features map[string]any) {
	var message flagsMessage
	if json.Unmarshal(raw, &message) != nil || message.Type != "feature_flags" {
		return
	}
	var flags struct {
		PreviewMetadata bool `json:"supports_preview_metadata"`
	}
	if json.Unmarshal(message.Data, &flags) == nil {
		so.metadata.Store(flags.PreviewMetadata)
	}
	reply, err := json.Marshal(map[string]any{"type": "feature_flags", "data": features})
	if err != nil {
		return // plain values always marshal
	}
	so.replies <- reply // there is one first message, and the channel buffers one
}

// write sends the first frame and then all published messages, until either side ends the connection.
func (so *socket) write(snap stream.Snapshot) {
	ping := time.NewTicker(socketPing)
	defer ping.Stop()
	recheck := time.NewTicker(so.every)
	defer recheck.Stop()
	if so.sendFirst(snap) != nil {
		return
	}
	for {
		var err error
		select {
		case <-so.left:
			so.sendClose(so.code, "")
			return
		case reply := <-so.replies:
			err = so.batch(func() error { return so.conn.WriteMessage(websocket.TextMessage, reply) })
		case payload := <-so.pongs:
			err = so.control(websocket.PongMessage, payload)
		case <-ping.C:
			err = so.control(websocket.PingMessage, "")
		case <-recheck.C:
			if !so.check() {
				so.sendClose(websocket.ClosePolicyViolation, string(fault.CodeUnauthorized))
				return
			}
		case <-so.sub.Ready():
			err = so.forward()
		}
		if err != nil {
			so.end(err)
			return
		}
	}
}

// sendFirst sends the first frame. A client that reconnects also gets the node that its job executes, and one that connects just
// after the end of its job gets the last messages of the job.
func (so *socket) sendFirst(snap stream.Snapshot) error {
	sid := so.client
	if sid == "" {
		sid = strings.ReplaceAll(uuid.NewString(), "-", "")
	}
	return so.batch(func() error {
		if err := so.conn.WriteMessage(websocket.TextMessage, fanout.StatusText(snap.Remaining, sid)); err != nil {
			return err
		}
		for _, m := range snap.Ended {
			if so.client == "" || m.ClientID != so.client {
				continue
			}
			if err := so.sendNow(m); err != nil {
				return err
			}
		}
		for _, live := range snap.Jobs {
			if so.client == "" || live.Job.ClientID != so.client || live.Job.InTurn && so.turns.job != "" {
				continue
			}
			if live.Job.InTurn {
				so.turns.job = live.Job.ID
			}
			if live.LastNode == "" {
				continue
			}
			if err := so.conn.WriteMessage(websocket.TextMessage, fanout.ReconnectText(live.LastNode)); err != nil {
				return err
			}
		}
		return nil
	})
}

// forward sends all queued messages in one network write, so that a slow socket catches up with fewer system calls.
func (so *socket) forward() error {
	messages, err := so.sub.Take()
	if err != nil {
		return err
	}
	return so.batch(func() error {
		for _, m := range messages {
			if err := so.send(m); err != nil {
				return err
			}
		}
		return nil
	})
}

func (so *socket) send(m *stream.Message) error {
	// A client that follows one job at a time would give it up at the start of another client's job.
	if (so.byClient || so.turns.job != "" && m.Job != "") && !m.Broadcast && m.ClientID != so.client {
		return nil
	}
	if !m.InTurn || so.client == "" || m.ClientID != so.client {
		return so.sendNow(m)
	}
	messages, err := so.turns.pass(m)
	for _, m := range messages {
		if err == nil {
			err = so.sendNow(m)
		}
	}
	return err
}

func (so *socket) sendNow(m *stream.Message) error {
	w, ok := m.Rendered(renderWire).(wireForms)
	if !ok {
		return errors.New("the message was not rendered for sockets")
	}
	frame := w.plain
	if so.metadata.Load() && w.described != nil {
		frame = w.described
	}
	if frame == nil {
		return nil
	}
	return so.conn.WriteMessage(w.kind, frame)
}

func (so *socket) batch(write func() error) error {
	so.out.buffer()
	if err := write(); err != nil {
		return err
	}
	return so.out.flush()
}

func (so *socket) control(kind int, payload string) error {
	return so.batch(func() error { return so.conn.WriteControl(kind, []byte(payload), time.Now().Add(socketWrite)) })
}

// end sends a close frame with the reason why the server ends the connection: 1013 if the client should reconnect,
// 1001 if this process stops.
func (so *socket) end(err error) {
	var closed *stream.Closed
	if !errors.As(err, &closed) {
		return // the connection has failed
	}
	code := websocket.CloseTryAgainLater
	switch closed.Reason {
	case stream.CloseSlow, stream.CloseLost:
	case stream.CloseShutdown:
		code = websocket.CloseGoingAway
	case stream.CloseGone:
		code = websocket.CloseNormalClosure
	}
	so.sendClose(code, string(closed.Reason))
}

// sendClose sends a close frame. A client that has left does not receive it.
func (so *socket) sendClose(code int, reason string) {
	_ = so.control(websocket.CloseMessage, string(websocket.FormatCloseMessage(code, reason)))
}
