// Package placement keeps a process's view of the ComfyUI servers: it probes them, adds their classes to the registry
// of node classes, and assigns servers to waiting segments. It keeps one promise: a waiting segment gets the first
// server that the rules of package server assign to it, in whichever process it waits. Running the segment is left to
// package driving, storing rows to the store.
package placement

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	"github.com/millrace-dev/millrace/internal/engine/segment"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Store stores servers, waits and leases; serverstore.Store implements it.
type Store interface {
	Servers(ctx context.Context) ([]*server.Server, error)
	Claim(ctx context.Context, every time.Duration) ([]server.ID, error)
	RecordProbe(ctx context.Context, s *server.Server) error
	MarkAway(ctx context.Context, id server.ID, problem string) error
	RecordOutcome(ctx context.Context, id server.ID, o server.Outcome) error
	Expire(ctx context.Context) error
	Sweep(ctx context.Context, age time.Duration) error
	KeepClasses(ctx context.Context, digest string, body []byte) error
	Classes(ctx context.Context, digest string) ([]byte, error)
	RemovedClasses(ctx context.Context) (bodies map[string][]byte, order []string, err error)
	ForgetClasses(ctx context.Context) error
	Orphans(ctx context.Context, id server.ID) ([]string, error)
	ForgetOrphan(ctx context.Context, id server.ID, prompt string) error
	Loads(ctx context.Context) (map[server.ID]map[string]time.Duration, error)
	Leases
}

// Leases is the part of a Store that placement of segments uses.
type Leases interface {
	KeepWaiting(ctx context.Context, holder string, keys []server.Key) (kept []server.Key, err error)
	WhyWaiting(ctx context.Context, k server.Key) (reason string, ahead int, err error)
	StopWaiting(ctx context.Context, w server.Wait) error
	Place(ctx context.Context, r server.Round, decide server.Decide) (made []server.Lease, mine bool, err error)
	OfSegments(ctx context.Context, keys []server.Key) ([]server.Lease, error)
	Retake(ctx context.Context, k server.Key, holder string) (server.Lease, error)
	Renew(ctx context.Context, l server.Lease) (bool, error)
	Record(ctx context.Context, l server.Lease, events eventlog.Append, result json.RawMessage) ([]eventlog.Recorded, error)
	Drop(ctx context.Context, l server.Lease) error
	Orphan(ctx context.Context, l server.Lease) error
	GiveUpRun(ctx context.Context, ref job.RunRef) ([]server.ID, error)
	Loaded(ctx context.Context, id server.ID, models []string, took time.Duration) error
}

// Options configure a Pool. The zero value works.
type Options struct {
	Every   time.Duration                              // between two probes of a server; default 2 s
	Lacks   func(class string) string                  // the route of a pack that a class needs and that is not relayed, or ""; nil = none
	Home    func(server string) string                 // address at which a server reaches this service, "" = unknown; nil = none
	Silence time.Duration                              // how long a slow server may fail to answer before it counts as away; default 30 s
	Pools   func(context.Context) ([]pool.Pool, error) // pools of machines; nil = none
	Log     *slog.Logger
}

// Pool is a process's view of the servers.
type Pool struct {
	store   Store
	dial    func(*server.Server) (comfyui.Server, error)
	classes *node.Registry
	holder  string // name of this process in leases
	opts    Options
	wake    chan struct{}  // the view must be read again
	rounds  chan struct{}  // a segment may be placed
	granted chan struct{}  // another process may have placed a segment of this one
	givenUp chan server.ID // servers with prompts to cancel at once
	reread  chan server.ID // servers whose files have changed
	inRound chan struct{}  // capacity 1: has an element during a round

	mu        sync.Mutex // guards all fields below
	servers   []*server.Server
	machines  []machines // of pools
	clients   map[server.ID]client
	documents map[string]*remote.Document
	damaged   map[string]damaged // stored definitions that cannot be read, by digest
	extended  []string           // digests of the classes that extend the registry
	offered   map[string]bool    // classes of servers
	loads     map[server.ID]map[string]time.Duration
	waiting   map[server.Key]*waiter
	vacated   []server.Lease // not recorded in the store yet
	probing   map[server.ID]bool
}

// damaged says why stored definitions cannot be read, and when this was found.
type damaged struct {
	problem string
	at      time.Time
}

// client is a connection to a server, valid until the server's row changes.
type client struct {
	comfyui.Server
	url    string
	sealed string
}

