// Package router serves the model router: the catalog of partner models, calls that the client waits for, queued
// calls, and estimates, in both versions of its contract. It promises that every error has a type of that contract.
// Package call runs the calls.
package router

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	modelrouter "github.com/millrace-dev/millrace/internal/partner/router"
	"github.com/millrace-dev/millrace/internal/web/webtoken"
)

// Calls runs models; call.Service implements it. call.RefusalOf converts its errors for clients.
type Calls interface {
	// Run runs a model and waits for its answer.
	Run(ctx context.Context, inv call.Invocation) (*call.Result, error)
	// Enqueue accepts a call whose client polls for the answer.
	Enqueue(ctx context.Context, inv call.Invocation) (call.Enqueued, error)
	// Status returns the status of a queued call.
	Status(ctx context.Context, h call.Handle) (call.Progress, error)
	// Result returns the answer of a queued call, or its progress while it is unfinished.
	Result(ctx context.Context, h call.Handle) (*call.Result, *call.Progress, error)
	// Cancel requests that a queued call stop. It returns false for a call that has ended.
	Cancel(ctx context.Context, h call.Handle, requestID string) (bool, error)
}

// Deps are the dependencies of the surface.
type Deps struct {
	Edge    *edge.Edge
	Models  *modelrouter.Offers // nil = there is no router: its paths answer with the router's 404
	Calls   Calls
	Tokens  edge.Authenticator // checks JSON Web Tokens; nil = they are not accepted
	Cursors *catalog.Cursors
}

// Options are the tunables of the surface.
type Options struct {
	Off          bool          // no account may use the router
	NoFallback   bool          // a call never falls back to another server
	MaxModelBody int64         // bytes of a model's input
	ModelBodies  int64         // bytes of all inputs of models that are read at the same time
	UploadIdle   time.Duration // longest pause of a client in the middle of an input
}

// Surface serves the routes of this package. It implements edge.Dialect.
type Surface struct {
	Deps
	opts   Options
	bodies *limit.Memory
}

// New returns the surface and adds its dialect to deps.Edge.
func New(deps Deps, opts Options) *Surface {
	s := &Surface{Deps: deps, opts: opts, bodies: limit.NewMemory(opts.ModelBodies)}
	deps.Edge.Add(s)
	return s
}

var _ edge.Dialect = (*Surface)(nil)

// Routes returns the routes of both versions. Only the second version has the queued delivery and estimates.
func (s *Surface) Routes() []edge.Route {
	if s.Models == nil {
		return nil
	}
	const model = "/models/:provider/:model"
	both := func(v call.Version) []edge.Route {
		return []edge.Route{
			{Method: http.MethodGet, Path: "/" + string(v) + "/models", Handle: s.getModels},
			{Method: http.MethodGet, Path: "/" + string(v) + model, Handle: s.getModel},
			{Method: http.MethodGet, Path: "/" + string(v) + model + "/openapi.json", Handle: s.getSchema},
			{Method: http.MethodPost, Path: "/" + string(v) + model, Access: edge.Store, Limit: s.opts.MaxModelBody, Handle: s.postRun},
		}
	}
	return withVariants(append(append(both(call.V1), both(call.V2)...),
		edge.Route{Method: http.MethodPost, Path: "/v2" + model + "/estimate", Limit: s.opts.MaxModelBody, Handle: s.postEstimate},
		edge.Route{
			Method: http.MethodPost, Path: "/v2" + model + "/requests", Access: edge.Store, Limit: s.opts.MaxModelBody,
			Handle: s.postRequest,
		},
		edge.Route{Method: http.MethodGet, Path: "/v2" + model + "/requests/:id", Handle: edge.Of(s.handle, s.getResult)},
		edge.Route{Method: http.MethodGet, Path: "/v2" + model + "/requests/:id/status", Handle: edge.Of(s.handle, s.getRequest)},
		edge.Route{Method: http.MethodPut, Path: "/v2" + model + "/requests/:id/cancel", Access: edge.Write, Handle: edge.Of(s.handle, s.putCancel)},
	))
}

// withVariants adds the routes of a model's variants.
func withVariants(routes []edge.Route) []edge.Route {
	const model = "/:provider/:model"
	for _, r := range routes[:len(routes):len(routes)] {
		before, after, ok := strings.Cut(r.Path, model)
		if !ok {
			continue
		}
		handle := r.Handle
		r.Path = before + model + "/:variant" + after
		r.Handle = func(c *gin.Context) error {
			switch c.Param("variant") {
			case "requests", "estimate", "openapi.json": // routes of the model itself, with other methods
				return httperr.NoSuchPath()
			}
			return handle(c)
		}
		routes = append(routes, r)
	}
	return routes
}

