package deployments

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// DeployPage offers the fields of a graph as inputs, and its nodes as outputs.
type DeployPage struct {
	console.Frame
	Document string
	Proposed string // name of the deployment
	Nodes    []Node
	Outputs  []Choice
}

// Node is a node with fields that can be inputs.
type Node struct {
	ID, Title string
	Fields    []Choice
}

// Choice is an input or an output that can be ticked.
type Choice struct {
	Target string // 6.text or 9, as the command line names it
	Label  string
	Kind   callable.Kind
	Value  string
	Name   string // "" = named by its title
	Ticked bool
}

const maxValueShown = 80

// ofJob offers to publish the graph of a job: GET /console/jobs/{id}/deploy.
func (s *Section) ofJob(c *gin.Context, v page.Visitor, j job.Job) (console.Page, error) {
	source, err := s.Sources.Load(c.Request.Context(), v.Account, j.ID)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, fault.CodeJobNotFound, "The submission of this job is no longer stored.")
	}
	if err != nil {
		return nil, err
	}
	name := ""
	if j.Deployment != nil {
		name = j.Deployment.Name
	}
	return s.offer(c.Request.Context(), v.Account, source.Prompt, name)
}

// choose offers to publish a workflow: POST /console/deploy. It records nothing.
func (s *Section) choose(c *gin.Context, v page.Visitor) (console.Page, error) {
	data, err := uploaded(c)
	if err != nil {
		return nil, err
	}
	document, err := uiworkflow.Text(data)
	if err == nil {
		err = request.CheckShape(document, jobio.MaxMembers)
	}
	if err != nil {
		return nil, err
	}
	return s.offer(c.Request.Context(), v.Account, document, "")
}

// uploaded returns the file of a form, or the graph of the page that shows the inputs of one.
func uploaded(c *gin.Context) ([]byte, error) {
	if prompt := c.PostForm("prompt"); prompt != "" {
		return []byte(prompt), nil
	}
	header, err := c.FormFile("file")
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "Choose a file of at most %d MiB.", maxForm>>20)
	}
	f, err := header.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// usual are the names of fields that most callers give.
var usual = []string{"text", "prompt", "seed", "noise_seed"}

// offer returns the page of a document. What its drawing shows as inputs and outputs is ticked, or else the usual fields.
func (s *Section) offer(ctx context.Context, account string, document json.RawMessage, name string) (console.Page, error) {
	classes, err := s.Deployments.Known(ctx, account)
	if err != nil {
		return nil, err
	}
	inputs, outputs, err := callable.Candidates(document, s.Deployments.Limits, classes)
	if err != nil {
		return nil, err
	}
	shown := &DeployPage{Frame: console.Frame{Title: "Deploy a graph"}, Document: string(document), Proposed: name}
	var drawn callable.Schema
	if made, err := callable.Derive(document, s.Deployments.Limits, classes, callable.Named{}); err == nil {
		drawn = *made.Schema
	}
	for _, in := range inputs {
		choice := Choice{Target: in.Node + "." + in.Input, Label: in.Input, Kind: in.Kind, Value: shortened(in.Value)}
		choice.Name, choice.Ticked = drawn.InputOf(in.Node, in.Input)
		if len(drawn.Inputs) == 0 {
			choice.Ticked = in.Kind.IsFile() || slices.Contains(usual, in.Input)
		}
		if n := len(shown.Nodes); n == 0 || shown.Nodes[n-1].ID != in.Node {
			shown.Nodes = append(shown.Nodes, Node{ID: in.Node, Title: in.Title})
		}
		last := &shown.Nodes[len(shown.Nodes)-1]
		last.Fields = append(last.Fields, choice)
	}
	for _, out := range outputs {
		choice := Choice{Target: out.Node, Label: out.Title, Kind: out.Kind, Ticked: len(drawn.Outputs) == 0}
		if named, ok := drawn.OutputOf(out.Node); ok {
			choice.Name, choice.Ticked = named, true
		}
		shown.Outputs = append(shown.Outputs, choice)
	}
	return shown, nil
}

func shortened(value json.RawMessage) string {
	text := []rune(string(value))
	if len(text) > maxValueShown {
		return string(text[:maxValueShown]) + "…"
	}
	return string(text)
}

// add publishes a document under a name, as a new deployment or as the next version: POST /console/deploy/add.
func (s *Section) add(c *gin.Context, v page.Visitor) (string, error) {
	by, err := author(c, v)
	if err != nil {
		return "", err
	}
	document := json.RawMessage(c.PostForm("document"))
	if err := request.CheckShape(document, jobio.MaxMembers); err != nil {
		return "", err
	}
	made, err := s.Deployments.Derive(c.Request.Context(), v.Account, deployment.Source{
		Document: document, Pin: deployment.Pin(c.PostForm("pin")),
		Named: callable.Named{Inputs: ticked(c, "input"), Outputs: ticked(c, "output")},
	})
	if err != nil {
		return "", err
	}
	added, err := s.Deployments.Add(c.Request.Context(), v.Account, strings.TrimSpace(c.PostForm("name")), made.Content, by)
	if err != nil {
		return "", err
	}
	if added.Created {
		return "/deployments/" + added.Deployment.Name, nil
	}
	return fmt.Sprintf("/deployments/%s@%d", added.Deployment.Name, added.Version.Number), nil
}

// ticked returns the ticked inputs or outputs of a form, as the command line names them.
func ticked(c *gin.Context, kind string) (all []string) {
	for _, target := range c.PostFormArray(kind) {
		if name := strings.TrimSpace(c.PostForm("name:" + target)); name != "" {
			target = name + "=" + target
		}
		all = append(all, target)
	}
	return all
}
