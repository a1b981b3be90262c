package deployments

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/form"
	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/console/previews"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/projections/jobindex"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// DeploymentPage is a deployment with a form of the inputs of one version.
type DeploymentPage struct {
	console.Frame
	Found
	Answered  string
	Named     string   // account that an operator named in the address, or ""
	Missing   []string // what the shown version lacks
	Drifted   []string // classes of the shown version whose definitions have changed
	Fields    []*form.Field
	Token     string // of this form, which runs once even if it is sent twice
	Problem   string // why the values are refused
	CanRun    bool
	CanChange bool
	Code      []form.Snippet
	Result    *Result // of the call that the address names, or nil
	Revisions []Revision
	Others    []int // versions that can be promoted
	Calls     Calls
}

// Result is a call whose outputs are shown beside the form.
type Result struct {
	Job     job.Job
	Took    inspect.Millis
	Outputs []Output
	Failure string
	Preview *previews.Preview
}

// Output is a file or a text, under the name of its output.
type Output struct {
	Name, Kind, Asset, Text string
}

// Revision is a version with what changed since the one before.
type Revision struct {
	deployment.Version
	Percent int // of calls that it answers
	Changes []string
	First   bool
}

const (
	revisionsShown = 20  // versions on a page
	callsRead      = 200 // calls of which a page counts failures and durations
	callsShown     = 20
)

// show shows a deployment: GET /console/deployments/{name}.
func (s *Section) show(c *gin.Context, v page.Visitor, f Found) (console.Page, error) {
	inputs, err := s.form(c, f)
	if err != nil {
		return nil, err
	}
	shown, err := s.page(c, v, f, inputs)
	if err != nil {
		return nil, err
	}
	if id := c.Query("job"); id != "" {
		if err := s.addResult(c, v, shown, inputs, id); err != nil {
			return nil, err
		}
	}
	body, err := inputs.Read(inputs.Values())
	if err == nil && body != nil {
		shown.Code = s.snippets(c, f, body)
	}
	return shown, err
}

// form returns the form of the version that the page shows, with the defaults.
func (s *Section) form(c *gin.Context, f Found) (*form.Form, error) {
	schema, err := s.Deployments.Schema(c.Request.Context(), f.Deployment, f.Shown)
	if err != nil {
		return nil, err
	}
	made, err := form.Of(schema.JSONSchema(), "")
	if err == nil {
		made.FillDefaults()
	}
	return made, err
}

// page returns the page of a deployment with a form.
func (s *Section) page(c *gin.Context, v page.Visitor, f Found, inputs *form.Form) (*DeploymentPage, error) {
	ctx := c.Request.Context()
	version, _ := f.Version(f.Shown)
	shown := &DeploymentPage{
		Frame: console.Frame{Title: f.Name, Live: true, Scripts: []string{"models.js"}}, Found: f, Answered: answers(f.Deployment),
		Named: v.Named(), Drifted: version.Drifted, Fields: inputs.Fields, CanChange: changes(v),
		CanRun: v.Allows(account.ScopeWrite) && !v.ByToken() && f.State == deployment.Ready,
	}
	if c.GetHeader("Accept") != "text/event-stream" { // an open page keeps its form
		shown.Token = rand.Text()
	}
	var err error
	if shown.Missing, err = s.Deployments.Missing(ctx, f.Deployment, f.Shown); err != nil {
		return nil, err
	}
	if shown.Revisions, err = s.revisions(ctx, f.Deployment); err != nil {
		return nil, err
	}
	for _, one := range slices.Backward(f.Versions) {
		if one.Number != f.Live {
			shown.Others = append(shown.Others, one.Number)
		}
	}
	shown.Calls, err = s.calls(ctx, f.Deployment)
	return shown, err
}

