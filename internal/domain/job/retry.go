package job

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Origin names the job from which a retry was made. The event's meta contains the actor and the reason.
type Origin struct {
	Job      ID       `json:"job"`
	Chosen   PublicID `json:"public_job,omitempty"` // public id of that job, if its client chose one
	FromNode string   `json:"from_node,omitempty"`  // this node and all that read from it run again, even if cached
	Set      []string `json:"set,omitempty"`        // inputs that differ from the original's, "node.input"
}

// PublicID returns the public id of the job from which a retry was made.
func (o Origin) PublicID() PublicID { return Job{ID: o.Job, Chosen: o.Chosen}.PublicID() }

// Retry is a request for a new job with the submission of an ended job. The ended job does not change.
type Retry struct {
	Of           ID
	Account      string       // owner of the job; "" = any owner, for operators
	FromNode     string       // "" = every cached result may be reused
	Set          []Assignment // changes of the graph
	Credential   string       // for partner services; the original's was deleted
	NoCredential bool         // do not check whether a credential is missing
	Actor        string       // who requests the retry
	Reason       string       // given by the operator
	RequestID    string
}

// maxReason bounds the reason, in bytes.
const maxReason = 1000

// named returns the id of the job in an error: the public id for its owner, both ids for an operator.
func (r Retry) named(state Job) string {
	if r.Account != "" {
		return string(state.PublicID())
	}
	return state.IDs()
}

// check returns an error if a field of the retry is missing or too long.
func (r Retry) check() error {
	if r.Actor == "" {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a retry must name its actor")
	}
	if len(r.Reason) > maxReason {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a reason may have at most %d bytes", maxReason)
	}
	return nil
}

// Retrier makes new jobs from old submissions.
type Retrier struct {
	Service *Service
	Sources Sources
}

// Retry records a new job with the submission of r.Of, as Service.Submit does, with its origin. A job that has not
// ended is Conflict, job_not_finished. A job whose graph calls partner models is Invalid, credential_required, if no
// credential is given: the original credential was deleted when the job ended.
func (t Retrier) Retry(ctx context.Context, r Retry) (Submitted, error) {
	sub, err := t.prepare(ctx, r)
	if err != nil {
		return Submitted{}, err
	}
	return t.Service.Submit(ctx, sub)
}

// Check returns the error with which Retry would refuse r. It records nothing. It does not check limits that depend
// on the time of the retry: space in the account's queue, and credit.
func (t Retrier) Check(ctx context.Context, r Retry) error {
	sub, err := t.prepare(ctx, r)
	if err != nil {
		return err
	}
	_, err = t.Service.accept(ctx, &sub, t.Service.Files.ForAccount(sub.Account))
	return err
}

// prepare builds the submission of a retry.
func (t Retrier) prepare(ctx context.Context, r Retry) (Submission, error) {
	if err := r.check(); err != nil {
		return Submission{}, err
	}
	state, first, err := t.Sources.Read(ctx, r.Of)
	if err != nil {
		return Submission{}, err
	}
	if r.Account != "" && state.Account != r.Account {
		return Submission{}, errNoJob(r.Of)
	}
	if !state.State.Final() {
		return Submission{}, fault.New(fault.Conflict, fault.CodeJobNotFinished, "job %s is %s: cancel it first, or wait until it has ended",
			r.named(state), state.State)
	}
	return t.submission(ctx, r, state, first)
}

// checkCredential refuses a retry without a credential if the original had one and its graph calls partners.
func (t Retrier) checkCredential(r Retry, state Job, first SubmittedV1, g *graph.Graph) error {
	if !first.Credential || r.Credential != "" || r.NoCredential || !t.Service.usesPartners(g) {
		return nil
	}
	return fault.New(fault.Invalid, fault.CodeCredentialRequired,
		"the graph of job %s calls a partner model, and its credential was deleted when the job ended: give a credential", r.named(state))
}

