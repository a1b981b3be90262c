// Package admin is the HTTP API for operators. It offers the actions below internal/operate, as the command line does, and
// requires a credential of its own: credentials of clients are refused. Every change names its actor and reason and is
// recorded as an event.
package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/openapi"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/assets"
	"github.com/millrace-dev/millrace/internal/operate/calls"
	"github.com/millrace-dev/millrace/internal/operate/deployments"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/operate/events"
	"github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/operate/pools"
	"github.com/millrace-dev/millrace/internal/operate/queues"
	"github.com/millrace-dev/millrace/internal/operate/servers"
	"github.com/millrace-dev/millrace/internal/operate/sessions"
	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/operate/webhooks"
	"github.com/millrace-dev/millrace/internal/operate/weights"
)

// Prefix is the path prefix of all routes of this package.
const Prefix = "/admin"

// Deps are the dependencies of the handlers.
type Deps struct {
	Jobs           jobs.Service
	Calls          calls.Service
	Assets         assets.Service
	Events         events.Service
	Views          views.Service
	Queues         queues.Service
	Accounts       accounts.Service
	Servers        *servers.Service
	Webhooks       *webhooks.Service
	Deployments    *deployments.Service
	Sessions       sessions.Service
	Weights        *weights.Service
	Pools          *pools.Service
	Doctor         doctor.Examiner
	Metrics        http.Handler   // nil = no route for metrics
	TrustedProxies []netip.Prefix // proxies whose X-Forwarded-For is trusted
	Log            *slog.Logger
}

// maxBody bounds a request, in bytes: a retry may carry a few large inputs, and a deployment a drawing.
const maxBody = 16 << 20

// server implements the handlers.
type server struct {
	Deps
	token    [sha256.Size]byte
	document json.RawMessage // the OpenAPI document, including this API
}

// New returns the handler of all paths below Prefix. token must not be empty.
func New(deps Deps, token string) (http.Handler, error) {
	if token == "" {
		return nil, errors.New("the admin API needs a token")
	}
	s := &server{Deps: deps, token: sha256.Sum256([]byte(token))}
	document, err := openapi.Operators("")
	if err != nil {
		return nil, err
	}
	s.document = json.RawMessage(document)
	mux := http.NewServeMux()
	for pattern, rt := range s.table() {
		method, path, _ := strings.Cut(pattern, " ")
		check := s.authorize
		if pattern == servers.Add.Route { // the only route for registration tokens
			check = s.admit
		}
		mux.Handle(method+" "+Prefix+path, s.guard(check, rt.handle))
	}
	mux.Handle(Prefix+"/", s.guard(s.authorize, func(http.ResponseWriter, *http.Request) error {
		return fault.New(fault.NotFound, fault.CodeNotFound, "there is nothing at this path")
	}))
	return mux, nil
}

type handler func(w http.ResponseWriter, r *http.Request) error

// route is a handler with the query parameters that it reads.
type route struct {
	serve handler
	query parameters
}

// handle refuses unknown query parameters, then calls the handler.
func (rt route) handle(w http.ResponseWriter, r *http.Request) error {
	if err := rt.query.check(r); err != nil {
		return err
	}
	return rt.serve(w, r)
}

// table returns every route, by method and path below Prefix.
func (s *server) table() map[string]route {
	all := map[string]route{"GET /openapi.json": {s.showDocument, nil}}
	addActions(all, jobs.Actions, s.Jobs)
	addActions(all, calls.Actions, s.Calls)
	addActions(all, assets.Actions, s.Assets)
	addActions(all, events.Actions, s.Events)
	addActions(all, views.Actions, s.Views)
	addActions(all, queues.Actions, s.Queues)
	addActions(all, accounts.Actions, s.Accounts)
	addActions(all, accounts.Keys, s.Accounts)
	addActions(all, servers.Actions, s.Servers)
	addActions(all, webhooks.Actions, s.Webhooks)
	addActions(all, sessions.Actions, s.Sessions)
	addActions(all, weights.Actions, s.Weights)
	addActions(all, pools.Actions, s.Pools)
	addActions(all, doctor.Actions, s.Doctor)
	addActions(all, deployments.Actions, s.Deployments)
	addActions(all, deployments.Deploying, s.Deployments)
	all[servers.Add.Route] = route{s.addServer, nil}
	if s.Metrics != nil {
		all["GET /metrics"] = route{s.showMetrics, nil}
	}
	return all
}

