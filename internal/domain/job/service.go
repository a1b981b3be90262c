package job

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// inlineLimit is the largest submission stored in its event, in bytes. A larger one is stored as a blob. Most graphs
// of a few dozen nodes are smaller.
const inlineLimit = 16 << 10

// KeyOperation is the scope of the idempotency keys of submissions.
const KeyOperation = "jobs"

// Submission is a request to run a graph.
type Submission struct {
	Account    string
	RequestID  string
	PublicID   PublicID // chosen by the client; "" = the job's own id
	Surface    Surface
	ClientID   string
	Prompt     json.RawMessage
	ExtraData  map[string]json.RawMessage // without credentials
	Credential string                     // api_key_service; stored encrypted, never part of an event
	// credentials of Comfy.org by their names in extra_data; stored encrypted if ForServers is set, otherwise dropped
	ComfyOrg       map[string]string
	Number         *float64
	Front          bool
	Targets        []string // nil = every output
	Metadata       map[string]string
	IdempotencyKey string
	Origin         *Origin // set for a retry
	Actor          string  // who submitted it; "" = the account
	Reason         string

	Deployment *Deployed                  // set for a call of a deployment
	Inputs     map[string]json.RawMessage // of the call, by name
	Asked      string                     // as in Source
	RouteKey   string                     // as in NewJob

	graph  *graph.Graph // the parsed Prompt; nil = not parsed yet
	filled Filled
}

// Filled is the graph of a submission in which the graphs of versions stand in the place of the nodes that call deployments.
type Filled struct {
	Prompt  json.RawMessage // nil = no node calls a deployment
	Targets []string
	Calls   *Calls
	Explain func(*graph.PromptError) // names the nodes of the submitted graph in an error of the graph that runs
}

// Filler fills the graphs of submissions; deployment.Service implements it.
type Filler interface {
	// FillGraph returns the zero value for a graph of which no node calls a deployment of the account.
	FillGraph(ctx context.Context, sub Submission) (Filled, error)
}

// Submitted is an accepted submission.
type Submitted struct {
	Job      Job
	Accepted *graph.Accepted // the outputs that run, and the errors of the others
}

// Tiers returns the limits of accounts.
type Tiers interface {
	Bounds(ctx context.Context, account string) (Bounds, error)
}

// FilesOf returns an account's files for validation.
type FilesOf interface {
	ForAccount(account string) node.Files
}

// Sealer encrypts a credential for the job it belongs to.
type Sealer interface {
	Seal(owner, secret string) []byte
}

// AssetResolver replaces asset references in a graph by the file names that loaders read.
type AssetResolver interface {
	ResolveAssets(ctx context.Context, account string, g *graph.Graph) error
}

// Segments checks whether the parts of a graph that need ComfyUI servers can be split off as segments.
type Segments interface {
	// Price returns the maximum price of a second on a server with these labels, in USD millionths; 0 for a graph
	// that needs no server.
	Price(accepted *graph.Accepted, labels []string) int64
	// Check returns a *graph.PromptError for a graph that cannot be split, and Invalid for labels that no server has.
	Check(accepted *graph.Accepted, labels []string) error
}

// Labels checks which labels of ComfyUI servers jobs of an account may require.
type Labels interface {
	// CheckLabels returns Denied for the first label that the account may not use.
	CheckLabels(ctx context.Context, account string, labels []string) error
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store       Store
	Validator   *graph.Validator
	Limits      graph.Limits
	Files       FilesOf
	Assets      AssetResolver
	Blobs       blob.Store
	Tiers       Tiers
	Sealer      Sealer
	Segments    Segments              // nil = there are no ComfyUI servers
	Labels      Labels                // nil = every account may use every label
	Credentials Credentials           // nil = there are no accounts, and partner nodes need no credential
	ForServers  bool                  // store credentials of Comfy.org for the servers that the operator chose
	Notify      func([]outbox.Intent) // delivers the intents that start accepted jobs
	Graphs      *Handover             // passes accepted jobs to the runs that this process begins; nil = it begins no runs
	Price       Price                 // of a run of a metered account; zero = free
	Deployments Filler                // nil = no node calls a deployment
	Log         *slog.Logger

	// Fetchable returns the model files that the workflow in extra_data names, and that are fetched when a job needs them; nil = none.
	Fetchable func(extraData map[string]json.RawMessage) []uiworkflow.Model
}

// Handover passes accepted jobs with their parsed graphs to the runs of the same process.
type Handover = graph.Handover[Fresh]

// Fresh is a job as its submission recorded it. It may have further events since.
type Fresh struct {
	Job      Job
	Document Document
	At       time.Time // of this process's clock
}

