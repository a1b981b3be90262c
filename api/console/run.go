package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// RunPage accepts a workflow, and shows its inputs as a form.
type RunPage struct {
	console.Frame
	Prompt string // the given graph, "" = none yet
	Nodes  []FormNode
	Loads  bool // the graph loads a picture
}

// maxWorkflow bounds a file that contains a workflow, in bytes. Pictures are the largest such files.
const maxWorkflow = 32 << 20

func (s *Surface) runRoutes() []edge.Route {
	read := s.page.Answer("/run", page.Write, s.readWorkflow)
	read.Limit = maxWorkflow
	return []edge.Route{
		s.page.Page("/run", page.Write, func(*gin.Context, page.Visitor) (console.Page, error) {
			return &RunPage{Frame: runFrame()}, nil
		}),
		read,
		s.page.LargeForm("/run/queue", page.Write, maxWorkflow, s.queue),
	}
}

func runFrame() console.Frame {
	return console.Frame{Title: "Run a workflow", Scripts: []string{"run.js"}}
}

// readWorkflow shows the inputs of a workflow as a form: POST /console/run. It submits nothing. A picture without a
// workflow becomes an input of the account, and the graph of the page or a new graph loads it.
func (s *Surface) readWorkflow(c *gin.Context, v page.Visitor) (console.Page, error) {
	given, err := submittedWorkflow(c)
	if err != nil {
		return nil, err
	}
	prompt, err := s.promptOf(c, v, given)
	if err != nil {
		return nil, err
	}
	g, err := graph.Parse(prompt, graph.AnySize)
	if err != nil {
		return nil, err
	}
	return &RunPage{Frame: runFrame(), Prompt: string(prompt), Nodes: formNodes(g), Loads: loaderOf(g) != ""}, nil
}

// promptOf returns the graph of a dropped file or a pasted text.
func (s *Surface) promptOf(c *gin.Context, v page.Visitor, given workflowFile) (json.RawMessage, error) {
	text, err := uiworkflow.Text(given.data)
	if given.withoutWorkflow(err) {
		return s.loading(c, v, given)
	}
	if err != nil {
		return nil, err
	}
	if err := request.CheckShape(text, jobio.MaxMembers); err != nil {
		return nil, err
	}
	return uiworkflow.Prompt(text, s.Classes)
}

// workflowFile is a file that was dropped on the page, or a pasted text, which has no name.
type workflowFile struct {
	name string
	data []byte
}

// withoutWorkflow reports whether a file is a picture without a workflow; err is the result of the search for one.
func (d workflowFile) withoutWorkflow(err error) bool {
	kind := http.DetectContentType(d.data)
	return d.name != "" && strings.HasPrefix(kind, "image/") && (kind != "image/png" || err != nil)
}

// submittedWorkflow returns the file that was dropped on the page, or the text that was pasted.
func submittedWorkflow(c *gin.Context) (workflowFile, error) {
	header, err := c.FormFile("file")
	if err != nil && !errors.Is(err, http.ErrMissingFile) && !errors.Is(err, http.ErrNotMultipart) {
		return workflowFile{}, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest,
			"The form cannot be read: a file may have at most %d MiB.", maxWorkflow>>20)
	}
	if err == nil && header.Size > 0 {
		f, err := header.Open()
		if err != nil {
			return workflowFile{}, err
		}
		defer f.Close()
		data, err := io.ReadAll(f)
		return workflowFile{header.Filename, data}, err
	}
	if text := strings.TrimSpace(c.PostForm("text")); text != "" {
		return workflowFile{data: []byte(text)}, nil
	}
	return workflowFile{}, fault.New(fault.Invalid, fault.CodeInvalidRequest, "Choose a file, or paste a workflow.")
}

// filled returns the graph of the page with the changed inputs.
func filled(c *gin.Context) (json.RawMessage, *graph.Graph, error) {
	prompt := json.RawMessage(c.PostForm("prompt"))
	if err := request.CheckShape(prompt, jobio.MaxMembers); err != nil {
		return nil, nil, err
	}
	g, err := graph.Parse(prompt, graph.AnySize)
	if err != nil {
		return nil, nil, err
	}
	set, err := changes(g, c.Request.PostForm)
	if err != nil {
		return nil, nil, err
	}
	prompt, _, err = job.Assign(prompt, set)
	return prompt, g, err
}

// queue submits the graph of the form with the changed inputs: POST /console/run/queue.
func (s *Surface) queue(c *gin.Context, v page.Visitor) (string, error) {
	if err := s.Edge.CheckSpace(c, v.Account); err != nil {
		return "", err
	}
	prompt, _, err := filled(c)
	if err != nil {
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
	made, err := s.Jobs.Submit(c.Request.Context(), sub)
	var known *fault.Error
	if errors.As(err, &known) && known.Code == fault.CodeCredentialRequired && v.Key() != "" {
		sub.Credential = v.Key() // partner nodes use the key with which the visitor signed in
		made, err = s.Jobs.Submit(c.Request.Context(), sub)
	}
	if err != nil {
		return "", err
	}
	return "/jobs/" + string(made.Job.PublicID()), nil
}

// loading stores a picture and returns a graph that loads it. It uses the graph of the page if that loads a picture;
// otherwise it returns a graph that scales the picture, by default to its own size, and saves it.
func (s *Surface) loading(c *gin.Context, v page.Visitor, given workflowFile) (json.RawMessage, error) {
	var prompt json.RawMessage
	loader := ""
	if c.PostForm("prompt") != "" {
		var g *graph.Graph
		var err error
		if prompt, g, err = filled(c); err != nil {
			return nil, err
		}
		loader = loaderOf(g)
	}
	if err := s.Edge.CheckSpace(c, v.Account); err != nil {
		return nil, err
	}
	kept, err := s.Pictures.StorePicture(c, v.Account, given.name, given.data)
	if err != nil {
		return nil, err
	}
	if loader == "" {
		return scaling(kept)
	}
	name, err := json.Marshal(files.Join(kept.Place))
	if err != nil {
		return nil, err
	}
	prompt, _, err = job.Assign(prompt, []job.Assignment{{Target: loader + ".image", Value: name}})
	return prompt, err
}

// loaderOf returns the id of the first node that loads a picture by a literal name, or "" if there is no such node.
func loaderOf(g *graph.Graph) string {
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			if _, named := in.Value.(string); named && in.Name == "image" && slices.Contains(loaders, n.Class) {
				return n.ID
			}
		}
	}
	return ""
}

// scaling returns a graph that loads a picture, scales it and saves it.
func scaling(of files.Entry) (json.RawMessage, error) {
	name, err := json.Marshal(of.Place.Filename)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"1":{"class_type":"LoadImage","inputs":{"image":%s}},`+
		`"2":{"class_type":"ImageScale","inputs":{"image":["1",0],"upscale_method":"lanczos","width":%d,"height":%d,"crop":"disabled"}},`+
		`"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"scaled"}}}`, name, of.Width, of.Height), nil
}
