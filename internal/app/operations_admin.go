package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/api/admin"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/audit"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	operatejobs "github.com/millrace-dev/millrace/internal/operate/jobs"
	operateviews "github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections"
)

// adminHandler serves operators over HTTP.
func (in *instance) adminHandler(metrics http.Handler) (http.Handler, error) {
	service, err := in.jobService()
	if err != nil {
		return nil, err
	}
	hooks, err := in.operatedWebhooks()
	if err != nil {
		return nil, err
	}
	ops := in.operations(service)
	jobs := toldJobs{teller: in.teller(), engine: in.client, log: in.log}
	return admin.New(admin.Deps{
		Jobs: ops, JobsTold: jobs, Replays: jobs,
		Calls: adminCalls{pool: in.pool, store: in.calls}, CallsTold: toldStories[call.Call]{kind: storiedCalls, pool: in.pool, engine: in.client},
		Assets: adminAssets{pool: in.pool}, AssetsTold: toldStories[asset.Asset]{kind: storiedAssets, pool: in.pool, engine: in.client},
		Doctor: servedDoctor{in}, Queues: postgres.NewQueues(in.pool, in.events), Views: adminViews{pool: in.pool, events: in.events, base: in.cfg.PublicURL}, Metrics: metrics, Log: in.log, Webhooks: hooks, Events: logReader{pool: in.pool, types: in.types},
		Accounts: adminAccounts{store: postgres.NewAccounts(in.pool), events: in.events, credits: postgres.NewCredits(in.pool, in.events), subscriptions: postgres.NewSubscriptions(in.pool, in.events), storage: in.storage},
	}, in.cfg.AdminToken)
}

// Search implements admin.Jobs.
func (o *operations) Search(ctx context.Context, f operatejobs.Filter) ([]job.Job, error) {
	now, err := databaseTime(ctx, o.pool)
	if err != nil {
		return nil, err
	}
	names, err := accountNames(ctx, o.pool)
	if err != nil {
		return nil, err
	}
	f.Limit = cmp.Or(f.Limit, 100)
	found, err := searchJobs(ctx, o.pool, names, now, f)
	if fault.KindOf(err) == fault.Internal && err != nil { // a filter that means nothing
		return nil, fault.Wrap(err, fault.Invalid, "invalid_request", "%s", firstLine(err))
	}
	return found, err
}

// State implements admin.Jobs.
func (o *operations) State(ctx context.Context, id job.ID) (job.Job, []job.ID, error) {
	state, _, err := o.retrier.Sources.Read(ctx, id)
	if err != nil {
		return job.Job{}, nil, err
	}
	raw, err := json.Marshal(state)
	if err != nil {
		return job.Job{}, nil, err
	}
	if err := json.Unmarshal(inspect.Redact(raw), &state); err != nil {
		return job.Job{}, nil, fmt.Errorf("take secrets out of job %s: %w", id, err)
	}
	made, err := o.jobs.Retries(ctx, id)
	return state, made, err
}

// Each implements admin.Jobs.
func (o *operations) Each(ctx context.Context, verb string, ids []job.ID, by operate.Attribution) ([]operatejobs.Outcome, error) {
	return each(ctx, ids, nil, func(ctx context.Context, id job.ID) (operatejobs.Outcome, error) {
		switch verb {
		case "retry":
			return o.retryOnce(ctx, job.Retry{Of: id, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID})
		case "cancel":
			return o.cancel(ctx, id, by)
		default:
			return o.requeue(ctx, id, by)
		}
	})
}

// record appends the fact that an operator did something.
func record(ctx context.Context, events *postgres.EventStore, stream, account, eventType string, data any, by operate.Attribution) error {
	_, err := events.Append(ctx, eventlog.Append{
		Stream: stream, Account: account, Expected: eventlog.AnyVersion,
		Events: []eventlog.Event{{ID: uuid.New(), Type: eventType, Data: data}},
		Meta:   eventlog.Meta{Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID},
	})
	return err
}

// adminViews is what operators ask of views and do to them.
type adminViews struct {
	pool   *pgxpool.Pool
	events *postgres.EventStore
	base   string // public URL
}

// Views implements admin.Views.
func (v adminViews) Views(ctx context.Context) ([]operateviews.View, error) {
	all, err := followers(v.base)
	if err != nil {
		return nil, err
	}
	return standOf(ctx, v.pool, all)
}

// Resume implements admin.Views.
func (v adminViews) Resume(ctx context.Context, view, stream string, by operate.Attribution) error {
	all, err := followers(v.base)
	if err != nil {
		return err
	}
	p, err := viewNamed(all, view)
	if err != nil {
		return err
	}
	return v.resume(ctx, p, stream, by)
}

