// Package mcp serves the Model Context Protocol over streamable HTTP: each deployment of the caller's account is a tool with the schema of
// its inputs. It promises that the job of a client that leaves is canceled, and that a wrong input is a result which a model can read.
// No state is kept between requests, so any process may answer any request.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/millrace-dev/millrace/api/called"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Deps are the dependencies of the surface.
type Deps struct {
	Edge   *edge.Edge
	Called *called.Service
	Steps  jobio.Steps
	Blobs  blob.Store
}

// Options are the tunables of the surface.
type Options struct {
	MaxBody int64         // bytes of a request, including its pictures
	Wait    time.Duration // for the job of a call, default one hour
	Version string        // of the program
}

// defaultWait bounds a call: progress keeps its connection open, and films take longer than pictures.
const defaultWait = time.Hour

// Surface serves the routes of this package.
type Surface struct {
	Deps
	opts    Options
	handler http.Handler
}

// New returns the surface.
func New(deps Deps, opts Options) *Surface {
	opts.Wait = cmp.Or(opts.Wait, defaultWait)
	s := &Surface{Deps: deps, opts: opts}
	server := sdk.NewServer(&sdk.Implementation{Name: "millrace", Version: opts.Version}, &sdk.ServerOptions{
		Instructions: "Each tool runs a workflow of the account and returns its pictures, films, sounds or texts.",
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	server.AddReceivingMiddleware(s.tools)
	s.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless:                  true,
		DisableLocalhostProtection: true, // the edge checks Host and Origin, and knows the public address
		MaxRequestBodyBytes:        -1,   // the edge bounds the body
	})
	return s
}

// Routes returns the routes of the surface. There are no streams without a call, so GET and DELETE are not served.
func (s *Surface) Routes() []edge.Route {
	return []edge.Route{{Method: http.MethodPost, Path: "/mcp", Access: edge.Store, Limit: s.opts.MaxBody, Calls: true, Handle: s.post}}
}

// exchange is a request and its caller. The context of the protocol's handlers does not end with the request; gone does.
type exchange struct {
	by   called.Caller
	gone context.Context //nolint:containedctx // it travels beside the context of the handler
}

type exchangeKey struct{}

// post answers one message: POST /mcp.
func (s *Surface) post(c *gin.Context) error {
	if !s.Edge.OriginAllowed(c.Request) {
		return fault.New(fault.Denied, fault.CodeForbidden, "pages of this origin may not call the service")
	}
	raw, err := request.Read(c)
	if err == nil {
		err = request.CheckShape(raw, request.MaxMembers)
	}
	if err == nil && bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")) { // as of protocol 2025-06-18
		err = fault.New(fault.Invalid, fault.CodeInvalidRequest, "send one message in each request")
	}
	if err != nil {
		return err
	}
	r := c.Request.WithContext(context.WithValue(c.Request.Context(), exchangeKey{}, exchange{
		by: called.CallerOf(c, s.Edge, job.SurfaceMCP), gone: c.Request.Context(),
	}))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	s.handler.ServeHTTP(c.Writer, r)
	return nil
}

// tools answers the methods about tools.
func (s *Surface) tools(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		x, ok := ctx.Value(exchangeKey{}).(exchange)
		if !ok {
			return nil, errors.New("a message without a request")
		}
		switch method {
		case "tools/list":
			all, err := s.list(ctx, x)
			if err != nil {
				return nil, s.failed(x, err)
			}
			return all, nil
		case "tools/call":
			if r, ok := req.(*sdk.CallToolRequest); ok {
				result, err := s.call(ctx, x, r)
				if f, known := public(err); known {
					return problem(f.Message), nil // which a model can read
				}
				if err != nil {
					return nil, s.failed(x, err)
				}
				return result, nil
			}
		}
		return next(ctx, method, req)
	}
}

// list returns the deployments of the caller as tools. An account has at most deployment.MaxDeployments, so there is one page.
func (s *Surface) list(ctx context.Context, x exchange) (*sdk.ListToolsResult, error) {
	all, err := s.Called.List(ctx, x.by)
	if err != nil {
		return nil, err
	}
	result := &sdk.ListToolsResult{Tools: []*sdk.Tool{}}
	for _, d := range all {
		if d.State != deployment.Ready {
			continue
		}
		schema, err := s.Called.Deployments.Schema(ctx, d, d.Live)
		if err != nil {
			return nil, err
		}
		result.Tools = append(result.Tools, &sdk.Tool{
			Name: d.Name, Description: describe(d, len(schema.Outputs)), InputSchema: schema.JSONSchema(),
		})
	}
	return result, nil
}

