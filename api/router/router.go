// Package router serves the model router: the catalog of partner models, calls that are waited for, calls that are
// queued, and estimates, in both versions of its contract. It promises the error types of that contract and no other.
// Calls are run by package call.
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
	"github.com/millrace-dev/millrace/internal/model/catalog"
	"github.com/millrace-dev/millrace/internal/web/webtoken"
)

// Models is the catalog as callers may use it; router.Offers implements it.
type Models interface {
	// Snapshot returns the catalog as it is now.
	Snapshot() *catalog.Snapshot
	// Find returns a model that the caller may run, or the *call.Refusal that it deserves: 404 or 403.
	Find(id string, access account.Access) (*catalog.Model, error)
	// FindAny is Find for models with and without a credential.
	FindAny(id string, access account.Access) (*catalog.Model, error)
	// Runnable reports whether the operator has given the model's credential.
	Runnable(m *catalog.Model) bool
	// Missing returns the names of the variables that the operator would have to set for the model.
	Missing(m *catalog.Model) []string
	// Offer returns how a call would run, or the *call.Refusal that it deserves.
	Offer(ctx context.Context, inv call.Invocation) (call.Offer, error)
}

// Calls runs models; call.Service implements it. Its errors are shown as call.RefusalOf says.
type Calls interface {
	// Run runs a model and waits for its answer.
	Run(ctx context.Context, inv call.Invocation) (*call.Result, error)
	// Enqueue accepts a call whose answer is polled for.
	Enqueue(ctx context.Context, inv call.Invocation) (call.Enqueued, error)
	// Status returns the status of a queued call.
	Status(ctx context.Context, h call.Handle) (call.Progress, error)
	// Result returns the answer of a queued call, or its progress while it is unfinished.
	Result(ctx context.Context, h call.Handle) (*call.Result, *call.Progress, error)
	// Cancel asks a queued call to stop; false means that it had ended.
	Cancel(ctx context.Context, h call.Handle, requestID string) (bool, error)
}

// Authenticator checks credentials.
type Authenticator interface {
	// Authenticate returns the identity behind the secret, else Unauthenticated.
	Authenticate(ctx context.Context, secret string) (account.Identity, error)
}

// Deps are the dependencies of the surface.
type Deps struct {
	Edge    *edge.Edge
	Models  Models // nil = there is no router: its paths have no routes, and answer in its words
	Calls   Calls
	Tokens  Authenticator // of JSON Web Tokens; nil = none is accepted
	Cursors *catalog.Cursors
}

// Options are the tunables of the surface.
type Options struct {
	Off          bool          // no account may use the router
	NoFallback   bool          // no other server takes over a call
	MaxModelBody int64         // bytes of a model's input
	ModelBodies  int64         // bytes of all models' inputs that are read at once
	UploadIdle   time.Duration // longest pause of a client in the middle of an input
}

// Surface serves the routes of this package. It implements edge.Dialect.
type Surface struct {
	Deps
	opts   Options
	bodies *limit.Memory
}

// New returns the surface, which is added to deps.Edge.
func New(deps Deps, opts Options) *Surface {
	s := &Surface{Deps: deps, opts: opts, bodies: limit.NewMemory(opts.ModelBodies)}
	deps.Edge.Add(s)
	return s
}

var _ edge.Dialect = (*Surface)(nil)

// Routes returns the routes of both versions. The second version has the queued delivery and estimates, too.
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
		edge.Route{Method: http.MethodPost, Path: "/v2" + model + "/requests", Access: edge.Store, Limit: s.opts.MaxModelBody, Handle: s.postRequest},
		edge.Route{Method: http.MethodGet, Path: "/v2" + model + "/requests/:id", Handle: s.getResult},
		edge.Route{Method: http.MethodGet, Path: "/v2" + model + "/requests/:id/status", Handle: s.getRequest},
		edge.Route{Method: http.MethodPut, Path: "/v2" + model + "/requests/:id/cancel", Access: edge.Write, Handle: s.putCancel},
	))
}

// withVariants adds to the routes of a model those of its variants.
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
			case "requests", "estimate", "openapi.json": // routes of the model itself, by other methods
				return httperr.NoSuchPath()
			}
			return handle(c)
		}
		routes = append(routes, r)
	}
	return routes
}

// Unrouted answers a path of the router that no route has. It asks for a credential as every route does,
// and a third segment is read as the variant of a model, none of which is in the catalog:
// the refusal then names what may have been meant.
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

// versionOf returns the version of the router that a path belongs to.
func versionOf(path string) call.Version {
	if strings.HasPrefix(path, "/v1/") {
		return call.V1
	}
	return call.V2
}

// modelID returns the id that the path names, whether or not there is such a model.
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

// Begin implements edge.Dialect: it puts the request's id into the headers that each answer of the router has.
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

// authenticate checks the credential of a request to the router. A v1
// request shows a token as its bearer. In v2 the header X-API-Key decides where it is sent; what follows the word Bearer
// is a token by its form, and a key otherwise.
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

// authenticateV1 checks the bearer of a v1 request: a JSON Web Token or, where the operator has set one, the static token.
func (s *Surface) authenticateV1(ctx context.Context, bearer string) (account.Identity, error) {
	switch {
	case s.Tokens != nil && isToken(bearer):
		return s.Tokens.Authenticate(ctx, bearer)
	case s.Edge.Mode() == account.ModeToken:
		return s.Edge.Auth.Authenticate(ctx, bearer)
	}
	return account.Identity{}, call.Refuse(fault.Unauthenticated, call.Unauthorized, "a JSON Web Token is required: Authorization: Bearer <token>")
}

// keyOf returns the API key of a v2 request; X-API-Key decides also when it is the wrong one, or empty.
func keyOf(r *http.Request, bearer string) string {
	if keys := r.Header.Values("X-API-Key"); len(keys) > 0 {
		return keys[0]
	}
	return bearer
}

// withoutKey is r as one without the header X-API-Key.
func withoutKey(r *http.Request) *http.Request {
	return &http.Request{URL: r.URL, Header: http.Header{"Authorization": r.Header.Values("Authorization")}}
}

// isToken reports whether a bearer credential is a JSON Web Token; keys of the hosted service tell by their
// beginning that they are none.
func isToken(bearer string) bool {
	return webtoken.Shaped(bearer) && !strings.HasPrefix(bearer, "comfyui-")
}

// checkEnabled refuses callers for whom the router is not switched on.
func (s *Surface) checkEnabled(id account.Identity) error {
	if s.opts.Off || id.Access.Off {
		return call.Refuse(fault.Denied, call.NotEnabled, "the model router is not enabled for this account")
	}
	return nil
}
