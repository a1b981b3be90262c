package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// AgainPage is a form of a job's inputs, to run the job again with changes.
type AgainPage struct {
	console.Frame
	Of    job.PublicID
	Nodes []FormNode
}

// FormNode is a node with its inputs that have values.
type FormNode struct {
	ID, Class, Title string
	Inputs           []FormInput
}

// FormInput is an input of a node in a form.
type FormInput struct {
	Name, Label, Value string
	Long               bool
}

// maxInputs bounds the body of a form with the inputs of a graph, in bytes.
const maxInputs = 4 << 20

// inputField begins the names of the fields that hold inputs; "node.input" follows.
const inputField = "input:"

// acceptedLimits are the bounds for a graph that was accepted before.
var acceptedLimits = graph.Limits{MaxNodes: 1 << 20, MaxInputs: 1 << 24, MaxBytes: 1 << 30}

// thumbByNode returns the first picture of each node.
func thumbByNode(j job.Job) map[string]string {
	found := map[string]string{}
	for _, o := range jobio.Outputs(j) {
		if found[o.Node] == "" && jobio.OutputType(o.File) == "image" {
			found[o.Node] = o.File.Asset
		}
	}
	return found
}

// compare fills in the differences between a job and the job that the address names, if any.
func (s *Surface) compare(c *gin.Context, v page.Visitor, shown *JobPage, here inspect.History) error {
	text := strings.TrimSpace(c.Query("with"))
	if text == "" {
		return nil
	}
	other, err := s.jobNamed(c, v, text)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	there, err := s.Histories.History(ctx, v.Account, other.ID)
	if err != nil {
		return err
	}
	sides := [2]inspect.Side{{History: here}, {History: there}}
	for i, id := range []job.ID{shown.Job.ID, other.ID} {
		source, err := s.Sources.Load(ctx, v.Account, id)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if err == nil {
			sides[i].Source = &source
		}
	}
	compared, err := inspect.Diff(sides[0], sides[1])
	shown.With, shown.Compared = other.PublicID(), &compared
	return err
}

// rerunForm shows a form of a job's inputs: GET /console/jobs/{id}/again.
func (s *Surface) rerunForm(c *gin.Context, v page.Visitor, j job.Job) (console.Page, error) {
	g, err := s.graph(c, v, j)
	if err != nil {
		return nil, err
	}
	shown := &AgainPage{Frame: console.Frame{Title: "Run again"}, Of: j.PublicID()}
	shown.Nodes = formNodes(g)
	if input := c.Query("input"); input != "" {
		load(shown.Nodes, input)
	}
	return shown, nil
}

// load sets the file name of every node that loads a picture.
func load(nodes []FormNode, name string) {
	for _, n := range nodes {
		for i, in := range n.Inputs {
			if slices.Contains(loaders, n.Class) && in.Label == "image" {
				n.Inputs[i].Value = name
			}
		}
	}
}

func (s *Surface) graph(c *gin.Context, v page.Visitor, j job.Job) (*graph.Graph, error) {
	source, err := s.Sources.Load(c.Request.Context(), v.Account, j.ID)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, fault.CodeJobNotFound, "The submission of this job is no longer stored.")
	}
	if err != nil {
		return nil, err
	}
	return graph.Parse(source.Prompt, acceptedLimits)
}

// formNodes returns the inputs of a graph that have values, by node.
func formNodes(g *graph.Graph) []FormNode {
	var nodes []FormNode
	for _, n := range g.Nodes {
		shown := FormNode{ID: n.ID, Class: n.Class, Title: n.Title}
		shown.Title = cmp.Or(shown.Title, n.Class)
		for _, in := range n.Inputs {
			text, ok := formValue(in.Value)
			if ok {
				shown.Inputs = append(shown.Inputs, FormInput{
					Name: inputField + n.ID + "." + in.Name, Label: in.Name, Value: text, Long: len(text) > 60 || strings.Contains(text, "\n"),
				})
			}
		}
		if len(shown.Inputs) > 0 {
			nodes = append(nodes, shown)
		}
	}
	return nodes
}

// formValue renders a value for a form: a string as it is, any other value as JSON. A link to another node is not a
// value.
func formValue(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case []any:
		return "", false
	}
	raw, err := json.Marshal(value)
	return string(raw), err == nil
}

// changes returns the inputs whose values in a form differ from those of a graph.
func changes(g *graph.Graph, fields map[string][]string) ([]job.Assignment, error) {
	var set []job.Assignment
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			given, ok := fields[inputField+n.ID+"."+in.Name]
			before, isValue := formValue(in.Value)
			if !ok || !isValue || len(given) != 1 {
				continue
			}
			now := strings.ReplaceAll(given[0], "\r\n", "\n") // browsers send CRLF
			if now == strings.ReplaceAll(before, "\r\n", "\n") {
				continue
			}
			raw := json.RawMessage(bytes.TrimSpace([]byte(now)))
			if _, isText := in.Value.(string); isText {
				var err error
				if raw, err = json.Marshal(now); err != nil {
					return nil, err
				}
			} else if !json.Valid(raw) {
				return nil, fault.New(fault.Invalid, fault.CodeInvalidAssignment, "%s of node %s was %s: %q is not of the same type.", in.Name,
					n.ID, before, now)
			}
			set = append(set, job.Assignment{Target: n.ID + "." + in.Name, Value: raw})
		}
	}
	return set, nil
}

// retry runs a job again as a new job, with the inputs that the form changes: POST /console/jobs/{id}/retry.
func (s *Surface) retry(c *gin.Context, v page.Visitor, j job.Job) (string, error) {
	if err := s.Edge.CheckSpace(c, v.Account); err != nil {
		return "", err
	}
	reason, err := page.Reason(c)
	if err != nil {
		return "", err
	}
	r := job.Retry{
		Of: j.ID, Account: v.Account, FromNode: c.PostForm("from"), Credential: c.PostForm("credential"),
		Reason: reason, Actor: v.Actor(), RequestID: edge.RequestID(c),
	}
	if r.Set, err = s.changed(c, v, j); err != nil {
		return "", err
	}
	made, err := s.retryAs(c, v, r)
	if err != nil {
		return "", err
	}
	return "/jobs/" + string(made.Job.PublicID()) + "?notice=again", nil
}

// changed returns the inputs that a form changes. A form without inputs changes none.
func (s *Surface) changed(c *gin.Context, v page.Visitor, j job.Job) ([]job.Assignment, error) {
	for name := range c.Request.PostForm {
		if strings.HasPrefix(name, inputField) {
			g, err := s.graph(c, v, j)
			if err != nil {
				return nil, err
			}
			return changes(g, c.Request.PostForm)
		}
	}
	return nil, nil
}

// retryAs retries a job. If the graph calls partners and carries no key for them, the key with which the visitor
// signed in is used.
func (s *Surface) retryAs(c *gin.Context, v page.Visitor, r job.Retry) (job.Submitted, error) {
	made, err := s.Retry.Retry(c.Request.Context(), r)
	var known *fault.Error
	if errors.As(err, &known) && known.Code == fault.CodeCredentialRequired && v.Key() != "" {
		r.Credential = v.Key()
		made, err = s.Retry.Retry(c.Request.Context(), r)
	}
	return made, err
}
