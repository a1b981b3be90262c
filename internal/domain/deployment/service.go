package deployment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Limits of an account and of a deployment.
const (
	MaxDeployments = 500
	MaxVersions    = 1000
	maxReason      = 1000 // bytes
)

// Change is what a command records: its events, and the state after them.
type Change struct {
	Expected int64 // revision before the events; 0 = a new deployment
	Events   []eventlog.Event
	Meta     eventlog.Meta
	After    Deployment
}

// Store records deployments.
type Store interface {
	// Find returns the deployment of an account with a name or an id, or NotFound. It is never older than the log.
	Find(ctx context.Context, account, name string) (Deployment, error)
	// Recent is Find from the memory of this process, which may be behind the log.
	Recent(account, name string) (Deployment, bool)
	// List returns the deployments of an account in order of their names.
	List(ctx context.Context, account string) ([]Deployment, error)
	// After returns the ids and accounts of deployments of all accounts in order of their ids, those after an id.
	After(ctx context.Context, after ID, limit int) ([]Deployment, error)
	// Commit records a change, all or nothing. A deployment at another revision, and a new deployment whose name is taken, are
	// Conflict (eventlog.ErrVersion). A new deployment of an account that has MaxDeployments is Exhausted.
	Commit(ctx context.Context, c Change) error
}

func checkReason(by eventlog.By) error {
	if len(by.Reason) > maxReason {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a reason may have at most %d bytes", maxReason)
	}
	return nil
}

// Keys tells whether idempotency keys are in use; keystore.Keys implements it.
type Keys interface {
	Check(ctx context.Context, account, operation, key string) error
}

// Deps are the dependencies of a Service. A service without Jobs makes no calls.
type Deps struct {
	Store     Store
	Blobs     blob.Store
	Validator *graph.Validator
	Limits    graph.Limits
	Files     job.FilesOf
	Jobs      Submitter
	Keys      Keys                                                         // nil = the store of the jobs alone checks keys
	Assets    *asset.Service                                               // stores the files that calls bring
	Fetch     Fetcher                                                      // nil = values cannot name addresses
	Space     func(ctx context.Context, account string, bytes int64) error // refuses a file for which there is no space; nil = none is
}

// Service carries out commands on deployments. Every method acts on the deployments of the given account only.
type Service struct {
	Deps
	contents contents
}

// NewService returns the service over its dependencies.
func NewService(deps Deps) *Service { return &Service{Deps: deps, contents: newContents(deps.Blobs)} }

// Find returns the deployment of an account with a name or an id.
func (s *Service) Find(ctx context.Context, account, name string) (Deployment, error) {
	if strings.ContainsRune(name, 0) {
		return Deployment{}, ErrNone(name)
	}
	return s.Store.Find(ctx, account, name)
}

// Recent is Find from the memory of this process, which may be behind the log.
func (s *Service) Recent(account, name string) (Deployment, bool) {
	return s.Store.Recent(account, name)
}

// List returns the deployments of an account in order of their names.
func (s *Service) List(ctx context.Context, account string) ([]Deployment, error) {
	return s.Store.List(ctx, account)
}

// attempts bounds how often a command is decided again after a concurrent change.
const attempts = 10

// change decides a command from the current state and records its events. No events change nothing.
func (s *Service) change(ctx context.Context, account, name string, by eventlog.By,
	decide func(Deployment) ([]eventlog.Event, error),
) (Deployment, error) {
	if err := checkReason(by); err != nil {
		return Deployment{}, err
	}
	var err error
	for range attempts {
		var d Deployment
		if d, err = s.Find(ctx, account, name); err != nil {
			return Deployment{}, err
		}
		events, decideErr := decide(d)
		if decideErr != nil || len(events) == 0 {
			return d, decideErr
		}
		if err = s.commit(ctx, d, by, events); err == nil {
			return s.changed(ctx, d, events)
		}
		if !errors.Is(err, eventlog.ErrVersion) {
			return Deployment{}, err
		}
	}
	return Deployment{}, err
}

func (s *Service) commit(ctx context.Context, before Deployment, by eventlog.By, events []eventlog.Event) error {
	after := before
	for _, e := range events {
		after.apply(e.Data)
	}
	return s.Store.Commit(ctx, Change{Expected: before.Revision, Events: events, Meta: by.Meta(), After: after})
}

