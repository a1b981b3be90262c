// Command fanout compares the WebSocket fan-out of Millrace with a bare gorilla/websocket
// broadcast program: the same clients, the same messages, one after the other in one
// process. It prints delivered messages per second when saturated, and the delay from
// publishing to the client at the target rate.
//
//	go run ./bench/fanout -sockets 1000 -rate 20 -seconds 5
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/live"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/stream"
)

func main() {
	sockets := flag.Int("sockets", 1000, "open sockets")
	rate := flag.Int("rate", 20, "messages a second to each socket when measuring the delay")
	seconds := flag.Int("seconds", 5, "length of each measurement")
	flag.Parse()
	length := time.Duration(*seconds) * time.Second
	var saturated [2]float64
	for i, c := range []contender{newBare(), newMillrace()} {
		clients := connect(c.url(), *sockets)
		saturated[i] = saturate(c, clients, length)
		p50, p99 := paced(c, clients, *rate, length)
		fmt.Printf("%-9s saturated %8.0f messages/s   at %d/s each: p50 %v, p99 %v\n", c.name(), saturated[i], *rate, p50, p99)
		clients.close()
		c.close()
	}
	fmt.Printf("ratio     %.2f\n", saturated[1]/saturated[0])
}

// contender broadcasts to the sockets that are connected to it.
type contender interface {
	name() string
	url() string
	broadcast(text []byte)
	close()
}

// bare is a minimal broadcast program: a list of sockets, each with a queue and a writer.
type bare struct {
	server *httptest.Server
	mu     sync.Mutex
	queues map[chan []byte]struct{}
}

func newBare() *bare {
	b := &bare{queues: map[chan []byte]struct{}{}}
	var up websocket.Upgrader
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		queue := make(chan []byte, 1024)
		b.mu.Lock()
		b.queues[queue] = struct{}{}
		b.mu.Unlock()
		if conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"status"}`)) != nil {
			return
		}
		for text := range queue {
			if conn.WriteMessage(websocket.TextMessage, text) != nil {
				return
			}
		}
	}))
	return b
}

func (b *bare) name() string { return "bare" }
func (b *bare) url() string  { return b.server.URL }
func (b *bare) close()       { b.server.CloseClientConnections() }

func (b *bare) broadcast(text []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for q := range b.queues {
		select {
		case q <- text:
		default:
		}
	}
}

// millrace is the API over a hub, without the rest of the service.
type millrace struct {
	server *httptest.Server
	hub    *stream.Hub
}

type hubLive struct{ hub *stream.Hub }

func (l hubLive) Subscribe(_ context.Context, owner string) (*stream.Subscription, stream.Snapshot, error) {
	return l.hub.Subscribe(owner), stream.Snapshot{}, nil
}

func newMillrace() *millrace {
	hub := stream.NewHub(stream.HubOptions{})
	e, err := edge.New(edge.Deps{Auth: account.Anyone{}, Logger: slog.New(slog.DiscardHandler)}, edge.Options{})
	if err != nil {
		log.Fatal(err)
	}
	deps := live.Deps{Edge: e, Source: hubLive{hub}, Features: func() map[string]any { return nil }}
	handler, err := api.New(e, live.New(deps, live.Options{MaxSockets: 1 << 20}))
	if err != nil {
		log.Fatal(err)
	}
	return &millrace{server: httptest.NewServer(handler), hub: hub}
}

func (m *millrace) name() string { return "millrace" }
func (m *millrace) url() string  { return m.server.URL }
func (m *millrace) close()       { m.hub.Stop() }

func (m *millrace) broadcast(text []byte) {
	m.hub.Publish(account.LocalID, &stream.Message{Text: text})
}

// clients count the messages that arrive and, if requested, measure their latency.
type clients struct {
	conns    []*websocket.Conn
	received atomic.Int64
	mu       sync.Mutex
	delays   []time.Duration
}

func connect(url string, n int) *clients {
	c := &clients{}
	for range n {
		conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/ws", nil)
		if err != nil {
			log.Fatal(err)
		}
		if _, _, err := conn.ReadMessage(); err != nil { // the greeting
			log.Fatal(err)
		}
		c.conns = append(c.conns, conn)
		go c.read(conn)
	}
	return c
}

// padding extends a message to the size of an ordinary progress message.
var padding = strings.Repeat("x", 120)

func message(at time.Time) []byte {
	return fmt.Appendf(nil, `{"type":"progress","data":{"at":%d,"padding":%q}}`, at.UnixNano(), padding)
}

func (c *clients) read(conn *websocket.Conn) {
	const before = len(`{"type":"progress","data":{"at":`)
	for {
		_, raw, err := conn.ReadMessage()
		if err != nil {
			return
		}
		if n := c.received.Add(1); n%16 == 0 { // a sample is enough
			if at, err := strconv.ParseInt(string(raw[before:before+19]), 10, 64); err == nil {
				delay := time.Since(time.Unix(0, at))
				c.mu.Lock()
				c.delays = append(c.delays, delay)
				c.mu.Unlock()
			}
		}
	}
}

func (c *clients) close() {
	for _, conn := range c.conns {
		conn.Close()
	}
}

// saturate keeps a bounded number of messages in flight and counts the messages that arrive.
func saturate(c contender, cl *clients, length time.Duration) float64 {
	const inFlight = 64 // per socket: far below what either queue holds
	begin := time.Now()
	var sent int64
	for time.Since(begin) < length {
		if sent-cl.received.Load() > int64(inFlight*len(cl.conns)) {
			time.Sleep(100 * time.Microsecond)
			continue
		}
		c.broadcast(message(time.Now()))
		sent += int64(len(cl.conns))
	}
	total := float64(cl.received.Load()) / time.Since(begin).Seconds()
	for idle, last := 0, int64(-1); idle < 10; { // let the rest arrive
		time.Sleep(50 * time.Millisecond)
		if now := cl.received.Load(); now == last {
			idle++
		} else {
			idle, last = 0, now
		}
	}
	return total
}

func paced(c contender, cl *clients, rate int, length time.Duration) (p50, p99 time.Duration) {
	cl.mu.Lock()
	cl.delays = nil
	cl.mu.Unlock()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for end := time.Now().Add(length); time.Now().Before(end); {
		<-tick.C
		c.broadcast(message(time.Now()))
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if len(cl.delays) == 0 {
		return 0, 0
	}
	slices.Sort(cl.delays)
	return cl.delays[len(cl.delays)/2], cl.delays[len(cl.delays)*99/100]
}
