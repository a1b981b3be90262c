package console

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// maxWorkflow bounds a file that carries a workflow, in bytes: pictures are the large ones.
const maxWorkflow = 32 << 20

// Submitter accepts graphs; job.Service is it.
type Submitter interface {
	Submit(ctx context.Context, sub job.Submission) (job.Submitted, error)
}

func (s *Surface) runRoutes() []edge.Route {
	if s.Submit == nil || s.Classes == nil {
		return nil
	}
	read := s.page.Answer("/run", page.Write, s.readWorkflow)
	read.Limit = maxWorkflow
	return []edge.Route{
		s.page.Page("/run", page.Write, func(*gin.Context, page.Visitor) (console.Page, error) {
			return &console.RunPage{Frame: runFrame()}, nil
		}),
		read,
		s.page.LargeForm("/run/queue", page.Write, maxWorkflow, s.queue),
	}
}

func runFrame() console.Frame { return console.Frame{Title: "Run", Scripts: []string{"run.js"}} }

// readWorkflow shows the inputs of a workflow as a form: POST /console/run. Nothing runs yet.
func (s *Surface) readWorkflow(c *gin.Context, _ page.Visitor) (console.Page, error) {
	data, err := givenWorkflow(c)
	if err != nil {
		return nil, err
	}
	text, err := uiworkflow.Text(data)
	if err != nil {
		return nil, err
	}
	if err := request.CheckShape(text, jobio.MaxMembers); err != nil {
		return nil, err
	}
	prompt, err := uiworkflow.Prompt(text, s.Classes)
	if err != nil {
		return nil, err
	}
	g, err := graph.Parse(prompt, graph.Limits{})
	if err != nil {
		return nil, err
	}
	return &console.RunPage{Frame: runFrame(), Prompt: string(prompt), Nodes: formNodes(g)}, nil
}

// givenWorkflow returns what was dropped on the page, or pasted.
func givenWorkflow(c *gin.Context) ([]byte, error) {
	header, err := c.FormFile("file")
	if err != nil && !errors.Is(err, http.ErrMissingFile) && !errors.Is(err, http.ErrNotMultipart) {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "The form cannot be read: a file has at most %d MiB.", maxWorkflow>>20)
	}
	if err == nil && header.Size > 0 {
		f, err := header.Open()
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(f)
	}
	if text := strings.TrimSpace(c.PostForm("text")); text != "" {
		return []byte(text), nil
	}
	return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "Choose a file, or paste a workflow.")
}

// queue submits the graph of the form with the inputs that were changed: POST /console/run/queue.
func (s *Surface) queue(c *gin.Context, v page.Visitor) (string, error) {
	if err := s.Edge.CheckSpace(c, v.Account); err != nil {
		return "", err
	}
	prompt := json.RawMessage(c.PostForm("prompt"))
	if err := request.CheckShape(prompt, jobio.MaxMembers); err != nil {
		return "", err
	}
	g, err := graph.Parse(prompt, graph.Limits{})
	if err != nil {
		return "", err
	}
	set, err := changes(g, c.Request.PostForm)
	if err != nil {
		return "", err
	}
	if prompt, _, err = job.Assign(prompt, set); err != nil {
		return "", err
	}
	reason, err := page.Reason(c)
	if err != nil {
		return "", err
	}
	sub, err := jobio.PrepareFor(v.Identity, v.Key(), edge.RequestID(c), job.Submission{
		Surface: job.SurfaceCloud, Prompt: prompt, ExtraData: map[string]json.RawMessage{}, Actor: v.Actor(), Reason: reason,
	})
	if err != nil {
		return "", err
	}
	made, err := s.Submit.Submit(c.Request.Context(), sub)
	var known *fault.Error
	if errors.As(err, &known) && known.Code == fault.CodeCredentialRequired && v.Key() != "" {
		sub.Credential = v.Key() // partner nodes: the visitor has signed in with it
		made, err = s.Submit.Submit(c.Request.Context(), sub)
	}
	if err != nil {
		return "", err
	}
	return "/jobs/" + string(made.Job.PublicID()), nil
}