// changed returns a deployment after events were recorded.
func (s *Service) changed(ctx context.Context, d Deployment, events []eventlog.Event) (Deployment, error) {
	if events[len(events)-1].Type == TypeDeleted {
		d.State = Deleted
		return d, nil
	}
	return s.Find(ctx, d.Account, string(d.ID))
}

// single returns a list of one new event.
func single(eventType string, data any) []eventlog.Event {
	return []eventlog.Event{eventlog.NewEvent(eventType, data)}
}

// Added is the outcome of Add.
type Added struct {
	Deployment Deployment
	Version    Version
	Created    bool // the deployment is new, and the version answers its calls
	Same       bool // the deployment had the version already; nothing was recorded
}

// Add adds a version with some content to the deployment of an account with a name. The first version of a name creates the
// deployment and answers its calls; a later one answers nothing yet. The same content is the same version.
func (s *Service) Add(ctx context.Context, account, name string, content Content, by eventlog.By) (Added, error) {
	if err := errors.Join(CheckName(name), checkReason(by)); err != nil {
		return Added{}, err
	}
	raw, err := content.encode()
	if err != nil {
		return Added{}, err
	}
	digest, err := blob.PutBytes(ctx, s.Blobs, raw)
	if err != nil {
		return Added{}, fmt.Errorf("store a version: %w", err)
	}
	for range attempts {
		added, addErr := s.add(ctx, account, name, digest, content, by)
		if err = addErr; !errors.Is(err, eventlog.ErrVersion) {
			return added, err
		}
	}
	return Added{}, err
}

// add is one attempt of Add.
func (s *Service) add(ctx context.Context, account, name string, digest blob.Ref, content Content, by eventlog.By) (Added, error) {
	d, err := s.Find(ctx, account, name)
	created := fault.Is(err, fault.NotFound)
	switch {
	case created:
		d = Deployment{ID: ID(uuid.NewString()), Account: account, Name: name}
	case err != nil:
		return Added{}, err
	}
	if v, ok := d.WithDigest(digest); ok {
		return Added{Deployment: d, Version: v, Same: true}, nil
	}
	if err := s.checkCircles(ctx, d, content.Classes); err != nil {
		return Added{}, err
	}
	number := len(d.Versions) + 1
	if number > MaxVersions {
		return Added{}, fault.New(fault.Exhausted, fault.CodeInvalidDeployment, "a deployment may have at most %d versions", MaxVersions)
	}
	events := single(TypeVersionAdded, VersionAddedV1{
		Version: number, Digest: digest.String(), Inputs: len(content.Schema.Inputs), Outputs: len(content.Schema.Outputs),
	})
	if created {
		events = append(append(single(TypeCreated, CreatedV1{Name: name, Salt: uuid.NewString()}), events...),
			eventlog.NewEvent(TypePromoted, PromotedV1{Version: number}))
	}
	if err := s.commit(ctx, d, by, events); err != nil {
		return Added{}, err
	}
	d, err = s.changed(ctx, d, events)
	v, _ := d.Version(number)
	return Added{Deployment: d, Version: v, Created: created}, err
}

// Promotion is a command that has a version answer calls.
type Promotion struct {
	Account string
	Name    string // or id
	Version int
	Percent int  // 100 = all calls; less = a share beside the version that answers; 0 = end the share
	Force   bool // also if the version cannot run now
	By      eventlog.By
}

