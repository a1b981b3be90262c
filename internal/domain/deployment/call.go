package deployment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Submitter records jobs; job.Service implements it.
type Submitter interface {
	Submit(ctx context.Context, sub job.Submission) (job.Submitted, error)
}

// Sticky is the label of a call that chooses between the versions of a deployment: calls with the same value get the same version.
// Without it, the idempotency key chooses.
const Sticky = "sticky"

// Call is a request to run a version of a deployment.
type Call struct {
	Deployment string // name or id
	Version    int    // 0 = a version that answers
	OnlySent   bool   // the caller may name no file of the account: files are data: URLs or addresses
	// Submission describes the job, with the values of the inputs in Inputs and without a graph.
	Submission job.Submission
}

// Called is an accepted call.
type Called struct {
	Job        job.Job
	Deployment Deployment
	Version    int
}

// Call records a call as a job. Every surface calls deployments by it. An unknown deployment is deployment_not_found, a stopped one
// deployment_stopped, a version that cannot run now deployment_not_ready, and a value that its input does not accept
// invalid_input with the name of the input; other refusals are those of job.Service.Submit.
func (s *Service) Call(ctx context.Context, c Call) (Called, error) {
	c.Submission.Asked = Digest(c.Submission.Inputs)
	files := map[string]storedFile{} // a call that is decided again brings no file again
	key := keyOf(c.Submission)
	d, remembered := s.Store.Recent(c.Submission.Account, c.Deployment)
	var err error
	for range attempts {
		if !remembered {
			if d, err = s.Find(ctx, c.Submission.Account, c.Deployment); err != nil {
				return Called{}, err
			}
		}
		var called Called
		called, err = s.call(ctx, d, c, key, files)
		outdated := remembered && (fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) ||
			fault.CodeOf(err) == fault.CodeDeploymentNotReady)
		if !errors.Is(err, ErrMoved) && !outdated {
			return called, err
		}
		remembered = false
	}
	return Called{}, err
}

// Digest identifies the values of a call as its caller sent them.
func Digest(inputs map[string]json.RawMessage) string {
	raw, err := json.Marshal(inputs)
	if err != nil { // values that are not JSON, which no input accepts
		return ""
	}
	return blob.Sum(raw).String()
}

// call prepares a call for the state of a deployment and records it.
func (s *Service) call(ctx context.Context, d Deployment, c Call, key string, files map[string]storedFile) (Called, error) {
	if err := d.Refusal(cmp.Or(d.Name, c.Deployment)); err != nil {
		return Called{}, err
	}
	sub, number := c.Submission, cmp.Or(c.Version, d.Of(key))
	version, err := s.pinned(ctx, d, number)
	if err != nil {
		return Called{}, err
	}
	if err := s.bind(ctx, version, &sub, c.OnlySent, files); err != nil {
		return Called{}, err
	}
	sub.Deployment = &job.Deployed{ID: string(d.ID), Name: d.Name, Version: number, Outputs: version.names()}
	if c.Version == 0 {
		sub.RouteKey = key
	}
	made, err := s.Jobs.Submit(ctx, sub)
	if err != nil {
		return Called{}, s.explain(ctx, d, number, version, err)
	}
	return Called{Job: made.Job, Deployment: d, Version: number}, nil
}

// callee returns a version of a deployment, ready to be called.
func (s *Service) callee(ctx context.Context, d Deployment, number int) (*callee, error) {
	v, ok := d.Version(number)
	if !ok {
		return nil, errNoVersion(d, number)
	}
	return s.contents.callee(ctx, v.Digest)
}

// pinned is callee for a call: a version with a strict pin is refused while definitions of its classes are others.
func (s *Service) pinned(ctx context.Context, d Deployment, number int) (*callee, error) {
	version, err := s.callee(ctx, d, number)
	if err != nil || version.Pin != PinStrict {
		return version, err
	}
	changed, err := version.Changed(s.Validator.Classes)
	if err == nil && len(changed) > 0 {
		err = notReady(d, number, "the definitions of "+strings.Join(changed, ", ")+" have changed")
	}
	return version, err
}

// checked checks the values of a call and returns the files that they name.
func (c *callee) checked(values map[string]json.RawMessage, onlySent bool) ([]callable.FileValue, error) {
	files, err := c.template.Check(values, nil)
	for _, f := range files {
		if onlySent && f.Form != callable.FormData && f.Form != callable.FormURL {
			return nil, fault.New(fault.Invalid, fault.CodeInvalidInput,
				"input %s: this key may not read files of the account: send a data: URL or an https: address", f.Input)
		}
	}
	return files, err
}

// bind checks the values of a call, stores the files that they bring, and puts the values into the graph.
// A file of files, which are by the address in the call, is not stored again.
func (s *Service) bind(ctx context.Context, version *callee, sub *job.Submission, onlySent bool, files map[string]storedFile) error {
	brought, err := version.checked(sub.Inputs, onlySent)
	if err != nil {
		return err
	}
	values := sub.Inputs
	if len(brought) > 0 {
		values, sub.Inputs = maps.Clone(sub.Inputs), maps.Clone(sub.Inputs)
	}
	for _, f := range brought {
		value, recorded, err := s.file(ctx, *sub, files, f)
		if err != nil {
			return err
		}
		values[f.Input], sub.Inputs[f.Input] = value, recorded
	}
	sub.Prompt, sub.Targets = version.template.Fill(values, nil), version.targets()
	return nil
}

