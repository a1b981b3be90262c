package peer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Run announces this process and stays connected to its peers until ctx ends.
func (b *Bus) Run(ctx context.Context) error {
	links := &links{bus: b, open: map[string]*link{}}
	defer links.closeAll()
	defer b.deregister(ctx)
	refresh := time.NewTicker(b.opts.Refresh)
	defer refresh.Stop()
	var changed <-chan struct{}
	if b.opts.Interest != nil {
		changed = b.opts.Interest.Changed()
	}
	for {
		if err := b.refresh(ctx, links); err != nil && ctx.Err() == nil {
			b.opts.Log.Warn("peer lookup failed", "error", err)
		}
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-refresh.C:
				again = true
			case <-changed:
				links.subscribe(b.opts.Interest.Accounts())
			}
		}
	}
}

func (b *Bus) deregister(ctx context.Context) {
	if b.opts.Self.URL == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	if err := b.directory.Deregister(ctx, b.opts.Self); err != nil {
		b.opts.Log.Warn("removing this process from the list of peers failed", "error", err)
	}
}

func (b *Bus) refresh(ctx context.Context, links *links) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	peers, err := b.peers(ctx)
	if err == nil && b.opts.Interest != nil {
		links.set(peers, b.opts.Interest.Accounts())
	}
	return err
}

func (b *Bus) peers(ctx context.Context) ([]Replica, error) {
	switch {
	case b.opts.Self.URL != "":
		return b.directory.Announce(ctx, b.opts.Self)
	case b.opts.Interest != nil:
		return b.directory.Peers(ctx)
	}
	return nil, nil
}

// links are the connections to peers. Only Run's goroutine uses them.
type links struct {
	bus  *Bus
	open map[string]*link
}

// set opens links to new peers and closes links to peers that have left.
func (l *links) set(peers []Replica, accounts []string) {
	for id, ln := range l.open {
		if !slices.ContainsFunc(peers, func(p Replica) bool { return p == ln.peer }) {
			ln.close()
			delete(l.open, id)
		}
	}
	for _, p := range peers {
		if p.ID != l.bus.opts.Self.ID && l.open[p.ID] == nil {
			l.open[p.ID] = startLink(l.bus, p, accounts)
		}
	}
}

func (l *links) subscribe(accounts []string) {
	for _, ln := range l.open {
		ln.subscribe(accounts)
	}
}

func (l *links) closeAll() {
	for _, ln := range l.open {
		ln.close()
	}
}

// link is the connection to one peer. It reconnects until it is closed.
type link struct {
	bus     *Bus
	peer    Replica
	stop    context.CancelFunc
	done    sync.WaitGroup
	renewed chan struct{} // holds a token when accounts changed

	mu       sync.Mutex // guards accounts
	accounts []string
}

func startLink(b *Bus, p Replica, accounts []string) *link {
	ctx, cancel := context.WithCancel(context.Background())
	l := &link{bus: b, peer: p, stop: cancel, renewed: make(chan struct{}, 1), accounts: accounts}
	l.done.Go(func() { l.run(ctx) })
	return l
}

func (l *link) close() {
	l.stop()
	l.done.Wait()
}

func (l *link) subscribe(accounts []string) {
	l.mu.Lock()
	l.accounts = accounts
	l.mu.Unlock()
	select {
	case l.renewed <- struct{}{}:
	default:
	}
}

func (l *link) subscribed() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.accounts
}

func (l *link) run(ctx context.Context) {
	for delays := pause.Doubling(50*time.Millisecond, 3*time.Second); ctx.Err() == nil; {
		began := time.Now()
		err := l.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		l.bus.opts.Log.Debug("the stream of a peer ended", "peer", l.peer.ID, "error", err)
		if time.Since(began) > silenceTimeout {
			delays.Reset()
		}
		_ = pause.For(ctx, delays.NextBackOff()) // the loop ends with ctx
	}
}

// follow opens a stream and passes its frames to this process until the stream breaks.
func (l *link) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alive := time.AfterFunc(silenceTimeout, cancel)
	defer alive.Stop()
	res, err := l.request(ctx, http.MethodPost, "", l.subscribed())
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var changes sync.WaitGroup
	defer changes.Wait()
	defer cancel() // runs before the deferred wait
	changes.Go(func() { l.forwardChanges(ctx, cancel, res.Header.Get(streamHeader)) })
	r := bufio.NewReaderSize(res.Body, 64<<10)
	for {
		f, ok, err := readFrame(r)
		if err != nil {
			return err
		}
		alive.Reset(silenceTimeout)
		if !ok {
			continue
		}
		if err := l.bus.local.Publish(ctx, f); err != nil {
			return err
		}
	}
}

// forwardChanges tells the peer the new accounts after each change. If that fails, it ends the stream; the next
// stream starts with the new accounts.
func (l *link) forwardChanges(ctx context.Context, cancel context.CancelFunc, id string) {
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.renewed:
		}
		res, err := l.request(ctx, http.MethodPut, id, l.subscribed())
		if err != nil {
			return
		}
		res.Body.Close()
	}
}

func (l *link) request(ctx context.Context, method, id string, accounts []string) (*http.Response, error) {
	if accounts == nil {
		accounts = []string{}
	}
	body, err := json.Marshal(accounts)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(l.peer.URL, "/")+Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", bearer(l.bus.opts.Secret))
	req.Header.Set(streamHeader, id)
	res, err := l.bus.client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		text, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return nil, errors.Join(fmt.Errorf("peer %s answers %d: %s", l.peer.ID, res.StatusCode, bytes.TrimSpace(text)), err, res.Body.Close())
	}
	return res, nil
}
