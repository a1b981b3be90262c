//go:build unix

package pgtest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Proxy forwards connections to a server and injects network failures: it closes connections or silently drops all
// data, if requested after a commit and before its answer.
type Proxy struct {
	url      string
	network  string
	address  string
	listener net.Listener
	outage   atomic.Bool
	stopped  atomic.Bool
	executed atomic.Int64

	mu    sync.Mutex // guards all below
	links map[*link]bool
	held  map[string]chan struct{} // by application name; closed by release
	lostMessage
}

// lostMessage describes the next message to lose: the answer to a statement, or the statement itself.
type lostMessage struct {
	answer, statement string // "" = not
	done              chan struct{}
}

// NewProxy returns a proxy to the server of dsn, until the test ends.
func NewProxy(t testing.TB, dsn string) *Proxy {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatalf("proxy: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("proxy: %v", err)
	}
	p := &Proxy{listener: l, links: map[*link]bool{}}
	p.network, p.address = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	user := url.User(cfg.User)
	if cfg.Password != "" {
		user = url.UserPassword(cfg.User, cfg.Password)
	}
	p.url = (&url.URL{Scheme: "postgres", User: user, Host: l.Addr().String(), Path: "/" + cfg.Database, RawQuery: "sslmode=disable"}).String()
	var running sync.WaitGroup
	running.Go(func() { p.serve(&running) })
	t.Cleanup(func() {
		_ = l.Close()
		p.Cut()
		running.Wait()
	})
	return p
}

// URL returns the connection string of the database through the proxy.
func (p *Proxy) URL() string { return p.url }

// Executed returns how many statements clients had the server execute.
func (p *Proxy) Executed() int64 { return p.executed.Load() }

// Cut closes every connection.
func (p *Proxy) Cut() {
	for _, l := range p.all() {
		l.close()
	}
}

// Blacken drops all further data of the existing connections without closing them. It does not affect new
// connections.
func (p *Proxy) Blacken() {
	for _, l := range p.all() {
		l.black.Store(true)
	}
}

// Outage closes all connections and refuses new ones while on is set.
func (p *Proxy) Outage(on bool) {
	p.outage.Store(on)
	if on {
		p.Blacken()
	}
}

// Stop closes every connection and, while on, each new one at once, as where a server was stopped.
func (p *Proxy) Stop(on bool) {
	p.stopped.Store(on)
	if on {
		p.Cut()
	}
}

// LoseAnswer closes the next connection on which a statement succeeds whose command tag begins with tag, such as
// COMMIT, before its client receives the answer. The returned channel is closed when that has happened.
func (p *Proxy) LoseAnswer(tag string) <-chan struct{} { return p.lose(lostMessage{answer: tag}) }

// LoseStatement closes the next connection on which a client sends a statement with this prefix, before the server
// receives it. The server receives all earlier messages.
func (p *Proxy) LoseStatement(sql string) <-chan struct{} { return p.lose(lostMessage{statement: sql}) }

// Hold holds back every statement of the sessions with an application name until release is called, which the test must do.
func (p *Proxy) Hold(application string) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := make(chan struct{})
	p.held = map[string]chan struct{}{application: held}
	return sync.OnceFunc(func() { close(held) })
}

// awaitRelease waits while the statements of an application are held back.
func (p *Proxy) awaitRelease(application string) {
	p.mu.Lock()
	held := p.held[application]
	p.mu.Unlock()
	if held != nil {
		<-held
	}
}

func (p *Proxy) lose(what lostMessage) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	what.done = make(chan struct{})
	p.lostMessage = what
	return what.done
}

// claimLoss takes the next message to lose if is matches it.
func (p *Proxy) claimLoss(is func(lostMessage) bool) (done chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil || !is(p.lostMessage) {
		return nil
	}
	done, p.lostMessage = p.done, lostMessage{}
	return done
}

func (p *Proxy) all() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	return links
}