// New returns the pool of a process. dial makes the client of a server; classes is extended by the classes of
// servers.
func New(store Store, dial func(*server.Server) (comfyui.Server, error), classes *node.Registry, holder string, opts Options) *Pool {
	opts.Every = cmp.Or(opts.Every, 2*time.Second)
	opts.Silence = cmp.Or(opts.Silence, 30*time.Second)
	return &Pool{
		store: store, dial: dial, classes: classes, holder: holder, opts: opts, wake: make(chan struct{}, 1), rounds: make(chan struct{}, 1),
		granted: make(chan struct{}, 1),
		givenUp: make(chan server.ID, 64), reread: make(chan server.ID, 64), inRound: make(chan struct{}, 1),
		clients: map[server.ID]client{}, documents: map[string]*remote.Document{}, damaged: map[string]damaged{}, offered: map[string]bool{},
		waiting: map[server.Key]*waiter{}, probing: map[server.ID]bool{},
	}
}

// Store returns the store of the pool.
func (p *Pool) Store() Store { return p.store }

// Holder returns the name of this process in leases.
func (p *Pool) Holder() string { return p.holder }

// Notify reports a change: a server was registered or a lease has ended.
func (p *Pool) Notify() {
	signal(p.wake)
}

const (
	// refreshEvery is how old the view of the servers may become while servers are registered.
	refreshEvery = time.Second
	// idleEvery is how old the view may become while no server is registered: a registration is an event, at which Notify is called.
	idleEvery = 15 * time.Second
)

// hasServers reports whether servers are registered.
func (p *Pool) hasServers() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.servers) > 0
}

// Run keeps the view of the servers current until ctx ends.
func (p *Pool) Run(ctx context.Context) error {
	for {
		wait := refreshEvery
		if n, err := p.Refresh(ctx); err != nil && ctx.Err() == nil {
			p.opts.Log.Warn("server read failed", "error", err)
		} else if n == 0 {
			wait = idleEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.wake:
		case <-time.After(wait):
		}
	}
}

// Refresh reads the servers, and extends the registry of classes if the servers' classes have changed. It returns the
// number of servers.
func (p *Pool) Refresh(ctx context.Context) (int, error) {
	all, err := p.store.Servers(ctx)
	if err != nil {
		return 0, err
	}
	loads, err := p.store.Loads(ctx)
	if err != nil {
		return 0, err
	}
	if err := p.loadDocuments(ctx, all); err != nil {
		return 0, err
	}
	pools, err := p.readPools(ctx)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.servers, p.loads, p.machines = all, loads, pools
	return len(all) + len(pools), p.extend()
}

// loadDocuments reads the class definitions that are not in memory yet. Definitions that cannot be read cost only the servers that
// have them, until a probe has stored them again.
func (p *Pool) loadDocuments(ctx context.Context, all []*server.Server) error {
	for _, s := range all {
		if s.Digest == "" || p.document(s.Digest) != nil || p.foundDamaged(s.Digest) {
			continue
		}
		body, err := p.store.Classes(ctx, s.Digest)
		if fault.Is(err, fault.NotFound) {
			continue // the next probe will store them
		}
		if fault.Is(err, fault.Unavailable) || ctx.Err() != nil {
			return err
		}
		var doc *remote.Document
		if err == nil {
			doc, err = DecodeClasses(s.Digest, body)
		}
		if err != nil {
			p.opts.Log.Warn("stored class definitions of a server cannot be read; they will be read from the server again", "server", s.URL,
				"error", err)
		} else if problem := doc.Problem(); problem != "" {
			p.opts.Log.Warn("class definitions of a server left out", "server", s.URL, "problem", cut(problem))
		}
		p.mu.Lock()
		if err == nil {
			p.documents[s.Digest] = doc
		} else {
			p.damaged[s.Digest] = damaged{damagedProblem(err), time.Now()}
		}
		p.mu.Unlock()
	}
	return nil
}

func damagedProblem(err error) string {
	return "its stored class definitions cannot be read, so none of its classes can be used: " + publicProblem(err)
}

// foundDamaged reports whether definitions were found damaged a short while ago.
func (p *Pool) foundDamaged(digest string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, found := p.damaged[digest]
	return found && time.Since(d.at) < filesEvery
}

// classProblem returns why classes under a digest cannot be used, or "".
func (p *Pool) classProblem(digest string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if doc := p.documents[digest]; doc != nil {
		return cut(doc.Problem())
	}
	return p.damaged[digest].problem
}

func (p *Pool) document(digest string) *remote.Document {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.documents[digest]
}

