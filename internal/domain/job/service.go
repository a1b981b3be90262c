package job

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// inlineLimit is the largest submission kept in its event; a larger one is a blob. Most graphs
// of a few dozen nodes stay below it and cost no file.
const inlineLimit = 16 << 10

// Submission is a request to run a graph.
type Submission struct {
	Account        string
	RequestID      string
	ID             ID // "" = a fresh one
	Surface        Surface
	ClientID       string
	Prompt         json.RawMessage
	ExtraData      map[string]json.RawMessage // without credentials
	Credential     string                     // api_key_service; sealed, never part of an event
	Number         *float64
	Front          bool
	Targets        []string // nil = every output
	Metadata       map[string]string
	IdempotencyKey string
	Origin         *Origin // of a retry; nil otherwise
	Actor          string  // who asked, when that is not the account itself
	Reason         string
}

// Submitted is an accepted submission.
type Submitted struct {
	Job      Job
	Accepted *graph.Accepted // which outputs run, and what was wrong with the others
}

// Tiers says what an account may use.
type Tiers interface {
	Bounds(ctx context.Context, account string) (Bounds, error)
}

// FilesOf gives the view of an account's files that validation needs.
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

// Segments tells whether the parts of a graph that only ComfyUI servers can run can be cut out of it.
type Segments interface {
	// Check returns a *graph.PromptError for a graph that cannot be cut, and Invalid for labels that no server has.
	Check(accepted *graph.Accepted, labels []string) error
}

// Deps are what a Service stands on.
type Deps struct {
	Store       Store
	Validator   *graph.Validator
	Limits      graph.Limits
	Files       FilesOf
	Assets      AssetResolver
	Blobs       blob.Store
	Tiers       Tiers
	Sealer      Sealer
	Segments    Segments              // nil: there are no ComfyUI servers
	Credentials Credentials           // nil: there are no accounts, and partner nodes need none
	Notify      func([]outbox.Intent) // wakes the relay for intents that are due now
	Price       Price                 // of the runs of metered accounts; zero = free
	Log         *slog.Logger
}

// Service accepts commands on jobs. Every method is scoped to the account it is given.
type Service struct{ Deps }

// NewService returns the service over its dependencies.
func NewService(deps Deps) *Service { return &Service{Deps: deps} }

// Submit validates a graph and records it as a job; the job is kept once this returns. A graph
// without a valid output is a *graph.PromptError; other refusals are fault errors with the codes
// queue_full, insufficient_credits, idempotency_key_reuse, duplicate_job, missing_asset and credential_required.
func (s *Service) Submit(ctx context.Context, sub Submission) (Submitted, error) {
	files := s.Files.ForAccount(sub.Account)
	accepted, err := s.accept(ctx, sub, files)
	if err != nil {
		return Submitted{}, err
	}
	n, err := s.newJob(ctx, sub, accepted)
	if err != nil {
		return Submitted{}, err
	}
	if h, ok := files.(holder); ok {
		n.Holds = h.Held()
	}
	admission, err := s.Store.Submit(ctx, n)
	if err != nil {
		return Submitted{}, err
	}
	s.Notify(admission.Intents)
	return Submitted{Job: admission.Job, Accepted: accepted}, nil
}

// holder is a node.Files that remembers which assets were looked at through it.
type holder interface{ Held() []string }

// accept validates a graph and the credential that it needs. Nothing is recorded.
func (s *Service) accept(ctx context.Context, sub Submission, files node.Files) (*graph.Accepted, error) {
	g, err := graph.Parse(sub.Prompt, s.Limits)
	if err != nil {
		return nil, err
	}
	if err := s.Assets.ResolveAssets(ctx, sub.Account, g); err != nil {
		return nil, err
	}
	accepted, err := s.Validator.Validate(ctx, g, files, sub.Targets)
	if err != nil {
		return nil, err
	}
	if s.Segments != nil {
		if err := s.Segments.Check(accepted, Source{ExtraData: sub.ExtraData}.Labels()); err != nil {
			return nil, err
		}
	}
	return accepted, s.checkCredential(ctx, sub, accepted)
}

func (s *Service) newJob(ctx context.Context, sub Submission, accepted *graph.Accepted) (NewJob, error) {
	bounds, err := s.Tiers.Bounds(ctx, sub.Account)
	if err != nil {
		return NewJob{}, err
	}
	id := sub.ID
	if id == "" {
		id = NewID()
	}
	doc, err := s.document(ctx, sub)
	if err != nil {
		return NewJob{}, err
	}
	n := NewJob{
		ID: id, Account: sub.Account, Number: sub.Number, Front: sub.Front, Bounds: bounds,
		IdempotencyKey: sub.IdempotencyKey, Operation: "jobs", RequestID: sub.RequestID, Actor: sub.Actor, Reason: sub.Reason,
		Fact: SubmittedV1{
			Surface: sub.Surface, ClientID: sub.ClientID, Document: doc, Targets: accepted.Outputs,
			NodesTotal: accepted.NodeCount(), Metadata: sub.Metadata, Credential: sub.Credential != "", Origin: sub.Origin,
			WorkflowID: Source{ExtraData: sub.ExtraData}.WorkflowID(),
		},
	}
	if !s.Price.Free() {
		n.Price = s.Price
		n.Price.Partners = s.partners(accepted.Graph)
	}
	if sub.Credential != "" {
		n.Sealed = s.Sealer.Seal(string(id), sub.Credential)
	}
	return n, nil
}

// Cancel asks one job to stop. It reports whether the job was active.
func (s *Service) Cancel(ctx context.Context, account string, id ID, requestID string) (bool, error) {
	done, err := s.CancelMany(ctx, account, []ID{id}, requestID)
	return len(done) > 0, err
}

// CancelMany asks jobs to stop, pending and running ones alike, and returns those that were active.
func (s *Service) CancelMany(ctx context.Context, account string, ids []ID, requestID string) ([]ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var canceled []ID
	for some := range slices.Chunk(ids, cancelAtOnce) {
		c, err := s.Store.Cancel(ctx, CancelRequest{Account: account, IDs: some, RequestID: requestID})
		if err != nil {
			return canceled, err
		}
		s.Notify(c.Intents)
		canceled = append(canceled, c.IDs...)
	}
	return canceled, nil
}

// cancelAtOnce is how many jobs one transaction stops: each by itself is stopped whole or not at all, and
// thousands in one would keep the account's other commands, and readers of the log, waiting for seconds.
const cancelAtOnce = 250

// ClearPending cancels every job of the account that waits.
func (s *Service) ClearPending(ctx context.Context, account, requestID string) ([]ID, error) {
	waiting, err := s.Store.Waiting(ctx, account)
	if err != nil {
		return nil, err
	}
	return s.CancelMany(ctx, account, waiting, requestID)
}

// Interrupt asks the account's running jobs to stop, or only the one given.
func (s *Service) Interrupt(ctx context.Context, account string, only ID, requestID string) ([]ID, error) {
	running, err := s.Store.Holding(ctx, account)
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
