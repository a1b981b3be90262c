// Package openai serves the images API of OpenAI over deployments: the model of a request is the name of a deployment, and its parameters
// are inputs of that name. It promises that a parameter which the deployment does not take is refused by name, and that the jobs of a
// request are canceled if its client disconnects.
package openai

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/called"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Deps are the dependencies of the surface.
type Deps struct {
	Edge   *edge.Edge
	Called *called.Service
	Blobs  blob.Store
}

// Options are the tunables of the surface.
type Options struct {
	MaxBody int64         // bytes of a request, including its pictures
	Wait    time.Duration // for all jobs of a request, default 10 minutes, as long as OpenAI's clients wait
}

// defaultWait is the time for which OpenAI's clients wait for an answer.
const defaultWait = 10 * time.Minute

// Surface serves the routes of this package.
type Surface struct {
	Deps
	opts Options
}

// New returns the surface, which is a dialect of the edge.
func New(deps Deps, opts Options) *Surface {
	opts.Wait = cmp.Or(opts.Wait, defaultWait)
	s := &Surface{Deps: deps, opts: opts}
	deps.Edge.Add(s)
	return s
}

// base begins the paths of the surface.
const base = "/openai/v1"

// Routes returns the routes of the surface.
func (s *Surface) Routes() []edge.Route {
	return []edge.Route{
		{Method: http.MethodPost, Path: base + "/images/generations", Access: edge.Store, Limit: s.opts.MaxBody, Calls: true, Handle: s.generate},
		{Method: http.MethodPost, Path: base + "/images/edits", Access: edge.Store, Limit: s.opts.MaxBody, Calls: true, Handle: s.edit},
		{Method: http.MethodGet, Path: base + "/models", Calls: true, Handle: s.listModels},
		{Method: http.MethodGet, Path: base + "/models/:model", Calls: true, Handle: s.getModel},
	}
}

// Serves implements edge.Dialect.
func (*Surface) Serves(path string) bool { return path == base || strings.HasPrefix(path, base+"/") }

// Begin implements edge.Dialect.
func (*Surface) Begin(*gin.Context) {}

// Identify implements edge.Dialect.
func (s *Surface) Identify(c *gin.Context) (account.Identity, error) {
	return s.Edge.Auth.Authenticate(c.Request.Context(), edge.Credential(c.Request))
}

// errorBody is an error in the form of OpenAI.
type errorBody struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

// Fail implements edge.Dialect: it answers with err in the form of OpenAI.
func (s *Surface) Fail(c *gin.Context, err error) {
	err = httperr.Classify(err)
	status, code := httperr.Verdict(httperr.V2, err)
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest // OpenAI's status of a wrong parameter
	}
	level := slog.LevelDebug
	if status >= http.StatusInternalServerError && fault.KindOf(err) == fault.Internal {
		level = slog.LevelError
	}
	if s.Edge.LogFailure(c, level, status, string(code), err) {
		return
	}
	var body errorBody
	body.Error.Message, _ = httperr.PublicText(status, err)
	body.Error.Type = typeOf(status)
	if text := string(code); text != "" {
		body.Error.Code = &text
	}
	if name := paramOf(err); name != "" {
		body.Error.Param = &name
	}
	httperr.SetHeaders(c.Writer.Header(), status, err)
	c.Abort()
	c.PureJSON(status, body)
}

func typeOf(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= http.StatusInternalServerError:
		return "server_error"
	}
	return "invalid_request_error"
}

// model is a deployment in the form of OpenAI.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func modelOf(d deployment.Deployment) model {
	return model{ID: d.Name, Object: "model", Created: d.CreatedAt.Unix(), OwnedBy: d.Account}
}

// listModels lists the deployments of the account: GET /openai/v1/models.
func (s *Surface) listModels(c *gin.Context) error {
	all, err := s.Called.List(c.Request.Context(), s.caller(c))
	models := make([]model, 0, len(all))
	for _, d := range all {
		models = append(models, modelOf(d))
	}
	return edge.OK(c, map[string]any{"object": "list", "data": models}, err)
}

// getModel answers with one deployment: GET /openai/v1/models/{model}.
func (s *Surface) getModel(c *gin.Context) error {
	d, err := s.Called.Find(c.Request.Context(), s.caller(c), c.Param("model"))
	return edge.OK(c, modelOf(d), err)
}
