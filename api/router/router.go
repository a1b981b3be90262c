// Package router serves the model router: the catalog of partner models, calls that the client waits for, queued
// calls, and estimates, in both versions of its contract. It promises that every error has a type of that contract.
// Package call runs the calls.
package router

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/called"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/job"
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
	Called  *called.Service // nil = deployments are no models
}

// Options are the tunables of the surface.
type Options struct {
	Off          bool          // no account may use the router
	NoFallback   bool          // a call never falls back to another server
	MaxModelBody int64         // bytes of a model's input
	ModelBodies  int64         // bytes of all inputs of models that are read at the same time
	UploadIdle   time.Duration // longest pause of a client in the middle of an input
	Deadline     time.Duration // for which a call of a deployment waits for its job, default 10 minutes
	JobPrice     job.Price     // of the jobs of deployments
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
			{Method: http.MethodGet, Path: "/" + string(v) + model, Calls: true, Handle: s.either(s.getModel, s.getOwn)},
			{Method: http.MethodGet, Path: "/" + string(v) + model + "/openapi.json", Calls: true, Handle: s.either(s.getSchema, s.getOwnSchema)},
			{
				Method: http.MethodPost, Path: "/" + string(v) + model, Access: edge.Store, Limit: s.opts.MaxModelBody,
				Calls:  true,
				Handle: s.either(s.postRun, s.runOwn),
			},
		}
	}
	return withVariants(append(append(both(call.V1), both(call.V2)...),
		edge.Route{
			Method: http.MethodPost, Path: "/v2" + model + "/estimate", Limit: s.opts.MaxModelBody,
			Calls:  true,
			Handle: s.either(s.postEstimate, s.estimateOwn),
		},
		edge.Route{
			Method: http.MethodPost, Path: "/v2" + model + "/requests", Access: edge.Store, Limit: s.opts.MaxModelBody,
			Calls:  true,
			Handle: s.either(s.postRequest, s.queueOwn),
		},
		edge.Route{
			Method: http.MethodGet, Path: "/v2" + model + "/requests/:id", Calls: true,
			Handle: s.either(edge.Of(s.handle, s.getResult), s.getOwnResult),
		},
		edge.Route{
			Method: http.MethodGet, Path: "/v2" + model + "/requests/:id/status",
			Calls:  true,
			Handle: s.either(edge.Of(s.handle, s.getRequest), s.getOwnStatus),
		},
		edge.Route{
			Method: http.MethodPut, Path: "/v2" + model + "/requests/:id/cancel", Access: edge.Write,
			Calls:  true,
			Handle: s.either(edge.Of(s.handle, s.putCancel), s.cancelOwn),
		},
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

// postRun runs a model and waits for its answer: POST /v2/models/{provider}/{model}.
func (s *Surface) postRun(c *gin.Context) error {
	memory := s.bodies.Reserve(edge.Caller(c).Account)
	defer memory.Release()
	inv, err := s.invocation(c, memory)
	if err != nil {
		return err
	}
	res, err := s.Calls.Run(c.Request.Context(), inv)
	if err != nil {
		return err
	}
	return s.writeAnswer(c, res)
}

// invocation parses a request to run a model. The service checks the model and its schema, after it has checked that
// the account can pay. The body uses the memory budget until the service has stored it.
func (s *Surface) invocation(c *gin.Context, memory *limit.Reservation) (call.Invocation, error) {
	r := c.Request
	key, err := callKey(r)
	if err != nil {
		return call.Invocation{}, err
	}
	options, err := s.callOptions(c)
	if err != nil {
		return call.Invocation{}, err
	}
	body, err := s.modelBody(c, memory)
	if err != nil {
		return call.Invocation{}, err
	}
	if !catalog.IsForm(kindOf(r)) {
		if err := request.CheckShape(body, request.MaxMembers); err != nil {
			return call.Invocation{}, err
		}
	}
	who := edge.Caller(c)
	return call.Invocation{
		Account: who.Account, Access: who.Access, RequestID: edge.RequestID(c), Key: key, Method: r.Method, Target: r.URL.RequestURI(),
		Model: modelID(c), API: versionOf(r.URL.Path), Options: options, BaseURL: s.Edge.BaseURL(r), ContentType: kindOf(r), Body: body,
		OnStored: memory.Release,
	}, nil
}

// maxFormType bounds the content type of a form. Its boundary has at most 70 characters.
const maxFormType = 256

// kindOf returns the content type of the body: a form's type unchanged, because its boundary is needed to parse the
// form. Every other body is read as JSON.
func kindOf(r *http.Request) string {
	if kind := r.Header.Get("Content-Type"); len(kind) <= maxFormType && catalog.IsForm(kind) {
		return kind
	}
	return "application/json"
}

// maxKeyBytes bounds an Idempotency-Key before it is decoded as text: 255 characters are not longer.
const maxKeyBytes = 255 * utf8.UTFMax

// callKey parses the header Idempotency-Key: one value of 1 to 255 characters, or no header.
func callKey(r *http.Request) (string, error) {
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return "", nil
	}
	if key := keys[0]; len(keys) > 1 || key == "" || len(key) > maxKeyBytes || !utf8.ValidString(key) || utf8.RuneCountInString(key) > 255 {
		return "", call.Refuse(fault.Invalid, call.InvalidInput, "Idempotency-Key must have 1 to 255 characters")
	}
	return keys[0], nil
}

// callOptions parses the query parameters of a run. strict_mode forwards the body unchecked, so that
// reject_unknown_fields has no effect with it.
func (s *Surface) callOptions(c *gin.Context) (call.Options, error) {
	strict, err := boolean(c, "strict_mode")
	if err != nil {
		return call.Options{}, err
	}
	reject, err := boolean(c, "reject_unknown_fields")
	if err != nil {
		return call.Options{}, err
	}
	return call.Options{
		ModelProvider: c.Query("model_provider"), Strict: strict, RejectUnknown: reject && !strict,
		Fallback: c.Query("fallback_provider") != "false" && !strict && !s.opts.NoFallback,
	}, nil
}

func boolean(c *gin.Context, name string) (bool, error) {
	text, given := c.GetQuery(name)
	switch {
	case !given || text == "false":
		return false, nil
	case text == "true":
		return true, nil
	}
	return false, call.Refuse(fault.Invalid, call.InvalidInput, "%s must be true or false", name)
}

// modelBody reads the body, whose size wrap bounds. The client may be slow but must not pause.
func (s *Surface) modelBody(c *gin.Context, memory *limit.Reservation) ([]byte, error) {
	conn, r := http.NewResponseController(c.Writer), c.Request
	body, err := memory.ReadAll(r.Context(), request.IdleReader{Reader: r.Body, Conn: conn, Idle: s.opts.UploadIdle}, r.ContentLength,
		s.opts.MaxModelBody)
	if err != nil {
		return nil, memoryRefusal(err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return body, nil
}

// memoryRefusal returns the refusal of an input for which the memory budget has no space. It returns other errors
// unchanged.
func memoryRefusal(err error) error {
	switch {
	case errors.Is(err, limit.ErrOwnBudget):
		return call.Refuse(fault.Exhausted, call.ConcurrencyLimit,
			"the inputs of this account's calls that are being read have reached their limit; send the request again when one of them has been "+
				"accepted")
	case errors.Is(err, limit.ErrBudget):
		r := call.Refuse(fault.Unavailable, call.ServiceUnavailable, "the service has no memory for this input now; send the request again later")
		r.RetryAfter = 1
		return r
	}
	return err
}

// deliveredWithin bounds the time to record a delivery.
const deliveredWithin = 5 * time.Second

// writeAnswer streams a model's answer unchanged. Its headers keep a browser from running the bytes as a page of this
// origin.
func (s *Surface) writeAnswer(c *gin.Context, res *call.Result) error {
	body, err := res.Open(c.Request.Context())
	if err != nil {
		return err
	}
	defer body.Close()
	h := c.Writer.Header()
	h.Set("Content-Type", res.ContentType)
	if res.ContentType == "" {
		h.Set("Content-Type", "application/octet-stream")
	}
	h.Set("Content-Length", strconv.FormatInt(res.Size, 10))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "no-store")
	setResultHeaders(c, res)
	c.Status(res.Status)
	if _, err := io.Copy(c.Writer, body); err != nil {
		return err // the body is shorter than Content-Length: net/http ends the connection
	}
	if err := edge.Flush(c); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), deliveredWithin)
	defer cancel()
	if err := res.Delivered(ctx); err != nil {
		s.Edge.Logger.Warn("delivery of an answer not recorded; its key answers once more", "call_id", res.Call, "error", err)
	}
	return nil
}

// setResultHeaders sets the headers with the cost and the origin of the answer, in v2 only. A replay costs nothing,
// so it has no cost header.
func setResultHeaders(c *gin.Context, res *call.Result) {
	if versionOf(c.Request.URL.Path) == call.V1 {
		return
	}
	setReplayed(c, res.Replayed)
	setSpend(c, res.Spend)
	if res.Fallback != "" {
		c.Header("X-Comfy-Router-Fallback-Provider", res.Fallback)
	}
	if dropped := call.DroppedParams(res.Dropped); dropped != "" {
		c.Header("X-Comfy-Router-Dropped-Params", dropped)
	}
	if res.Charged != nil && !res.Replayed {
		c.Header("X-Comfy-Credits-Used", credit.Credits(*res.Charged))
		c.Header("X-Litellm-Response-Cost", amount.Dollars(*res.Charged))
		c.Header("X-Litellm-Total-Tokens", "0")
	}
}
