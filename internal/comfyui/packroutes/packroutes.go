// Package packroutes relays requests to the routes that node packs add to ComfyUI servers. It promises that only routes which the
// operator allows are relayed, that a request carries nothing of its sender but its method, path, query and body, and that its size
// and that of the answer are bounded. Callers check who may send requests.
package packroutes

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Rule allows requests to a route, or to all routes below a path.
type Rule struct {
	Method string
	Path   string
	Below  bool // Path ends in a slash, and every path below is allowed
}

// Tooling are the rules of the routes of the tooling nodes that change nothing on a server. They are always allowed.
var Tooling = []Rule{
	{http.MethodGet, "/api/etn/languages", false},
	{http.MethodGet, "/api/etn/translate/", true},
}

// methods are the methods that rules may allow.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut}

// ParseRules reads rules such as "GET /vhs/viewvideo" and "POST /impact/*", separated by commas.
func ParseRules(text string) ([]Rule, error) {
	var rules []Rule
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		method, path, _ := strings.Cut(one, " ")
		path = strings.TrimSpace(path)
		below := strings.HasSuffix(path, "/*")
		whole := strings.TrimSuffix(path, "/*")
		switch {
		case !slices.Contains(methods, method):
			return nil, fmt.Errorf("%q does not begin with one of the methods %s", one, strings.Join(methods, ", "))
		case comfyui.CheckPackPath(whole) != nil || whole == "/" || whole == "/api" || strings.Contains(whole, "*"):
			return nil, fmt.Errorf("%q has no path such as /pack/route or /pack/*", one)
		}
		if below {
			whole += "/"
		}
		rules = append(rules, Rule{method, whole, below})
	}
	return rules, nil
}

// matches reports whether the rule allows a path. Servers have every route of a pack with and without the prefix /api.
func (r Rule) matches(path string) bool {
	bare := strings.TrimPrefix(path, "/api")
	return r.at(path) || r.at(bare) || r.at("/api"+path)
}

func (r Rule) at(path string) bool {
	return path == r.Path || r.Below && strings.HasPrefix(path, r.Path)
}

// Pool is the view of the servers; placement.Pool implements it.
type Pool interface {
	Servers() []*server.Server
	Server(id server.ID) (comfyui.Server, *server.Server, error)
}

// Jobs finds the jobs of an account; jobs.Reader implements it.
type Jobs interface {
	ByPublicID(ctx context.Context, account string, id job.PublicID) (job.Job, error)
}

// Usage knows which servers ran the segments of jobs that have ended; serverusage.Reader implements it.
type Usage interface {
	LastServer(ctx context.Context, of job.ID) (string, error)
}

// Options configure Routes.
type Options struct {
	Rules     []Rule // besides Tooling
	Pool      Pool
	Jobs      Jobs
	Usage     Usage
	MaxAnswer int64 // bytes, default 64 MiB
}

// Routes relays requests. It is safe for concurrent use.
type Routes struct {
	opts  Options
	infos *expirable.LRU[string, Models] // answers of ModelInfo
}

// New returns the relay.
func New(opts Options) *Routes {
	opts.Rules = append(slices.Clone(Tooling), opts.Rules...)
	opts.MaxAnswer = cmp.Or(opts.MaxAnswer, 64<<20)
	return &Routes{opts: opts, infos: newInfos()}
}

// target is a server that answers.
type target struct {
	id server.ID
	comfyui.Packs
}

// targets returns the servers that answer, in the same order every time.
func (r *Routes) targets() (servers []target) {
	for _, s := range r.opts.Pool.Servers() {
		if client, _, err := r.opts.Pool.Server(s.ID); err == nil && s.Health == server.Answers {
			servers = append(servers, target{s.ID, client})
		}
	}
	return servers
}

// ran returns the server that runs a part of a job of the account, or last ended one, or "".
func (r *Routes) ran(ctx context.Context, account, id string) (server.ID, error) {
	j, err := r.opts.Jobs.ByPublicID(ctx, account, job.PublicID(id))
	if err != nil {
		return "", err
	}
	for _, s := range r.opts.Pool.Servers() {
		if slices.ContainsFunc(s.Leases, func(l server.Lease) bool { return l.Job == j.ID }) {
			return s.ID, nil
		}
	}
	last, err := r.opts.Usage.LastServer(ctx, j.ID)
	return server.ID(last), err
}

// Has reports whether requests with some method to a path are relayed.
func (r *Routes) Has(path string) bool {
	return comfyui.CheckPackPath(path) == nil && slices.ContainsFunc(r.opts.Rules, func(rule Rule) bool { return rule.matches(path) })
}

// Allows reports whether requests with a method to a path are relayed.
func (r *Routes) Allows(method, path string) bool {
	return comfyui.CheckPackPath(path) == nil && slices.ContainsFunc(r.opts.Rules, func(rule Rule) bool {
		return rule.Method == method && rule.matches(path)
	})
}

// Request is a request to relay.
type Request struct {
	Account     string
	Job         string // the job that the request is about; "" = none
	Method      string
	Path        string
	Query       url.Values
	ContentType string
	Body        []byte
}

// Relay sends a request to the server that ran the job. A request that names no job goes to one server, which is the same for an
// account as long as the servers are the same; if it may change something, it goes to all servers, because any of them may run the
// next job of the account, and the answer is that of the account's server. The caller closes the answer.
func (r *Routes) Relay(ctx context.Context, q Request) (*comfyui.PackAnswer, error) {
	if !r.Allows(q.Method, q.Path) {
		return nil, fault.New(fault.NotFound, fault.CodeNotFound, "the route %s of a node pack is not relayed to ComfyUI servers", q.Path)
	}
	servers := r.targets()
	if len(servers) == 0 {
		return nil, fault.New(fault.Unavailable, fault.CodeServerUnreachable, "no ComfyUI server is available")
	}
	own, err := r.choose(ctx, servers, q)
	if err != nil {
		return nil, err
	}
	answer, err := own.Ask(ctx, q.sent(), r.opts.MaxAnswer)
	if err != nil || q.Method == http.MethodGet || q.Job != "" {
		return answer, err
	}
	for _, other := range servers {
		if other.id == own.id {
			continue
		}
		also, err := other.Ask(ctx, q.sent(), r.opts.MaxAnswer)
		if err != nil {
			continue // the server is away or lacks the pack
		}
		if err := also.Close(); err != nil {
			continue // the answer does not matter
		}
	}
	return answer, nil
}

func (q Request) sent() comfyui.PackRequest {
	return comfyui.PackRequest{
		Method: q.Method, Path: q.Path, Query: q.Query, ContentType: q.ContentType, Body: bytes.NewReader(q.Body), Size: int64(len(q.Body)),
	}
}

// choose returns the server for a request.
func (r *Routes) choose(ctx context.Context, servers []target, q Request) (target, error) {
	if q.Job == "" {
		h := fnv.New32a()
		h.Write([]byte(q.Account))
		return servers[int(h.Sum32())%len(servers)], nil
	}
	id, err := r.ran(ctx, q.Account, q.Job)
	if err != nil {
		return target{}, err
	}
	at := slices.IndexFunc(servers, func(s target) bool { return s.id == id })
	if at < 0 {
		return target{}, fault.New(fault.NotFound, fault.CodeNotFound, "no part of this job ran on a ComfyUI server that is available")
	}
	return servers[at], nil
}