// extend adds the classes of the servers to the registry, if they have changed.
func (p *Pool) extend() error {
	var digests []string
	var documents []*remote.Document
	registered := map[server.ID]bool{}
	for _, s := range p.offering() {
		registered[s.ID] = true
		if d := p.documents[s.Digest]; d != nil && !slices.Contains(digests, s.Digest) {
			digests, documents = append(digests, s.Digest), append(documents, d)
		}
	}
	maps.DeleteFunc(p.documents, func(digest string, _ *remote.Document) bool { return !slices.Contains(digests, digest) })
	maps.DeleteFunc(p.damaged, func(digest string, d damaged) bool {
		return p.documents[digest] != nil || time.Since(d.at) > time.Hour // of a server that was removed
	})
	maps.DeleteFunc(p.clients, func(id server.ID, _ client) bool { return !registered[id] })
	if slices.Equal(digests, p.extended) {
		return nil
	}
	classes, err := remote.Merge(documents)
	if err != nil {
		p.opts.Log.Warn("class definitions of servers left out: merge failed", "error", err)
	}
	if err := p.classes.ExtendFrom(node.Servers, classes...); err != nil {
		return err
	}
	p.extended = digests
	p.offered = make(map[string]bool, len(classes))
	for _, c := range classes {
		p.offered[c.Name] = true
	}
	return nil
}

// WithRemoved returns classes extended by those of removed servers. A job that was accepted before the removal of a
// server is planned with that server's classes, and waits for a server that has them.
func (p *Pool) WithRemoved(ctx context.Context, classes *node.Registry) (*node.Registry, error) {
	bodies, order, err := p.store.RemovedClasses(ctx)
	if err != nil {
		return nil, err
	}
	var documents []*remote.Document
	for _, digest := range order {
		doc, err := DecodeClasses(digest, bodies[digest])
		if err != nil {
			p.opts.Log.Warn("stored class definitions of a removed server cannot be read", "classes", digest, "error", err)
			continue
		}
		documents = append(documents, doc)
	}
	merged, err := remote.Merge(documents)
	if err != nil {
		p.opts.Log.Warn("class definitions of removed servers left out: merge failed", "error", err)
	}
	all := classes.Classes()
	for _, c := range merged {
		if _, known := classes.Lookup(c.Name); !known {
			all = append(all, c)
		}
	}
	return node.NewRegistry(all...)
}

// Side returns where a class can run, given classes, a state of the registry.
func (p *Pool) Side(classes *node.Registry) func(name string) segment.Side {
	p.mu.Lock()
	offered := p.offered
	p.mu.Unlock()
	return func(name string) segment.Side {
		c, ok := classes.Lookup(name)
		switch {
		case ok && c.Remote:
			return segment.Server
		case ok && !c.Partner && offered[name]:
			return segment.Either
		}
		return segment.Here
	}
}

// Able returns a function that reports which sets of class definitions of servers with these labels satisfy the needs of a node. Servers
// that may return count.
func (p *Pool) Able(labels []string, need func(*graph.PlanNode) server.Need) func(*graph.PlanNode) []bool {
	var documents []*remote.Document
	for _, s := range p.all() {
		if d := p.document(s.Digest); d != nil && s.Has(labels) && !slices.Contains(documents, d) {
			documents = append(documents, d)
		}
	}
	return func(pn *graph.PlanNode) []bool {
		able, needs := make([]bool, len(documents)), []server.Need{need(pn)}
		for i, d := range documents {
			able[i] = Missing(d, needs) == ""
		}
		return able
	}
}

// Server returns the client of a server, and the server even if no client can be made.
func (p *Pool) Server(id server.ID) (comfyui.Server, *server.Server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.servers, func(s *server.Server) bool { return s.ID == id })
	if at < 0 {
		return nil, nil, fault.New(fault.NotFound, fault.CodeServerNotFound, "server %s is no longer registered", id)
	}
	s := p.servers[at]
	c, ok := p.clients[id]
	if !ok || c.url != s.URL || c.sealed != string(s.Sealed) {
		made, err := p.dial(s)
		if err != nil {
			return nil, s, err
		}
		c = client{made, s.URL, string(s.Sealed)}
		p.clients[id] = c
	}
	return c.Server, s, nil
}

// Servers returns this process's view of the servers.
func (p *Pool) Servers() []*server.Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.servers)
}

// UnknownLabel returns the first of the labels that no server has, or "".
func (p *Pool) UnknownLabel(labels []string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range labels {
		if !slices.ContainsFunc(p.offering(), func(s *server.Server) bool { return slices.Contains(s.Labels, l) }) {
			return l
		}
	}
	return ""
}

// Models returns the model files that the loaders of a class load with these constants, on any server.
func (p *Pool) Models(class string, constants node.Args) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, digest := range p.extended {
		if _, ok := p.documents[digest].Classes[class]; ok {
			return p.documents[digest].Models(class, constants)
		}
	}
	return nil
}

// Offers returns a function that reports whether a server has a class, by its last known definitions. It returns nil
// if there are no definitions.
func (p *Pool) Offers(id server.ID) func(class string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.servers, func(s *server.Server) bool { return s.ID == id })
	if at < 0 || p.documents[p.servers[at].Digest] == nil {
		return nil
	}
	classes := p.documents[p.servers[at].Digest].Classes
	return func(class string) bool { return classes[class] != nil }
}
