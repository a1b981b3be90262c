package app

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job/credentials"
	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/nodeclass"
	"github.com/millrace-dev/millrace/internal/partner/provider"
	"github.com/millrace-dev/millrace/internal/partner/router"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/sessionstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
	"github.com/millrace-dev/millrace/internal/web/openid"
	"github.com/millrace-dev/millrace/internal/web/webtoken"
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
		Store: in.calls, Models: in.offers(), Tiers: in.tiers, Blobs: in.blobs, Notify: in.relay.Notify, Gate: call.NewGate(),
		Watch: in.callEnds, Deadline: in.cfg.Router.Deadline, Log: in.log,
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
	in.models = modelcall.New(modelcall.Deps{
		Events: in.events, Types: in.types, Calls: in.calls, Blobs: in.blobs, Hosts: in.hosting(internet),
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
func (in *Instance) hosting(internet *outbound.Client) *router.Hosting {
	return &router.Hosting{
		Catalog: in.catalog, Fetch: internet, Lookup: providerKeys, Blobs: in.blobs, Assets: in.assets,
		Signer: in.signer, Base: in.cfg.PublicURL, Log: in.log,
		Heartbeat: func(ctx context.Context) { activity.RecordHeartbeat(ctx) },
	}
}

// startModels runs model calls, and revives those that lost their workflow.
func (in *Instance) startModels(ctx context.Context, group *errgroup.Group) {
	models := worker.NewModels(in.client, in.models, in.calls, in.log, in.workerOptions())
	sweeper := sweep.CallSweeper{Client: in.client, Calls: in.calls, Tiers: in.tiers, Log: in.log}
	group.Go(func() error { return sweeper.Run(ctx) })
	group.Go(func() error { return models.Run(ctx) })
}

// extendClasses makes node classes of the models of a catalog.
func (in *Instance) extendClasses(s *catalog.Snapshot) error {
	missing := in.offers().Missing
	if !in.has(API) { // an operator's command does not have the credentials, and a worker's calls are refused by the router
		missing = func(*catalog.Model) []string { return nil }
	}
	classes, err := nodeclass.Classes(s, missing)
	if err != nil {
		return err
	}
	originals, err := nodeclass.Originals(s, in.offers().Runnable, in.ffmpeg)
	if err != nil {
		return err
	}
	return in.classes.Extend(append(classes, originals...)...)
}

// partners returns the parts with which nodes of partner models run.
func (in *Instance) partners() *activities.Partners {
	p := &activities.Partners{
		Calls: in.service, Base: in.cfg.PublicURL, Log: in.log,
		Content: answerSource{catalog: in.catalog, fetch: outbound.New(outbound.Options{}), blobs: in.blobs, signer: in.signer},
	}
	p.Base = cmp.Or(p.Base, "http://"+in.cfg.Addr)
	if in.settings.mode == account.ModeKeys {
		p.Access = in.jobCredentials()
	}
	return p
}

// jobCredentials returns the service that decrypts the credentials of running jobs.
func (in *Instance) jobCredentials() *credentials.Running {
	return &credentials.Running{Jobs: in.jobs, Sealer: in.sealer, Keys: in.auth, Mode: in.settings.mode, Chosen: in.settings.comfyOrg}
}

// answerSource opens addresses in answers: copies of this service by their links, all others at the provider.
type answerSource struct {
	catalog *catalog.Catalog
	fetch   *outbound.Client
	blobs   blob.Store
	signer  *signedurl.Signer
}

// Fetch implements activities.NodeContent.
func (a answerSource) Fetch(ctx context.Context, model, address string) (node.ModelAnswer, error) {
	if grant, ours := a.granted(address); ours {
		r, err := a.blobs.Open(ctx, grant.Hash)
		if err != nil {
			return node.ModelAnswer{}, fmt.Errorf("open a copied asset of %s: %w", model, err)
		}
		return node.ModelAnswer{ContentType: grant.ContentType, Content: r}, nil
	}
	m, ok := a.catalog.Find(model, "")
	if !ok { // the model has left the catalog
		m = &catalog.Model{}
	}
	content, err := provider.Fetch(ctx, a.fetch, m, providerKeys, address)
	if err != nil {
		return node.ModelAnswer{}, fault.Wrap(err, fault.Conflict, fault.CodePartnerFetch,
			"the result of %s cannot be fetched from its provider", model)
	}
	return node.ModelAnswer{ContentType: content.ContentType, Content: content}, nil
}

// granted reports whether an address is a link that this service has signed, and returns its target.
func (a answerSource) granted(address string) (signedurl.Grant, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return signedurl.Grant{}, false
	}
	_, rest, found := strings.Cut(u.Path, signedurl.Prefix)
	asset, filename, two := strings.Cut(rest, "/")
	if !found || !two {
		return signedurl.Grant{}, false
	}
	grant, err := a.signer.Verify(asset, filename, u.Query())
	return grant, err == nil
}

func (in *Instance) offers() *router.Offers {
	return &router.Offers{Catalog: in.catalog, Lookup: providerKeys, Ceilings: in.cfg.Router.Ceilings}
}

// openAuth makes what checks the credentials of clients.
func (in *Instance) openAuth(context.Context) (err error) {
	if in.cfg.Tokens.Accepted() {
		opts := in.settings.tokens
		opts.Log = in.log
		var accounts webtoken.Accounts = accountstore.NewTokenAccounts(in.pool, in.events, in.settings.create)
		if in.settings.mode != account.ModeKeys {
			accounts = account.OnlyLocal{}
		}
		if in.tokens, err = webtoken.New(opts, accounts); err != nil {
			return err
		}
	}
	switch in.settings.mode {
	case account.ModeToken:
		if len(in.roles) > 0 { // commands may lack the token: they check no credentials of clients
			in.auth, err = account.NewStatic(in.cfg.Token)
		}
	case account.ModeKeys:
		in.keys = account.NewKeys(accountstore.New(in.pool))
		in.auth = in.keys
		if in.tokens != nil {
			in.auth = account.KeysOrTokens{Keys: in.keys, Tokens: in.tokens, Shaped: webtoken.Shaped}
		}
	case account.ModeNone:
		in.auth = account.Anyone{}
	}
	if o := in.cfg.OpenID; err == nil && o.Issuer != "" && len(in.roles) > 0 {
		err = in.openPeople(o)
	}
	return err
}

// openPeople makes what signs people in with OpenID Connect.
func (in *Instance) openPeople(o config.OpenID) error {
	provider, err := openid.New(openid.Options{
		Issuer: o.Issuer, ClientID: o.Client, Secret: o.Secret, Scopes: o.Scopes, GroupsClaim: o.Claim, Domains: o.Domains,
		Rules: in.settings.grants, Lasts: o.Session,
		HTTP: outbound.New(outbound.Options{}).HTTP([]string{o.Endpoint()}, openid.Timeout),
	})
	in.people = &edge.People{Sessions: session.Sessions{Store: sessionstore.New(in.pool, in.events)}, Provider: provider}
	in.auth = account.KeysOrTokens{Keys: in.auth, Tokens: in.people, Shaped: session.Shaped}
	return err
}