// Promote has a version answer all calls, or a share of them. A version that cannot run now is refused with what is missing,
// unless it is forced, which is recorded. Jobs that were accepted do not change.
func (s *Service) Promote(ctx context.Context, p Promotion) (Deployment, error) {
	if p.Percent < 0 || p.Percent > 100 {
		return Deployment{}, fault.New(fault.Invalid, fault.CodeInvalidDeployment, "the percentage must be from 0 to 100, not %d", p.Percent)
	}
	d, err := s.Find(ctx, p.Account, p.Name)
	if err != nil {
		return Deployment{}, err
	}
	v, ok := d.Version(p.Version)
	if !ok {
		return Deployment{}, errNoVersion(d, p.Version)
	}
	var missing []string
	if p.Percent > 0 {
		version, err := s.callee(ctx, d, v.Number)
		if err == nil {
			err = s.checkCircles(ctx, d, version.Classes)
		}
		if err != nil {
			return Deployment{}, err
		}
		if missing, err = s.Missing(ctx, d, v.Number); err != nil {
			return Deployment{}, err
		}
		if len(missing) > 0 && !p.Force {
			return Deployment{}, fault.New(fault.Conflict, fault.CodeDeploymentNotReady, "%s@%d cannot run now: %s", d.Name, p.Version,
				strings.Join(missing, "; ")).WithDetails(map[string]any{"missing": missing})
		}
	}
	return s.change(ctx, p.Account, string(d.ID), p.By, func(d Deployment) ([]eventlog.Event, error) { return p.decide(d, missing) })
}

func (p Promotion) decide(d Deployment, missing []string) ([]eventlog.Event, error) {
	none := d.Share == Share{}
	switch {
	case p.Percent == 100 && d.Live == p.Version && none, p.Percent == 0 && none:
		return nil, nil
	case p.Percent == 100:
		return single(TypePromoted, PromotedV1{Version: p.Version, Missing: missing}), nil
	case p.Percent == 0 && d.Share.Version != p.Version:
		return nil, fault.New(fault.Conflict, fault.CodeInvalidDeployment, "%s@%d has no share; %s@%d has one", d.Name, p.Version, d.Name,
			d.Share.Version)
	case p.Percent == 0:
		return single(TypeShared, SharedV1{}), nil
	case d.Live == p.Version:
		return nil, fault.New(fault.Conflict, fault.CodeInvalidDeployment, "%s@%d answers already; give a share to another version", d.Name,
			p.Version)
	case d.Share == Share{Version: p.Version, Percent: p.Percent}:
		return nil, nil
	}
	return single(TypeShared, SharedV1{Version: p.Version, Percent: p.Percent, Missing: missing}), nil
}

// RollBack ends the share of a second version. Without a share, the version that answered before answers again.
func (s *Service) RollBack(ctx context.Context, account, name string, by eventlog.By) (Deployment, error) {
	return s.change(ctx, account, name, by, func(d Deployment) ([]eventlog.Event, error) {
		switch {
		case d.Share.Version != 0:
			return single(TypeRolledBack, RolledBackV1{Version: d.Live, From: d.Share.Version}), nil
		case len(d.Before) == 0:
			return nil, fault.New(fault.Conflict, fault.CodeInvalidDeployment, "no version of %s answered before %s@%d", d.Name, d.Name, d.Live)
		}
		return single(TypeRolledBack, RolledBackV1{Version: d.Before[len(d.Before)-1], From: d.Live}), nil
	})
}

// Stop has a deployment refuse calls. Its jobs go on.
func (s *Service) Stop(ctx context.Context, account, name string, by eventlog.By) (Deployment, error) {
	return s.set(ctx, account, name, by, Stopped, single(TypeStopped, StoppedV1{}))
}

// Start has a stopped deployment answer calls again.
func (s *Service) Start(ctx context.Context, account, name string, by eventlog.By) (Deployment, error) {
	return s.set(ctx, account, name, by, Ready, single(TypeStarted, StartedV1{}))
}

// set records events unless the deployment has the state already.
func (s *Service) set(ctx context.Context, account, name string, by eventlog.By, state State, events []eventlog.Event) (Deployment, error) {
	return s.change(ctx, account, name, by, func(d Deployment) ([]eventlog.Event, error) {
		if d.State == state {
			return nil, nil
		}
		return events, nil
	})
}

// Delete removes a deployment. Its name is free at once, and its jobs go on.
func (s *Service) Delete(ctx context.Context, account, name string, by eventlog.By) (Deployment, error) {
	return s.change(ctx, account, name, by, func(Deployment) ([]eventlog.Event, error) { return single(TypeDeleted, DeletedV1{}), nil })
}

func errNoVersion(d Deployment, number int) error {
	return fault.New(fault.NotFound, fault.CodeVersionNotFound, "%s has no version %d; its versions are 1 to %d",
		d.Name, number, len(d.Versions))
}