func (p *Proxy) serve(running *sync.WaitGroup) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.stopped.Load() {
			_ = client.Close()
			continue
		}
		server, err := net.Dial(p.network, p.address)
		if err != nil {
			_ = client.Close() // as a server that is down does
			continue
		}
		l := &link{proxy: p, client: client, server: server}
		l.black.Store(p.outage.Load())
		p.mu.Lock()
		p.links[l] = true
		p.mu.Unlock()
		running.Go(l.up)
		running.Go(l.down)
	}
}

// link is one connection through the proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	black          atomic.Bool
}

func (l *link) close() {
	l.proxy.mu.Lock()
	delete(l.proxy.links, l)
	l.proxy.mu.Unlock()
	_ = errors.Join(l.client.Close(), l.server.Close()) // each may be closed already
}

// over ends one direction of the link.
func (l *link) over() {
	if !l.black.Load() {
		l.close()
	}
}

// up forwards the client's data, message by message after the first one, which has no type.
func (l *link) up() {
	defer l.over()
	from, to := bufio.NewReader(l.client), bufio.NewWriter(writerTo{l, l.server})
	names := map[string]string{} // prepared statements
	var application string
	for typed := false; ; typed = true {
		head, body, err := message(from, typed)
		if err != nil {
			return
		}
		if _, after, ok := strings.Cut(string(body), "application_name\x00"); ok && !typed {
			application, _, _ = strings.Cut(after, "\x00")
		}
		if typed {
			if head[0] == 'Q' || head[0] == 'P' { // a query, or a statement to prepare
				l.proxy.awaitRelease(application)
			}
			if head[0] == 'Q' || head[0] == 'E' { // a query, or the execution of a prepared statement
				l.proxy.executed.Add(1)
			}
			sql := statement(head[0], string(body), names)
			if done := l.proxy.claimLoss(func(w lostMessage) bool { return w.statement != "" && begins(sql, w.statement) }); done != nil {
				_ = to.Flush() // earlier messages arrive
				l.close()
				close(done)
				return
			}
		}
		_, _ = to.Write(append(head, body...)) // the flush returns the error
		if from.Buffered() == 0 && to.Flush() != nil {
			return
		}
	}
}

func begins(sql, with string) bool {
	return len(sql) >= len(with) && strings.EqualFold(sql[:len(with)], with)
}

// statement returns the SQL that a message makes the server execute, or "".
func statement(kind byte, body string, names map[string]string) string {
	first, rest, _ := strings.Cut(body, "\x00")
	second, _, _ := strings.Cut(rest, "\x00")
	switch kind {
	case 'Q': // a query
		return first
	case 'P': // parse: a name, and a text
		names[first] = second
	case 'B': // bind: a portal, and a name
		return names[second]
	}
	return ""
}

// down forwards the server's data, message by message.
func (l *link) down() {
	defer l.over()
	from, to := bufio.NewReader(l.server), bufio.NewWriter(writerTo{l, l.client})
	var lost chan struct{}
	for {
		head, body, err := message(from, true)
		if err != nil {
			return
		}
		if lost == nil && head[0] == 'C' { // a statement is complete
			lost = l.proxy.claimLoss(func(w lostMessage) bool { return w.answer != "" && strings.HasPrefix(string(body), w.answer) })
		}
		if lost != nil {
			if head[0] == 'Z' { // ready for query: the statements are done
				l.close()
				close(lost)
				return
			}
			continue
		}
		_, _ = to.Write(append(head, body...)) // as above
		if from.Buffered() == 0 && to.Flush() != nil {
			return
		}
	}
}

// message reads one message: its type, if it has one, with its length, and its body.
func message(from io.Reader, typed bool) (head, body []byte, err error) {
	head = make([]byte, 4, 5)
	if typed {
		head = head[:5]
	}
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)
	_, err = io.ReadFull(from, body)
	return head, body, err
}

// writerTo writes to one end until the link is blackened.
type writerTo struct {
	link *link
	conn net.Conn
}

func (w writerTo) Write(b []byte) (int, error) {
	if w.link.black.Load() {
		return len(b), nil
	}
	return w.conn.Write(b)
}
