// Package packs serves the routes of node packs that clients call besides those of ComfyUI: what the tooling nodes say about models,
// and the routes that the operator relays to ComfyUI servers. It promises that an answer of a server cannot set a cookie, redirect,
// or run in a browser. Pictures of the tooling nodes are files, which package media serves.
package packs

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/packroutes"
)

// Relay sends requests to servers; packroutes.Routes implements it.
type Relay interface {
	// Has reports whether requests to a path are relayed.
	Has(path string) bool
	// Relay sends a request and returns the answer, which the caller closes.
	Relay(ctx context.Context, q packroutes.Request) (*comfyui.PackAnswer, error)
	// ModelInfo returns what the tooling nodes say about the models of a folder.
	ModelInfo(ctx context.Context, folder string, offset, limit int) (packroutes.Models, error)
}

// Surface serves the routes of this package.
type Surface struct {
	edge  *edge.Edge
	relay Relay
}

// New returns the surface.
func New(e *edge.Edge, r Relay) *Surface { return &Surface{e, r} }

// Routes returns the routes of the tooling nodes.
func (s *Surface) Routes() []edge.Route {
	return []edge.Route{
		{Method: http.MethodGet, Path: "/api/etn/model_info", Browser: true, Handle: s.modelInfo},
		{Method: http.MethodGet, Path: "/api/etn/model_info/:folder", Browser: true, Handle: s.modelInfo},
		{Method: http.MethodPost, Path: "/api/etn/workflow/subscribe", Browser: true, Handle: subscribe},
		{Method: http.MethodPost, Path: "/api/etn/workflow/unsubscribe", Browser: true, Handle: subscribe},
	}
}

// page is the part of a list of models that an answer has.
type page struct {
	Offset int `json:"offset"`
	Count  int `json:"count"`
	Total  int `json:"total"`
}

// maxModels bounds the models of an answer to a request without a limit, as the tooling nodes do.
const maxModels = 1000

// modelInfo serves what the servers say about the models of a folder: GET /api/etn/model_info/{folder}.
func (s *Surface) modelInfo(c *gin.Context) error {
	limit, err := request.Limit(c, maxModels)
	if err != nil {
		return err
	}
	offset, err := strconv.Atoi(c.DefaultQuery("offset", "0"))
	if err != nil || offset < 0 {
		return httperr.Invalidf("offset must be a whole number of at least 0")
	}
	models, err := s.relay.ModelInfo(c.Request.Context(), cmp.Or(c.Param("folder"), "checkpoints"), offset, limit)
	if err != nil {
		return err
	}
	answer := make(map[string]any, len(models.ByName)+1)
	for name, about := range models.ByName {
		answer[name] = about
	}
	if c.Query("limit") != "" {
		answer["_meta"] = page{offset, models.Count, models.Total}
	}
	return edge.OK(c, answer, nil)
}

// subscribe answers a client that wants to hear of graphs which an editor on the server shares. No editor shares any here.
func subscribe(c *gin.Context) error {
	var body struct {
		Client string `json:"client_id"`
	}
	if err := request.JSON(c, &body); err != nil {
		return err
	}
	if body.Client == "" {
		return httperr.Invalidf("client_id is required")
	}
	return edge.OK(c, gin.H{"status": "success"}, nil)
}

// Serves implements api.Fallback.
func (s *Surface) Serves(path string) bool { return s.relay.Has(path) }

// jobParameter names, in the query of a request, the job that the request is about.
const jobParameter = "prompt_id"

// Unrouted relays a request to a server.
func (s *Surface) Unrouted(c *gin.Context) error {
	access := edge.Write
	if c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead {
		access = edge.Read
	}
	if err := s.edge.Admit(c, access); err != nil {
		return err
	}
	body, err := request.Read(c)
	if err != nil {
		return err
	}
	method := c.Request.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	query := c.Request.URL.Query()
	job := query.Get(jobParameter)
	answer, err := s.relay.Relay(c.Request.Context(), packroutes.Request{
		Account: edge.Caller(c).Account, Job: job, Method: method, Path: c.Request.URL.Path, Query: query,
		ContentType: c.GetHeader("Content-Type"), Body: body,
	})
	if err != nil {
		return err
	}
	defer answer.Close() // read only
	header := c.Writer.Header()
	header.Set("Content-Type", answer.MediaType)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	header.Set("Cache-Control", "private, no-store")
	if answer.Size >= 0 {
		header.Set("Content-Length", strconv.FormatInt(answer.Size, 10))
	}
	c.Status(answer.Status)
	if c.Request.Method == http.MethodHead {
		c.Writer.WriteHeaderNow()
		return nil
	}
	if _, err := io.Copy(c.Writer, answer); err != nil {
		panic(http.ErrAbortHandler) // the answer has begun, and its end would look complete
	}
	return nil
}