func (s *server) showMetrics(w http.ResponseWriter, r *http.Request) error {
	s.Metrics.ServeHTTP(w, r)
	return nil
}

func (s *server) showDocument(w http.ResponseWriter, _ *http.Request) error {
	write(w, http.StatusOK, s.document)
	return nil
}

// authorizer checks the credential of a request. It returns the request with the principal in its context.
type authorizer func(r *http.Request) (*http.Request, error)

// guard checks the credential, bounds the body and renders an error as an answer.
func (s *server) guard(check authorizer, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := uuid.NewString()
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		r.Header.Set(requestHeader, id)
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		known, err := check(r)
		if err == nil {
			r, err = known, readable(known)
		}
		if err == nil {
			err = h(w, r)
		}
		if err != nil {
			s.fail(w, id, err)
		}
	})
}

// requestHeader passes the id that this service gave the request to its handler. It overwrites an id that the client
// sent.
const requestHeader = "X-Millrace-Request"

// authorize checks the operators' credential in constant time.
func (s *server) authorize(r *http.Request) (*http.Request, error) {
	secret, ok := bearer(r)
	sum := sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare(sum[:], s.token[:]) != 1 || !ok {
		return nil, fault.New(fault.Unauthenticated, fault.CodeUnauthorized, "the admin API needs its own bearer token")
	}
	return r, nil
}

// bearer returns the bearer token of a request.
func bearer(r *http.Request) (secret string, ok bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(secret), strings.EqualFold(scheme, "Bearer")
}

// fail answers with an error in the envelope of the v2 surface.
func (s *server) fail(w http.ResponseWriter, id string, err error) {
	var invalid *graph.PromptError
	if errors.As(err, &invalid) {
		write(w, http.StatusBadRequest, envelope(fault.Code(invalid.Type), invalid.Message))
		return
	}
	status, code := httperr.Verdict(httperr.Admin, err)
	if status == http.StatusInternalServerError {
		s.Log.Error("admin request failed", "request_id", id, "error", err)
		write(w, status, envelope(code, "internal error; see the log for request "+id))
		return
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="admin"`)
	}
	message := "the request was refused"
	var public *fault.Error
	if errors.As(err, &public) {
		message = public.Message
	}
	write(w, status, envelope(code, message))
}

func envelope(code fault.Code, message string) any {
	return map[string]any{"error": map[string]any{"code": code, "message": message}}
}

func write(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		status, raw = http.StatusInternalServerError, []byte(`{"error":{"code":"internal_error","message":"the answer cannot be encoded"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(raw, '\n'))
}

// change is what the body of every change names.
type change struct{ Actor, Reason string }

// by checks that a change names its actor and reason.
func (c change) by(r *http.Request) (operate.Attribution, error) {
	if strings.TrimSpace(c.Actor) == "" || strings.TrimSpace(c.Reason) == "" {
		return operate.Attribution{}, fault.New(fault.Invalid, fault.CodeInvalidRequest, "a change names its actor and its reason")
	}
	if len(c.Actor) > action.MaxActor || len(c.Reason) > action.MaxReason {
		return operate.Attribution{}, fault.New(fault.Invalid, fault.CodeInvalidRequest, "an actor has at most %d bytes, a reason %d",
			action.MaxActor, action.MaxReason)
	}
	if !action.IsText(c.Actor) || !action.IsText(c.Reason) {
		return operate.Attribution{}, fault.New(fault.Invalid, fault.CodeInvalidRequest, "an actor and a reason are texts without NUL characters")
	}
	return operate.Attribution{Actor: "admin:" + c.Actor, Reason: c.Reason, RequestID: r.Header.Get(requestHeader)}, nil
}