// Unrouted answers a path of the router that no route has. It needs a credential, as every route does. A third
// segment is read as the variant of a model that the catalog does not have; the refusal then suggests similar ids.
func (s *Surface) Unrouted(c *gin.Context) error {
	if err := s.Edge.Authorize(c, edge.Read); err != nil {
		return err
	}
	parts := strings.Split(c.Request.URL.Path, "/") // "", v2, models, provider, model, variant
	if s.Models == nil || len(parts) != 6 || parts[2] != "models" || parts[5] == "requests" {
		return httperr.NoSuchPath()
	}
	if _, err := s.Models.Find(strings.Join(parts[3:], "/"), edge.Caller(c).Access); err != nil {
		return err
	}
	return httperr.NoSuchPath()
}

// versionOf returns the version of the router that serves a path.
func versionOf(path string) call.Version {
	if strings.HasPrefix(path, "/v1/") {
		return call.V1
	}
	return call.V2
}

// modelID returns the id that the path names, even if the model does not exist.
func modelID(c *gin.Context) string {
	id := c.Param("provider") + "/" + c.Param("model")
	if variant := c.Param("variant"); variant != "" {
		id += "/" + variant
	}
	return id
}

// Serves implements edge.Dialect: it reports whether a path belongs to the model router.
func (*Surface) Serves(path string) bool {
	return strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/v2/") && path != "/v2/userdata" || path == "/v1" || path == "/v2"
}

// Begin implements edge.Dialect: it sets the headers with the request's id.
func (*Surface) Begin(c *gin.Context) {
	c.Header("X-Service-Request-Id", edge.RequestID(c))
	c.Header("X-Comfy-Request-Id", edge.RequestID(c))
}

// Identify implements edge.Dialect.
func (s *Surface) Identify(c *gin.Context) (account.Identity, error) {
	id, err := s.authenticate(c)
	if err == nil {
		err = s.checkEnabled(id)
	}
	return id, err
}

// authenticate checks the credential of a request to the router. A v1 request has a token as its bearer credential.
// In v2 the header X-API-Key takes precedence; a bearer credential is a JSON Web Token if it has the form of one,
// otherwise a key.
func (s *Surface) authenticate(c *gin.Context) (account.Identity, error) {
	ctx, r := c.Request.Context(), c.Request
	if s.Edge.Mode() == account.ModeNone || s.Models == nil {
		return s.Edge.Auth.Authenticate(ctx, edge.Credential(r))
	}
	bearer := edge.Credential(withoutKey(r))
	if versionOf(r.URL.Path) == call.V1 {
		return s.authenticateV1(ctx, bearer)
	}
	if len(r.Header.Values("X-API-Key")) == 0 && s.Tokens != nil && isToken(bearer) {
		return s.Tokens.Authenticate(ctx, bearer)
	}
	return s.Edge.Auth.Authenticate(ctx, keyOf(r, bearer))
}

// authenticateV1 checks the bearer of a v1 request: a JSON Web Token or, if the operator has set one, the static
// token.
func (s *Surface) authenticateV1(ctx context.Context, bearer string) (account.Identity, error) {
	switch {
	case s.Tokens != nil && isToken(bearer):
		return s.Tokens.Authenticate(ctx, bearer)
	case s.Edge.Mode() == account.ModeToken:
		return s.Edge.Auth.Authenticate(ctx, bearer)
	}
	return account.Identity{}, call.Refuse(fault.Unauthenticated, call.Unauthorized,
		"a JSON Web Token is required: Authorization: Bearer <token>")
}

// keyOf returns the API key of a v2 request. X-API-Key takes precedence even if it is wrong or empty.
func keyOf(r *http.Request, bearer string) string {
	if keys := r.Header.Values("X-API-Key"); len(keys) > 0 {
		return keys[0]
	}
	return bearer
}

// withoutKey returns r without the header X-API-Key.
func withoutKey(r *http.Request) *http.Request {
	return &http.Request{URL: r.URL, Header: http.Header{"Authorization": r.Header.Values("Authorization")}}
}

// isToken reports whether a bearer credential is a JSON Web Token. Keys of the hosted service have a prefix by which
// they are recognised.
func isToken(bearer string) bool {
	return webtoken.Shaped(bearer) && !strings.HasPrefix(bearer, "comfyui-")
}

// checkEnabled refuses callers who may not use the router.
func (s *Surface) checkEnabled(id account.Identity) error {
	if s.opts.Off || id.Access.Off {
		return call.Refuse(fault.Denied, call.NotEnabled, "the model router is not enabled for this account")
	}
	return nil
}
