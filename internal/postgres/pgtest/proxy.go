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

// Proxy is a way to a server that can be lost as networks lose them: cut, or black, so that neither end is told;
// and at the worst moment, behind a commit and before its answer.
type Proxy struct {
	url      string
	network  string
	address  string
	listener net.Listener
	outage   atomic.Bool

	mu    sync.Mutex // guards all below
	links map[*link]bool
	losing
}

// losing is an answer that is to be lost; matches is nil when none is.
type losing struct {
	matches func(tag string) bool
	times   int
	done    chan struct{}
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

// URL is the connection string of the database by way of the proxy.
func (p *Proxy) URL() string { return p.url }

// Cut closes every connection.
func (p *Proxy) Cut() {
	for _, l := range p.all() {
		l.close()
	}
}

// Blacken loses every connection that there is now, and tells neither end: what they say from now on is
// swallowed. New ones are not concerned.
func (p *Proxy) Blacken() {
	for _, l := range p.all() {
		l.black.Store(true)
	}
}

// Outage has new connections come to nothing as well, while on.
func (p *Proxy) Outage(on bool) {
	p.outage.Store(on)
	if on {
		p.Blacken()
	}
}

// LoseAnswer cuts the next connection on which a statement succeeds whose command tag begins with tag, such as
// COMMIT, before its client hears of it. The channel is closed when that has happened.
func (p *Proxy) LoseAnswer(tag string) <-chan struct{} { return p.LoseAnswers(tag, 1) }

// LoseAnswers is LoseAnswer several times over.
func (p *Proxy) LoseAnswers(tag string, times int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losing = losing{
		matches: func(got string) bool { return strings.HasPrefix(got, tag) }, times: times, done: make(chan struct{}),
	}
	return p.done
}

func (p *Proxy) loses(tag string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.matches == nil || !p.matches(tag) {
		return false
	}
	if p.times--; p.times == 0 {
		p.matches = nil
	}
	return true
}

// lost says that an answer is gone.
func (p *Proxy) lost() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.matches == nil && p.done != nil {
		close(p.done)
		p.done = nil
	}
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
		server, err := net.Dial(p.network, p.address)
		if err != nil {
			_ = client.Close() // as a server that is away refuses it
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
	_ = errors.Join(l.client.Close(), l.server.Close()) // either may be closed by its end
}

// up carries what the client says.
func (l *link) up() {
	_, _ = io.Copy(writerTo{l, l.server}, l.client) // ends with the connection
	if !l.black.Load() {
		l.close()
	}
}

// down carries what the server says, message by message.
func (l *link) down() {
	from, to := bufio.NewReader(l.server), bufio.NewWriter(writerTo{l, l.client})
	defer func() {
		if !l.black.Load() {
			l.close()
		}
	}()
	for withheld := false; ; {
		var head [5]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		withheld = withheld || head[0] == 'C' && l.proxy.loses(strings.TrimRight(string(body), "\x00"))
		if withheld {
			if head[0] == 'Z' { // ready for the next one: what was asked for is done
				l.close()
				l.proxy.lost()
				return
			}
			continue
		}
		_, _ = to.Write(append(head[:], body...)) // a failure shows in the flush
		if from.Buffered() == 0 && to.Flush() != nil {
			return
		}
	}
}

// writerTo writes to one end while the link is not black.
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