// Check refuses a call as Call would, as far as its values and the state of the deployment tell. It records and stores nothing.
func (s *Service) Check(ctx context.Context, d Deployment, number int, inputs map[string]json.RawMessage, onlySent bool) error {
	if err := d.Refusal(d.Name); err != nil {
		return err
	}
	version, err := s.pinned(ctx, d, number)
	if err == nil {
		_, err = version.checked(inputs, onlySent)
	}
	return err
}

// Surcharged reports whether calls of a version use what has a price beside that of a run: partner models and ComfyUI servers.
func (s *Service) Surcharged(ctx context.Context, d Deployment, number int) (bool, error) {
	version, err := s.callee(ctx, d, number)
	if err != nil {
		return false, err
	}
	for name := range version.Classes {
		if class, known := s.Validator.Classes.Lookup(name); !known || class.Partner || class.Remote {
			return true, nil
		}
	}
	return false, nil
}

// notReadyRetry is the Retry-After of a deployment that lacks something: a server with it may join at any time.
const notReadyRetry = 10 * time.Second

func notReady(d Deployment, version int, missing string) error {
	return fault.New(fault.Unavailable, fault.CodeDeploymentNotReady, "%s@%d cannot run now: %s", d.Name, version, missing).
		WithRetryAfter(notReadyRetry)
}

// explain restates an error of a call in terms of its inputs. If every value was accepted and the graph is still refused, a class or a
// file is missing on the servers.
func (s *Service) explain(ctx context.Context, d Deployment, number int, version *callee, err error) error {
	var refused *graph.PromptError
	if !errors.As(err, &refused) {
		return unnamed(err)
	}
	missing, checkErr := s.missingIn(ctx, d, version)
	if checkErr != nil {
		return checkErr
	}
	if len(missing) > 0 {
		return notReady(d, number, strings.Join(missing, "; "))
	}
	return version.Schema.Explain(err)
}

// unnamed removes the nodes from an error of a graph.
func unnamed(err error) error {
	if fault.CodeOf(err) != fault.CodeMissingAsset {
		return err
	}
	return fault.Wrap(err, fault.Invalid, fault.CodeMissingAsset, "a file that an input names does not exist")
}

// Missing returns what a version of a deployment needs and no server has now, in words.
func (s *Service) Missing(ctx context.Context, d Deployment, number int) ([]string, error) {
	version, err := s.callee(ctx, d, number)
	if err != nil {
		return nil, err
	}
	return s.missingIn(ctx, d, version)
}

// flat returns the graph of a version with those of the deployments that it calls.
func (s *Service) flat(ctx context.Context, d Deployment, version *callee) (*graph.Graph, job.Filled, error) {
	filled, err := s.FillGraph(ctx, job.Submission{
		Account: d.Account, Prompt: version.Graph, Targets: version.targets(), Deployment: &job.Deployed{ID: string(d.ID), Version: d.Live},
	})
	if err != nil {
		return nil, filled, err
	}
	if filled.Prompt == nil {
		filled.Prompt = version.Graph
	}
	g, err := graph.Parse(filled.Prompt, s.Limits)
	return g, filled, err
}

// maxMissing bounds the list of what a version lacks.
const maxMissing = 20

func (s *Service) missingIn(ctx context.Context, d Deployment, version *callee) (missing []string, err error) {
	g, filled, err := s.flat(ctx, d, version)
	var refused *graph.PromptError
	switch {
	case errors.As(err, &refused): // a value that only calls give is missing
		return nil, nil
	case fault.Is(err, fault.Invalid), fault.CodeOf(err) == fault.CodeDeploymentNotReady: // of a deployment that it calls
		return []string{fault.Sentence(err)}, nil
	case err != nil:
		return nil, err
	}
	add := func(text string) {
		if len(missing) < maxMissing && !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	for _, n := range g.Nodes {
		switch class, known := s.Validator.Classes.Lookup(n.Class); {
		case !known:
			add("no server has the class " + n.Class)
		case len(class.Lacks) > 0:
			add("the operator has not set " + strings.Join(class.Lacks, ", ") + " for the class " + n.Class)
		}
	}
	accepted, err := s.Validator.Validate(ctx, g, s.Files.ForAccount(d.Account), version.targets())
	if err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	if refused == nil {
		refused = accepted.Refuse()
	}
	if filled.Explain != nil {
		filled.Explain(refused)
	}
	for _, n := range refused.NodeErrors {
		for _, broken := range n.Errors {
			input, _ := broken.ExtraInfo["input_name"].(string)
			if _, open := version.Schema.InputOf(n.Node, input); open || broken.Type != notOffered {
				continue
			}
			value, _ := json.Marshal(broken.ExtraInfo["received_value"]) // it was read from JSON
			add("no server offers " + string(value) + " as " + input + " of the class " + n.Class)
		}
	}
	return missing, nil
}

// notOffered is the type of the error of a choice that no server offers, such as a model file.
const notOffered = "value_not_in_list"
