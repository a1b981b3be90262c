package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/model/catalog"
	"github.com/millrace-dev/millrace/internal/web/webtoken"
)

// ModelRouter are the parts behind the routes of the model router.
type ModelRouter struct {
	Models  Models
	Calls   Calls
	Tokens  edge.Authenticator // of JSON Web Tokens; nil = none is accepted
	Cursors *catalog.Cursors
	Off     bool // no account may use the router
}

// Models is the catalog as callers may use it; router.Offers is it.
type Models interface {
	// Snapshot returns the catalog as it is now.
	Snapshot() *catalog.Snapshot
	// Find returns a model that the caller may use, or the *call.Refusal that it deserves: 404 or 403.
	Find(id string, access account.Access) (*catalog.Model, error)
	// Runnable reports whether the operator has given the model's credential.
	Runnable(m *catalog.Model) bool
	// Offer returns how a call would run, or the *call.Refusal that it deserves.
	Offer(ctx context.Context, inv call.Invocation) (call.Offer, error)
}

// Calls runs models; call.Service is it. Its errors are shown as call.RefusalOf says.
type Calls interface {
	// Run runs a model and waits for its answer.
	Run(ctx context.Context, inv call.Invocation) (*call.Result, error)
	// Enqueue accepts a call whose answer is polled for.
	Enqueue(ctx context.Context, inv call.Invocation) (call.Enqueued, error)
	// Status tells where a queued call stands.
	Status(ctx context.Context, h call.Handle) (call.Progress, error)
	// Result returns the answer of a queued call, or its progress while it is unfinished.
	Result(ctx context.Context, h call.Handle) (*call.Result, *call.Progress, error)
	// Cancel asks a queued call to stop; false means that it had ended.
	Cancel(ctx context.Context, h call.Handle, requestID string) (bool, error)
}

// routerServer serves the routes of the model router.
type routerServer struct {
	*server
	*ModelRouter
	bodies *limit.Memory
}

// routerRoutes are the routes of both versions. The second version has the queued delivery and estimates,
// too.
func (s *server) routerRoutes() []edge.Route {
	if s.Router == nil {
		return nil
	}
	r := &routerServer{s, s.Router, limit.NewMemory(s.opts.ModelBodies)}
	const model = "/models/:provider/:model"
	both := func(v call.Version) []edge.Route {
		return []edge.Route{
			{Method: http.MethodGet, Path: "/" + string(v) + "/models", Handle: r.getModels},
			{Method: http.MethodGet, Path: "/" + string(v) + model, Handle: r.getModel},
			{Method: http.MethodGet, Path: "/" + string(v) + model + "/openapi.json", Handle: r.getSchema},
			{Method: http.MethodPost, Path: "/" + string(v) + model, Access: edge.Store, Limit: s.opts.MaxModelBody, Handle: r.postRun},
		}
	}
	return append(append(both(call.V1), both(call.V2)...),
		edge.Route{Method: http.MethodPost, Path: "/v2" + model + "/estimate", Limit: s.opts.MaxModelBody, Handle: r.postEstimate},
		edge.Route{Method: http.MethodPost, Path: "/v2" + model + "/requests", Access: edge.Store, Limit: s.opts.MaxModelBody, Handle: r.postRequest},
		edge.Route{Method: http.MethodGet, Path: "/v2" + model + "/requests/:id", Handle: r.getResult},
		edge.Route{Method: http.MethodGet, Path: "/v2" + model + "/requests/:id/status", Handle: r.getRequest},
		edge.Route{Method: http.MethodPut, Path: "/v2" + model + "/requests/:id/cancel", Access: edge.Write, Handle: r.putCancel},
	)
}

// unrouted answers a path of the router that no route has. It asks for a credential as every route does,
// and a third segment is read as the variant of a model, none of which is in the catalog (checklist R-05):
// the refusal then names what may have been meant.
func (s *server) unrouted(c *gin.Context) error {
	if err := s.Authorize(c, edge.Read); err != nil {
		return err
	}
	parts := strings.Split(c.Request.URL.Path, "/") // "", v2, models, provider, model, variant
	if s.Router == nil || len(parts) != 6 || parts[2] != "models" || parts[5] == "requests" {
		return httperr.Nowhere()
	}
	if _, err := s.Router.Models.Find(strings.Join(parts[3:], "/"), edge.Caller(c).Access); err != nil {
		return err
	}
	return httperr.Nowhere()
}

// versionOf returns the version of the router that a path belongs to.
func versionOf(path string) call.Version {
	if strings.HasPrefix(path, "/v1/") {
		return call.V1
	}
	return call.V2
}

// modelID returns the id that the path names, whether or not there is such a model.
func modelID(c *gin.Context) string { return c.Param("provider") + "/" + c.Param("model") }

// routerDialect is how the router's paths check credentials and answer failures.
type routerDialect struct{ *server }

// Speaks implements edge.Dialect.
func (routerDialect) Speaks(path string) bool { return isRouter(path) }

// Begin implements edge.Dialect: it puts the request's id into the headers that each answer of the router has.
func (routerDialect) Begin(c *gin.Context) {
	c.Header("X-Service-Request-Id", edge.RequestID(c))
	c.Header("X-Comfy-Request-Id", edge.RequestID(c))
}

// Identify implements edge.Dialect.
func (d routerDialect) Identify(c *gin.Context) (account.Identity, error) {
	id, err := d.routerIdentity(c)
	if err == nil {
		err = d.mayRoute(id)
	}
	return id, err
}

// Fail implements edge.Dialect.
func (d routerDialect) Fail(c *gin.Context, err error) { d.failRouter(c, err) }

// routerIdentity checks the credential of a request to the router (checklist ). A v1
// request shows a token. In v2 the header X-API-Key decides where it is sent; what follows the word Bearer
// is a token by its form, and a key otherwise.
func (s *server) routerIdentity(c *gin.Context) (account.Identity, error) {
	ctx, r := c.Request.Context(), c.Request
	if s.opts.Mode == account.ModeNone || s.Router == nil {
		return s.Auth.Authenticate(ctx, edge.Credential(r))
	}
	bearer := edge.Credential(withoutKey(r))
	if versionOf(r.URL.Path) == call.V1 {
		if s.Router.Tokens == nil || !isToken(bearer) {
			return account.Identity{}, call.Refuse(http.StatusUnauthorized, call.Unauthorized, "a JSON Web Token is required: Authorization: Bearer <token>")
		}
		return s.Router.Tokens.Authenticate(ctx, bearer)
	}
	if len(r.Header.Values("X-API-Key")) == 0 && s.Router.Tokens != nil && isToken(bearer) {
		return s.Router.Tokens.Authenticate(ctx, bearer)
	}
	return s.Auth.Authenticate(ctx, keyOf(r, bearer))
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
// beginning that they are none (router facts, section 5).
func isToken(bearer string) bool {
	return webtoken.Shaped(bearer) && !strings.HasPrefix(bearer, "comfyui-")
}

// mayRoute refuses callers for whom the router is not switched on (checklist R-15).
func (s *server) mayRoute(id account.Identity) error {
	if s.Router != nil && s.Router.Off || id.Access.Off {
		return call.Refuse(http.StatusForbidden, call.NotEnabled, "the model router is not enabled for this account")
	}
	return nil
}