// Service accepts commands on jobs. Every method acts on the jobs of the given account only.
type Service struct{ Deps }

// NewService returns the service over its dependencies.
func NewService(deps Deps) *Service { return &Service{Deps: deps} }

// Submit validates a graph and records it as a job. The job is durable when Submit returns. A graph
// without a valid output is a *graph.PromptError; other refusals are fault errors with the codes
// queue_full, insufficient_credits, idempotency_key_reuse, duplicate_job, missing_asset, credential_required, label_not_allowed
// and unknown_label.
func (s *Service) Submit(ctx context.Context, sub Submission) (Submitted, error) {
	files := s.Files.ForAccount(sub.Account)
	accepted, err := s.accept(ctx, &sub, files)
	if err != nil {
		return Submitted{}, err
	}
	n, err := s.newJob(ctx, sub, accepted)
	if err != nil {
		return Submitted{}, err
	}
	if p, ok := files.(pinner); ok && account.Reads(sub.Account) == sub.Account { // files of another account are not kept for a job
		n.Pins = p.Pinned()
	}
	admission, err := s.Store.Submit(ctx, n)
	if err != nil {
		return Submitted{}, err
	}
	if len(admission.Intents) > 0 { // the job starts now
		s.Graphs.Put(string(n.ID), accepted.Graph, Fresh{Job: admission.Job, Document: n.Submitted.Document, At: time.Now()})
	}
	s.Notify(admission.Intents)
	return Submitted{Job: admission.Job, Accepted: accepted}, nil
}

// pinner is a node.Files that records which assets are read through it.
type pinner interface{ Pinned() []string }

// accept validates a graph and its credential. It records nothing.
func (s *Service) accept(ctx context.Context, sub *Submission, files node.Files) (*graph.Accepted, error) {
	g, err := s.parse(ctx, sub)
	if err != nil {
		return nil, err
	}
	accepted, err := s.validate(ctx, *sub, g, files)
	if sub.filled.Explain == nil {
		return accepted, err
	}
	if refused := (*graph.PromptError)(nil); errors.As(err, &refused) {
		sub.filled.Explain(refused)
	}
	if fault.CodeOf(err) == fault.CodeMissingAsset {
		err = fault.Wrap(err, fault.Invalid, fault.CodeMissingAsset, "a file that an input names does not exist")
	}
	if err == nil {
		refused := accepted.Refuse()
		sub.filled.Explain(refused)
		accepted.NodeErrors = refused.NodeErrors
	}
	return accepted, err
}

// parse returns the graph of a submission that runs.
func (s *Service) parse(ctx context.Context, sub *Submission) (*graph.Graph, error) {
	if s.Deployments != nil {
		filled, err := s.Deployments.FillGraph(ctx, *sub)
		if err != nil {
			return nil, err
		}
		if filled.Prompt != nil {
			sub.filled, sub.Targets = filled, filled.Targets
			return graph.Parse(filled.Prompt, s.Limits)
		}
	}
	if sub.graph != nil {
		return sub.graph, nil
	}
	return graph.Parse(sub.Prompt, s.Limits)
}

func (s *Service) validate(ctx context.Context, sub Submission, g *graph.Graph, files node.Files) (*graph.Accepted, error) {
	if err := s.Assets.ResolveAssets(ctx, sub.Account, g); err != nil {
		return nil, err
	}
	if s.Fetchable != nil {
		if models := s.Fetchable(sub.ExtraData); len(models) > 0 {
			files = offering{files, models}
		}
	}
	accepted, err := s.Validator.Validate(ctx, g, files, sub.Targets)
	if err != nil {
		return nil, withSources(err, sub.ExtraData)
	}
	if sub.Deployment != nil && len(accepted.NodeErrors) > 0 { // a call has all outputs or is refused
		return nil, accepted.Refuse()
	}
	if err := s.checkServers(ctx, sub, accepted); err != nil {
		return nil, err
	}
	return accepted, s.checkCredential(ctx, sub, accepted)
}

// checkServers checks the labels of a submission, and whether servers can run their part of its graph. It first
// refuses labels that the account may not use, so that the answer does not reveal which servers exist.
func (s *Service) checkServers(ctx context.Context, sub Submission, accepted *graph.Accepted) error {
	labels, err := Source{ExtraData: sub.ExtraData}.ParseLabels()
	if err != nil {
		return err
	}
	if len(labels) > 0 && s.Labels != nil {
		if err := s.Labels.CheckLabels(ctx, sub.Account, labels); err != nil {
			return err
		}
	}
	if s.Segments == nil {
		return nil
	}
	return s.Segments.Check(accepted, labels)
}