// revisions returns the newest versions with what changed.
func (s *Section) revisions(ctx context.Context, d deployment.Deployment) (all []Revision, err error) {
	for _, one := range slices.Backward(d.Versions[max(0, len(d.Versions)-revisionsShown):]) {
		r := Revision{Version: one, First: one.Number == 1}
		switch one.Number {
		case d.Live:
			r.Percent = 100 - d.Share.Percent
		case d.Share.Version:
			r.Percent = d.Share.Percent
		}
		if !r.First {
			if r.Changes, err = s.Deployments.Diff(ctx, d, one.Number-1, one.Number); err != nil {
				return nil, err
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// Calls are the newest calls of a deployment, with their failures by cause and their durations by version.
type Calls struct {
	Newest   []Call
	Read     int
	Versions []Durations
	Causes   []Cause
}

// Call is a row of the calls.
type Call struct {
	job.Job
	Took  inspect.Millis
	Cause string
	Thumb string // id of its first picture, or ""
}

// Durations summarises the calls of one version.
type Durations struct {
	Version, Calls, Failed int
	P50, P95               inspect.Millis

	took []time.Duration
}

// Cause is a cause of failures.
type Cause struct {
	Count int
	Text  string
	Last  job.PublicID
}

func (s *Section) calls(ctx context.Context, d deployment.Deployment) (Calls, error) {
	found, err := s.Reader.List(ctx, d.Account, jobs.Query{Deployed: string(d.ID), Limit: callsRead})
	shown := Calls{Read: len(found.Jobs)}
	for _, j := range found.Jobs {
		line := Call{Job: j, Took: took(j)}
		at := slices.IndexFunc(shown.Versions, func(one Durations) bool { return one.Version == j.Deployment.Version })
		if at < 0 {
			at = len(shown.Versions)
			shown.Versions = append(shown.Versions, Durations{Version: j.Deployment.Version})
		}
		shown.Versions[at].add(j)
		if j.Error != nil {
			line.Cause = jobindex.Cause(*j.Error)
			shown.addCause(line)
		}
		if len(shown.Newest) < callsShown {
			line.Thumb = firstPicture(j)
			shown.Newest = append(shown.Newest, line)
		}
	}
	for i := range shown.Versions {
		shown.Versions[i].sum()
	}
	slices.SortFunc(shown.Versions, func(a, b Durations) int { return b.Version - a.Version })
	slices.SortStableFunc(shown.Causes, func(a, b Cause) int { return b.Count - a.Count })
	return shown, err
}

func (d *Durations) add(j job.Job) {
	d.Calls++
	switch j.State {
	case job.Failed:
		d.Failed++
	case job.Succeeded:
		d.took = append(d.took, j.EndedAt.Sub(j.SubmittedAt))
	case job.Queued, job.Running, job.Canceling, job.Canceled, job.Expired:
	}
}

func (d *Durations) sum() {
	if n := len(d.took); n > 0 {
		slices.Sort(d.took)
		d.P50, d.P95 = inspect.Millis(d.took[n/2]), inspect.Millis(d.took[min(n*95/100, n-1)])
	}
}

func (c *Calls) addCause(of Call) {
	at := slices.IndexFunc(c.Causes, func(one Cause) bool { return one.Text == of.Cause })
	if at < 0 {
		at = len(c.Causes)
		c.Causes = append(c.Causes, Cause{Text: of.Cause, Last: of.PublicID()})
	}
	c.Causes[at].Count++
}

func took(j job.Job) inspect.Millis {
	if j.EndedAt == nil {
		return 0
	}
	return inspect.Millis(j.EndedAt.Sub(j.SubmittedAt))
}

func firstPicture(j job.Job) string {
	for _, o := range jobio.Outputs(j) {
		if jobio.OutputType(o.File) == "image" {
			return o.File.Asset
		}
	}
	return ""
}

// addResult shows a call beside the form, which gets its values.
func (s *Section) addResult(c *gin.Context, v page.Visitor, shown *DeploymentPage, inputs *form.Form, id string) error {
	ctx := c.Request.Context()
	public, err := job.ParsePublicID(id)
	if err != nil {
		return noCall()
	}
	j, err := s.Reader.ByPublicID(ctx, v.Account, public)
	if err != nil {
		return err
	}
	if j.Deployment == nil || j.Deployment.ID != string(shown.ID) {
		return noCall()
	}
	source, err := s.Sources.Load(ctx, v.Account, j.ID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if raw, encodeErr := json.Marshal(source.Inputs); err == nil && encodeErr == nil {
		if err := inputs.Fill(raw); err != nil {
			return err
		}
	}
	schema, err := s.Deployments.Schema(ctx, shown.Deployment, j.Deployment.Version)
	if err != nil {
		return err
	}
	shown.Result = resultOf(j, schema)
	if !j.State.Final() {
		shown.Every = time.Second
	}
	shown.Result.Preview, err = s.Previews.Of(ctx, j)
	return err
}

func noCall() error {
	return fault.New(fault.NotFound, fault.CodeJobNotFound, "This deployment has no such call.")
}

// resultOf returns what a caller sees of a job: outputs by name, and a failure in words of inputs.
func resultOf(j job.Job, schema *callable.Schema) *Result {
	named := jobio.CallNames(j.Deployment, schema).Job(j)
	r := &Result{Job: j, Took: took(j)}
	if named.Error != nil {
		r.Failure = named.Error.Message
	}
	for _, o := range named.Outputs {
		for _, file := range o.Files {
			r.Outputs = append(r.Outputs, Output{Name: o.Node, Kind: jobio.OutputType(file), Asset: file.Asset})
		}
		var ui struct{ Text []any }
		if len(o.Files) > 0 || json.Unmarshal(o.UI, &ui) != nil {
			continue
		}
		for _, text := range ui.Text {
			if text, ok := text.(string); ok {
				r.Outputs = append(r.Outputs, Output{Name: o.Node, Kind: "text", Text: text})
			}
		}
	}
	return r
}
