package comfyui

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Limits of a socket.
const (
	maxFrame     = 64 << 20 // a picture or the text output of a node
	pingsPer     = 6        // pings during the longest allowed silence of a server
	writeTimeout = 5 * time.Second
	closeTimeout = time.Second            // time limit for the server to confirm the end of a socket
	firstPause   = 100 * time.Millisecond // before the first reconnection
	longestPause = 2 * time.Second        // before later ones
)

// capabilities is the first message of a client: it requests previews that name their node.
const capabilities = `{"type":"feature_flags","data":{"supports_preview_metadata":true}}`

// Follow implements Prompts.
func (c *Client) Follow(ctx context.Context, client string, deliver func(Event) error) error {
	f := &follower{client: c, name: client, deliver: deliver}
	conn, err := f.connect(ctx)
	if err != nil {
		return err
	}
	for again := false; ; again = true {
		err := f.read(ctx, conn, again)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var refused *deliveryError
		if errors.As(err, &refused) {
			return refused.cause
		}
		silent := f.silent()
		if err := deliver(Disconnected{Err: err}); err != nil {
			return err
		}
		if silent {
			return f.silence(err)
		}
		if conn, err = f.reconnect(ctx); err != nil {
			return err
		}
	}
}

// follower is one call of Follow.
type follower struct {
	client      *Client
	name        string
	deliver     func(Event) error
	lastMessage atomic.Int64 // when the server last sent a message or a pong, in Unix nanoseconds
}

// deliveryError is an error of the caller's function.
type deliveryError struct{ cause error }

// Error implements error.
func (e *deliveryError) Error() string { return e.cause.Error() }

func (f *follower) markAlive() { f.lastMessage.Store(time.Now().UnixNano()) }

// silent reports whether the server was silent for too long.
func (f *follower) silent() bool {
	return time.Since(time.Unix(0, f.lastMessage.Load())) > f.client.silenceTimeout
}

func (f *follower) silence(err error) error {
	return fault.Wrap(err, fault.Unavailable, fault.CodeServerSilent, "the server has sent nothing for %s", f.client.silenceTimeout)
}

func (f *follower) connect(ctx context.Context) (*websocket.Conn, error) {
	address := f.client.url("/ws", url.Values{"clientId": {f.name}})
	address.Scheme = map[string]string{"http": "ws", "https": "wss"}[address.Scheme]
	conn, res, err := f.client.dialer.DialContext(ctx, address.String(), f.client.header)
	if err != nil {
		return nil, f.client.handshakeError(ctx, res, err)
	}
	conn.SetReadLimit(maxFrame)
	f.markAlive()
	return conn, nil
}

// handshakeError classifies the error of a socket that could not be opened.
func (c *Client) handshakeError(ctx context.Context, res *http.Response, err error) error {
	if res == nil || !errors.Is(err, websocket.ErrBadHandshake) {
		return c.transportError(ctx, err)
	}
	defer res.Body.Close() // only the status of the answer matters
	c.redact(res)
	if refused := refusal(res.StatusCode, res.Header.Get("Location")); refused != nil {
		return refused
	}
	return statusError(response{status: res.StatusCode})
}

// reconnect opens another socket, for as long as the server may be silent. It returns at once if the server refuses
// the client.
func (f *follower) reconnect(ctx context.Context) (*websocket.Conn, error) {
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		if err := pause.For(ctx, wait); err != nil {
			return nil, err
		}
		conn, err := f.connect(ctx)
		if err == nil {
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !fault.Is(err, fault.Unavailable) {
			return nil, err
		}
		if f.silent() {
			return nil, f.silence(err)
		}
	}
}

// read delivers the messages of a socket until it breaks, the caller's function fails, or ctx ends.
func (f *follower) read(ctx context.Context, conn *websocket.Conn, again bool) error {
	pings := make(chan struct{})
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { closeSocket(conn) })
	go func() { defer close(done); f.ping(conn, pings) }()
	defer func() {
		if stop() {
			closeSocket(conn)
		}
		if !f.silent() {
			drain(conn)
		}
		close(pings)
		conn.Close() //nolint:errcheck // the socket is closed or broken already
		<-done
	}()

	conn.SetPongHandler(func(string) error { return f.extend(ctx, conn) })
	if err := f.announce(conn); err != nil {
		return err
	}
	if err := f.deliver(Connected{Reconnected: again}); err != nil {
		return &deliveryError{err}
	}
	for {
		if err := f.next(ctx, conn); err != nil {
			return err
		}
	}
}

// closeSocket closes the socket with a close message. A server forgets the name of a client when any of its sockets ends,
// so it has to notice this end before the next socket of that name opens.
func closeSocket(conn *websocket.Conn) {
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	until := time.Now().Add(closeTimeout)
	// on a broken socket the message may fail
	_ = errors.Join(conn.WriteControl(websocket.CloseMessage, bye, until), conn.SetReadDeadline(until))
}

// drain reads until the server confirms the end, or the socket breaks.
func drain(conn *websocket.Conn) {
	for {
		if _, _, err := conn.NextReader(); err != nil {
			return
		}
	}
}

// announce sends the capabilities of this client to the server.
func (f *follower) announce(conn *websocket.Conn) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return f.client.brokenSocket(err)
	}
	return f.client.brokenSocket(conn.WriteMessage(websocket.TextMessage, []byte(capabilities)))
}

// extend starts the time of allowed silence again, unless the client is leaving.
func (f *follower) extend(ctx context.Context, conn *websocket.Conn) error {
	f.markAlive()
	return grant(ctx, conn, f.client.silenceTimeout)
}

// grant sets how long the next read may wait.
func grant(ctx context.Context, conn *websocket.Conn, silence time.Duration) error {
	err := conn.SetReadDeadline(time.Now().Add(silence))
	if ctx.Err() != nil {
		err = conn.SetReadDeadline(time.Now().Add(closeTimeout))
	}
	return err
}

// next reads and delivers one message. It sets the deadline again, since deliver may have taken any time.
func (f *follower) next(ctx context.Context, conn *websocket.Conn) error {
	if err := f.extend(ctx, conn); err != nil {
		return f.client.brokenSocket(err)
	}
	kind, raw, err := conn.ReadMessage()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return f.client.brokenSocket(err)
	}
	f.markAlive()
	parse := parseText
	if kind == websocket.BinaryMessage {
		parse = parseBinary
	}
	var event Event
	if err = checkShape(kind, raw); err == nil {
		event, err = parse(f.client.secrets.Bytes(raw))
	}
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, fault.CodeServerGarbage, "a message of the server does not have the form of a ComfyUI message")
	}
	if err := f.deliver(event); err != nil {
		return &deliveryError{err}
	}
	return nil
}

// ping sends pings to the server until stop is closed.
func (f *follower) ping(conn *websocket.Conn, stop <-chan struct{}) {
	ticker := time.NewTicker(max(f.client.silenceTimeout/pingsPer, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			// If a ping cannot be sent, the read that it would have kept alive fails.
			_ = conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout)) // see above
		}
	}
}

func (c *Client) brokenSocket(err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(c.readable(err), fault.Unavailable, fault.CodeServerLost, "the socket of the server broke")
}