func describe(d deployment.Deployment, outputs int) string {
	text := "Runs the workflow " + strings.ReplaceAll(d.Name, "-", " ") + " and returns its output."
	if outputs > 1 {
		text = strings.TrimSuffix(text, "output.") + "outputs."
	}
	return text
}

// keyName is the member of _meta that makes repeated calls one job.
const keyName = "idempotencyKey"

// call runs a tool. What the caller can correct is a result with IsError, as the protocol says.
func (s *Surface) call(ctx context.Context, x exchange, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	d, err := s.Called.Find(ctx, x.by, r.Params.Name)
	var inputs map[string]json.RawMessage
	if err == nil && len(r.Params.Arguments) > 0 && json.Unmarshal(r.Params.Arguments, &inputs) != nil {
		err = fault.New(fault.Invalid, fault.CodeInvalidInput, "arguments must be an object")
	}
	if err != nil {
		return nil, err
	}
	leave, err := s.Called.Enter(x.by.Account)
	if err != nil {
		return nil, err
	}
	defer leave()
	key, _ := r.Params.Meta[keyName].(string)
	made, err := s.Called.Begin(ctx, x.by, d, key, inputs)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Wait)
	defer cancel()
	defer context.AfterFunc(x.gone, cancel)()
	j, err := s.wait(ctx, made, r)
	switch {
	case err != nil && key == "":
		s.Called.Abandon(ctx, x.by, made.Job)
		return nil, err
	case err != nil:
		return nil, err
	case j.State != job.Succeeded:
		return problem(s.Called.Failure(ctx, d, j)), nil
	}
	return s.result(ctx, x, j)
}

// progressEvery is the time between two notifications of a call.
const progressEvery = time.Second

// wait returns the job of a call when it has ended. It tells the client about the progress, if the client asked for it.
func (s *Surface) wait(ctx context.Context, made called.Call, r *sdk.CallToolRequest) (job.Job, error) {
	token := r.Params.GetProgressToken()
	sent := -1.0
	for {
		some, cancel := context.WithTimeout(ctx, progressEvery)
		j, err := s.Called.Wait(some, made.Job)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return j, err
		}
		p, err := jobio.Progress(ctx, s.Steps, j)
		if err != nil || p == nil || token == nil || p.Value <= sent { // the protocol wants numbers that grow
			continue
		}
		sent = p.Value
		note := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: p.Value, Total: 1}
		if step := s.Called.Names(ctx, made.Deployment, j).Progress(p).CurrentNode; step != nil {
			note.Message = *step
		}
		if err := r.Session.NotifyProgress(ctx, note); err != nil {
			return j, err
		}
	}
}

// public returns the fault of an error whose message clients may read.
func public(err error) (*fault.Error, bool) {
	var f *fault.Error
	return f, errors.As(err, &f) && f.Kind != fault.Internal && f.Kind != fault.Canceled
}

// failed returns the error of a request without what clients may not read, which is logged.
func (s *Surface) failed(x exchange, err error) error {
	if f, known := public(err); known {
		return errors.New(f.Message)
	}
	if x.gone.Err() == nil {
		s.Called.Logger.Error("MCP request failed", "request_id", x.by.RequestID, "error", err)
	}
	return errors.New("the service failed; the operator's log has the details")
}

func problem(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// maxInline bounds the pictures that a result contains, in bytes; others are links. Models read pictures of this size.
const maxInline = 3 << 20

// result returns the outputs of a job: its texts, its small pictures, and links to its files.
func (s *Surface) result(ctx context.Context, x exchange, j job.Job) (*sdk.CallToolResult, error) {
	outputs := s.Called.Outputs(x.by, j)
	result := &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: map[string]any{"outputs": outputs}}
	left := int64(maxInline)
	for _, id := range j.Targets {
		name := j.Deployment.Output(id)
		files, ok := outputs[name].([]called.File)
		if !ok {
			result.Content = append(result.Content, &sdk.TextContent{Text: textOf(outputs[name])})
		}
		for _, f := range files {
			if strings.HasPrefix(f.ContentType, "image/") && f.SizeBytes <= left {
				left -= f.SizeBytes
				data, err := blob.GetBytes(ctx, s.Blobs, f.Hash, f.SizeBytes)
				if err != nil {
					return nil, err
				}
				result.Content = append(result.Content, &sdk.ImageContent{Data: data, MIMEType: f.ContentType})
			}
			result.Content = append(result.Content, &sdk.ResourceLink{
				URI: f.URL, Name: f.Name, Title: name, MIMEType: f.ContentType, Size: &f.SizeBytes,
			})
		}
	}
	return result, nil
}

func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	raw, _ := json.Marshal(value) // it was read from JSON
	return string(raw)
}