func (t Retrier) submission(ctx context.Context, r Retry, state Job, first SubmittedV1) (Submission, error) {
	source, err := first.Document.Load(ctx, t.Sources.Blobs)
	if err != nil {
		return Submission{}, err
	}
	origin, asked := &Origin{Job: r.Of, Chosen: state.Chosen, FromNode: r.FromNode}, source.Prompt
	if source.Prompt, origin.Set, err = Assign(source.Prompt, r.Set); err != nil {
		return Submission{}, err
	}
	if err := t.checkInputs(asked, origin.Set); err != nil {
		return Submission{}, err
	}
	g, err := graph.Parse(source.Prompt, t.Service.Limits)
	if err != nil {
		return Submission{}, err
	}
	if err := t.checkCredential(r, state, first, g); err != nil {
		return Submission{}, err
	}
	if _, ok := g.Node(r.FromNode); !ok && r.FromNode != "" {
		return Submission{}, fault.New(fault.Invalid, fault.CodeUnknownNode, "the graph has no node %q", r.FromNode)
	}
	return Submission{
		Account: state.Account, RequestID: r.RequestID, Surface: first.Surface, ClientID: first.ClientID,
		Prompt: source.Prompt, ExtraData: source.ExtraData, Credential: r.Credential, Targets: first.Targets,
		Metadata: first.Metadata, Origin: origin, Actor: r.Actor, Reason: r.Reason, Deployment: first.Deployment, Inputs: source.Inputs,
		Asked: source.Asked,
		graph: g,
	}, nil
}

// checkInputs refuses a set input that is neither in the original graph nor declared by the class. Otherwise a
// misspelled name would silently change nothing.
func (t Retrier) checkInputs(asked json.RawMessage, set []string) error {
	if len(set) == 0 {
		return nil
	}
	g, err := graph.Parse(asked, t.Service.Limits)
	if err != nil {
		return err
	}
	for _, target := range set {
		at := strings.LastIndexByte(target, '.')
		node, ok := g.Node(target[:at])
		for ; !ok; node, ok = g.Node(target[:at]) {
			at = strings.LastIndexByte(target[:at], '.')
		}
		input := target[at+1:]
		given := slices.ContainsFunc(node.Inputs, func(in graph.Given) bool { return in.Name == input })
		if declared := t.Service.inputs(node.Class); !given && len(declared) > 0 &&
			!slices.ContainsFunc(declared, func(name string) bool { return name == input || strings.HasPrefix(input, name+".") }) {
			return fault.New(fault.Invalid, fault.CodeInvalidAssignment, "node %s (%s) has no input %q; it has: %s", node.ID, node.Class, input,
				strings.Join(declared, ", "))
		}
	}
	return nil
}

func errNoJob(id ID) error {
	return fault.New(fault.NotFound, fault.CodeJobNotFound, "there is no job %s", id)
}

// Read folds a job's stream and returns its state and submission. An unknown job is NotFound. The caller must check
// the account.
func (s Sources) Read(ctx context.Context, id ID) (state Job, first SubmittedV1, err error) {
	events := eventlog.Read(ctx, s.Events, id.Stream(), 0)
	state, err = eventlog.Fold(s.Registry, events, state, func(state Job, rec eventlog.Recorded, data any) Job {
		if e, ok := data.(SubmittedV1); ok {
			first = e
		}
		return Fold(state, rec, data)
	})
	if err != nil {
		return Job{}, first, err
	}
	if state.Version == 0 {
		return Job{}, first, errNoJob(id)
	}
	return state, first, nil
}

// Fresh returns the nodes of g that a retry must run again: FromNode, or the nodes of the version that it called, and all nodes that
// read from them.
func (o *Origin) Fresh(g *graph.Graph, calls *Calls) (fresh []string) {
	if o == nil || o.FromNode == "" {
		return nil
	}
	for _, n := range g.Nodes {
		if caller, _ := calls.Of(n.ID); n.ID == o.FromNode || caller.Node == o.FromNode {
			fresh = append(fresh, g.Downstream(n.ID)...)
		}
	}
	return fresh
}

// inputs returns the input names that a class declares, or nil for an unknown class.
func (s *Service) inputs(name string) []string {
	class, ok := s.Validator.Classes.Lookup(name)
	if !ok {
		return nil
	}
	names := make([]string, len(class.Inputs))
	for i, in := range class.Inputs {
		names[i] = in.Name
	}
	return names
}