func viewNamed(all []projections.Projection, name string) (projections.Projection, error) {
	for _, p := range all {
		if p.Name() == name {
			return p, nil
		}
	}
	return nil, fault.New(fault.NotFound, "view_not_found", "there is no view %.64q", name)
}

// foldTimeout bounds how long a view is folded for one request; a larger log is for the command.
const foldTimeout = 15 * time.Minute

// Rebuild implements admin.Views.
func (v adminViews) Rebuild(ctx context.Context, view string, by operate.Attribution) (any, error) {
	return v.folded(ctx, view, func(ctx context.Context, p projections.Projection) (rebuilt, error) {
		return v.rebuild(ctx, p, nil, by)
	})
}

// Check implements admin.Views.
func (v adminViews) Check(ctx context.Context, view string) (any, error) {
	return v.folded(ctx, view, func(ctx context.Context, p projections.Projection) (rebuilt, error) {
		return checkView(ctx, v.pool, p, nil)
	})
}

// folded does what folds the named view again, which what makes messages of facts is not.
func (v adminViews) folded(ctx context.Context, view string, do func(context.Context, projections.Projection) (rebuilt, error)) (any, error) {
	all, err := views()
	if err != nil {
		return nil, err
	}
	p, err := viewNamed(all, view)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, foldTimeout)
	defer cancel()
	return withoutSecrets(do(ctx, p))
}

// resume lets a view go on with a halted stream, and records that.
func (v adminViews) resume(ctx context.Context, p projections.Projection, stream string, by operate.Attribution) error {
	if err := projections.Resume(ctx, v.pool, p, stream); err != nil {
		return err
	}
	return record(ctx, v.events, audit.ViewStream(p.Name()), gate.All, audit.TypeStreamResumed, audit.StreamResumedV1{Stream: stream}, by)
}

// adminAccounts implements admin.Accounts.
type adminAccounts struct {
	store         *postgres.Accounts
	events        *postgres.EventStore
	credits       *postgres.Credits
	subscriptions *postgres.Subscriptions
	storage       *postgres.Storage
}

// Accounts implements admin.Accounts.
func (a adminAccounts) Accounts(ctx context.Context) ([]account.Account, error) {
	return a.store.Accounts(ctx)
}

// Keys implements admin.Accounts.
func (a adminAccounts) Keys(ctx context.Context, owner string) ([]account.Key, error) {
	if _, err := a.store.Account(ctx, owner); err != nil {
		return nil, err
	}
	return a.store.Keys(ctx, owner)
}

// by returns the store whose changes are recorded as those of by.
func (a adminAccounts) by(by operate.Attribution) *postgres.RecordedAccounts {
	return a.store.Recorded(a.events, eventlog.Meta{Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID})
}

// Account implements admin.Accounts.
func (a adminAccounts) Account(ctx context.Context, id string) (account.Account, error) {
	return a.store.Account(ctx, id)
}

// Create implements admin.Accounts.
func (a adminAccounts) Create(ctx context.Context, name string, tier account.Tier, by operate.Attribution) (account.Account, error) {
	return a.by(by).Create(ctx, name, tier)
}

// Change implements admin.Accounts.
func (a adminAccounts) Change(ctx context.Context, c account.Change) (account.Account, error) {
	defer a.storage.Forget(c.Account)
	return a.subscriptions.Change(ctx, c)
}

// IssueKey implements admin.Accounts.
func (a adminAccounts) IssueKey(ctx context.Context, owner string, scopes []account.Scope, by operate.Attribution) (string, account.Key, error) {
	if _, err := a.store.Account(ctx, owner); err != nil {
		return "", account.Key{}, err
	}
	return account.Issue(ctx, a.by(by), account.Key{Account: owner, Scopes: scopes})
}

// RevokeKey implements admin.Accounts.
func (a adminAccounts) RevokeKey(ctx context.Context, owner, key string, by operate.Attribution) error {
	return a.by(by).RevokeKey(ctx, owner, key)
}

// Grant implements admin.Accounts.
func (a adminAccounts) Grant(ctx context.Context, owner string, micros int64, by operate.Attribution) (credit.Balance, error) {
	if _, err := a.store.Account(ctx, owner); err != nil {
		return credit.Balance{}, err
	}
	if err := a.credits.Grant(ctx, owner, micros, by.Actor, by.Reason); err != nil {
		return credit.Balance{}, err
	}
	return a.credits.Balance(ctx, owner)
}

// Kept implements admin.Accounts.
func (a adminAccounts) Kept(ctx context.Context, of account.Account) (account.Storage, error) {
	return a.storage.KeptBy(ctx, of)
}

// Balance implements admin.Accounts.
func (a adminAccounts) Balance(ctx context.Context, owner string) (credit.Balance, error) {
	if _, err := a.store.Account(ctx, owner); err != nil {
		return credit.Balance{}, err
	}
	return a.credits.Balance(ctx, owner)
}
