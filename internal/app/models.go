package app

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/provider"
	"github.com/millrace-dev/millrace/internal/partner/router"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/worker/sweep"
)

// providerKeys reads the credentials of providers from the environment, or from the files that it names.
var providerKeys = config.Credentials(os.LookupEnv)

// openModels reads the catalog.
func (in *Instance) openModels(context.Context) (err error) {
	in.catalog, err = catalog.Load(catalog.Options{
		Dirs: in.cfg.Router.Catalog, Bases: in.cfg.Router.Bases, Simulator: in.cfg.Router.Simulator,
	})
	if err != nil {
		return fmt.Errorf("model catalog: %w", err)
	}
	if err := config.CheckCredentials(os.LookupEnv, in.catalog.Snapshot().Variables()); err != nil {
		return err
	}
	if err := in.extendClasses(in.catalog.Snapshot()); err != nil {
		return err
	}
	in.credits, in.callEnds = accountstore.NewCredits(in.pool, in.events), call.NewWatch(in.types)
	in.calls = callstore.New(in.pool, in.events, in.credits)
	return nil
}

// catalogInterval is the interval between two checks of the catalog's directories.
const catalogInterval = 2 * time.Second

// watchCatalog applies changes of the catalog's files. Files with mistakes are reported and change nothing.
func (in *Instance) watchCatalog(ctx context.Context) error {
	in.catalog.Watch(ctx, catalogInterval, func(s *catalog.Snapshot, err error) {
		if err != nil {
			in.log.Error("catalog reload failed; the previous catalog stays in force", "error", err)
			return
		}
		if err := in.extendClasses(s); err != nil {
			in.log.Error("node class registration of the changed catalog failed; the previous classes stay in force", "error", err)
			return
		}
		in.log.Info("catalog changed", "models", len(s.Models()))
	})
	return nil
}

// callService accepts model calls for the API, and notifies waiting requests of their end.
func (in *Instance) callService(ctx context.Context, group *errgroup.Group) *call.Service {
	group.Go(func() error { return in.follow(ctx, in.callEnds.Observe) })
	deps := call.Deps{
		Store: in.calls, Models: in.offers(), Tiers: in.tiers,
		Blobs: in.blobs, Notify: in.relay.Notify, Watch: in.callEnds, Deadline: in.cfg.Router.Deadline, Log: in.log,
	}
	if in.models != nil { // this process also dispatches calls
		deps.Sender = in.models
	}
	return call.NewService(deps)
}

// CallLimits implements call.Tiers.
func (t Tiers) CallLimits(ctx context.Context, id string) (call.Limits, error) {
	l := t.CallBounds(id)
	if t.Payers == nil {
		return l, nil
	}
	a, pays, err := t.Payers(ctx, id)
	if err != nil {
		return call.Limits{}, err
	}
	l.Enabled, l.Lapsed, l.Unfunded, l.Access = l.Enabled && !a.Access.Off, !a.Active, !pays, a.Access
	return l, nil
}

// CallBounds implements call.Tiers.
func (t Tiers) CallBounds(id string) call.Limits {
	r := t.cfg.Router
	l := call.Limits{
		Enabled: !r.Disabled, Steps: t.settings.steps, Ceiling: r.Ceiling, Windows: t.settings.windows, Backlog: r.Backlog, QueueFor: r.QueueFor,
	}
	if id == account.LocalID {
		l.Steps = []call.Step{{Concurrent: r.Local}}
	}
	return l
}

// openSender makes the part that dispatches calls, in a process with the role worker.
func (in *Instance) openSender(context.Context) error {
	if !in.has(Worker) {
		return nil
	}
	internet := outbound.New(outbound.Options{})
	hosting, err := in.hosting(internet)
	if err != nil {
		return err
	}
	in.models = modelcall.New(modelcall.Deps{
		Events: in.events, Types: in.types, Calls: in.calls, Blobs: in.blobs, Hosts: hosting,
		Provider: &router.Provider{Catalog: in.catalog, Client: provider.New(internet, providerKeys, in.log), Log: in.log},
		Tiers:    in.tiers, Worker: in.worker, Log: in.log,
		OnEnd: in.callEnds.Observe, Space: readiness{in}.CheckSpace,
	})
	return nil
}

// callEnded returns the last step of a call that this process has brought to its end.
func (in *Instance) callEnded(id call.ID) (modelcall.Step, bool) {
	if in.models == nil {
		return modelcall.Step{}, false
	}
	return in.models.Ended(id)
}

// hosting returns the part that copies assets of answers.
func (in *Instance) hosting(internet *outbound.Client) (*router.Hosting, error) {
	signer, err := in.signer()
	if err != nil {
		return nil, err
	}
	return &router.Hosting{
		Catalog: in.catalog, Fetch: internet, Lookup: providerKeys, Blobs: in.blobs, Assets: in.assets,
		Signer: signer, Base: in.cfg.PublicURL, Log: in.log,
		Heartbeat: func(ctx context.Context) { activity.RecordHeartbeat(ctx) },
	}, nil
}

// startModels runs model calls, and revives those that lost their workflow.
func (in *Instance) startModels(ctx context.Context, group *errgroup.Group) {
	models := worker.NewModels(in.client, in.models, in.calls, in.log, worker.ModelOptions{
		TaskQueue: in.cfg.TaskQueue, StopAfter: in.cfg.StopAfter, Deployment: in.deployment(),
	})
	sweeper := sweep.CallSweeper{Client: in.client, Calls: in.calls, Tiers: in.tiers, Log: in.log}
	group.Go(func() error { return sweeper.Run(ctx) })
	group.Go(func() error { return models.Run(ctx) })
}