func (s *Service) newJob(ctx context.Context, sub Submission, accepted *graph.Accepted) (NewJob, error) {
	bounds, err := s.Tiers.Bounds(ctx, sub.Account)
	if err != nil {
		return NewJob{}, err
	}
	id := NewID()
	if sub.PublicID != "" {
		id = IDOfChoice(sub.Account, sub.PublicID)
	}
	doc, err := s.document(ctx, sub)
	if err != nil {
		return NewJob{}, err
	}
	n := NewJob{
		ID: id, Account: sub.Account, Number: sub.Number, Front: sub.Front, Bounds: bounds,
		IdempotencyKey: sub.IdempotencyKey, Operation: KeyOperation, RequestID: sub.RequestID, Actor: sub.Actor, Reason: sub.Reason,
		Submitted: SubmittedV1{
			Surface: sub.Surface, ClientID: sub.ClientID, Document: doc, Targets: accepted.Outputs,
			NodesTotal: accepted.NodeCount(), Metadata: sub.Metadata, Credential: sub.Credential != "", Origin: sub.Origin,
			WorkflowID: Source{ExtraData: sub.ExtraData}.WorkflowID(), PublicID: sub.PublicID,
			Deployment: sub.Deployment, Calls: sub.filled.Calls, InTurn: fetchesByKey(accepted.Graph),
		},
		RouteKey: sub.RouteKey,
	}
	n.Price = s.Price
	if s.Segments != nil {
		n.Price.Server = s.Segments.Price(accepted, Source{ExtraData: sub.ExtraData}.Labels())
	}
	if !n.Price.Free() {
		n.Price.Partners = s.partners(accepted.Graph)
	}
	if text := s.secrets(sub).Text(); text != "" {
		n.Sealed = s.Sealer.Seal(string(id), text)
	}
	return n, nil
}

// fetchesByKey reports whether a graph is that of a painting program that fetches its pictures by the route of the tooling nodes. Such a
// program follows one job at a time.
func fetchesByKey(g *graph.Graph) bool {
	return slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return n.Class == "ETN_SaveImageCache" })
}

// secrets returns the credentials of a submission that the job needs.
func (s *Service) secrets(sub Submission) Secrets {
	secrets := Secrets{Credential: sub.Credential}
	if s.ForServers {
		secrets.ComfyOrg = sub.ComfyOrg
	}
	return secrets
}

// Cancel cancels one job. It reports whether the job was active.
func (s *Service) Cancel(ctx context.Context, account string, id ID, requestID string) (bool, error) {
	done, err := s.CancelMany(ctx, account, []ID{id}, requestID)
	return len(done) > 0, err
}

// CancelMany cancels pending and running jobs. It returns the jobs that were active.
func (s *Service) CancelMany(ctx context.Context, account string, ids []ID, requestID string) ([]ID, error) {
	return s.CancelAs(ctx, CancelRequest{Account: account, IDs: ids, RequestID: requestID})
}

// CancelAs is CancelMany for a given actor and reason, which are recorded.
func (s *Service) CancelAs(ctx context.Context, r CancelRequest) ([]ID, error) {
	if len(r.IDs) == 0 {
		return nil, nil
	}
	var canceled []ID
	for some := range slices.Chunk(r.IDs, cancelAtOnce) {
		r.IDs = some
		done, err := s.Store.Cancel(ctx, r)
		if err != nil {
			return canceled, err
		}
		canceled = append(canceled, done...)
	}
	return canceled, nil
}

// cancelAtOnce bounds the jobs that one transaction cancels. A transaction over thousands of jobs would block the
// account's other commands, and readers of the log, for seconds.
const cancelAtOnce = 250

// ClearPending cancels every waiting job of the account.
func (s *Service) ClearPending(ctx context.Context, account, requestID string) ([]ID, error) {
	waiting, err := s.Store.Waiting(ctx, account)
	if err != nil {
		return nil, err
	}
	return s.CancelMany(ctx, account, waiting, requestID)
}

// Interrupt cancels the account's running jobs, or only the given one.
func (s *Service) Interrupt(ctx context.Context, account string, only ID, requestID string) ([]ID, error) {
	running, err := s.Store.WithSlot(ctx, account)
	if err != nil {
		return nil, err
	}
	if only == "" {
		return s.CancelMany(ctx, account, running, requestID)
	}
	for _, id := range running {
		if id == only {
			return s.CancelMany(ctx, account, []ID{id}, requestID)
		}
	}
	return nil, nil
}
