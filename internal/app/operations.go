package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	operatejobs "github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// operations is what operators do to jobs, from the command line and over the admin API alike. Each
// action is a fact with who asked for it and why.
type operations struct {
	pool    *pgxpool.Pool
	types   *eventlog.Registry
	events  *postgres.EventStore
	jobs    *postgres.Jobs
	retrier job.Retrier
	kick    func([]outbox.Intent)
}

// operations returns those of a process; service accepts the retries.
func (in *instance) operations(service *job.Service) *operations {
	return &operations{
		pool: in.pool, types: in.types, events: in.events, jobs: in.jobs, kick: in.relay.Kick,
		retrier: job.Retrier{Service: service, Sources: in.sources()},
	}
}

// jobService accepts commands on jobs.
func (in *instance) jobService() (*job.Service, error) {
	sealer, err := in.key.Sealer()
	if err != nil {
		return nil, err
	}
	credentials, err := in.credentials()
	if err != nil {
		return nil, err
	}
	return job.NewService(job.Deps{
		Store: in.jobs, Validator: &graph.Validator{Classes: in.classes}, Limits: in.limits(), Files: in.files,
		Assets: in.files, Blobs: in.blobs, Tiers: in.tiers, Sealer: sealer, Credentials: credentials, Kicker: in.relay,
		Price: in.price(), Log: in.log,
	}), nil
}

// onJobs opens what commands on jobs need. Intents are left to the relays of the processes that run.
func (s *shell) onJobs(ctx context.Context, work func(*operations) error) error {
	return s.opened(ctx, func(in *instance) error {
		service, err := in.jobService()
		if err != nil {
			return err
		}
		return work(in.operations(service))
	})
}

// opened gives work the parts of a process that has no role and runs nothing.
func (s *shell) opened(ctx context.Context, work func(*instance) error) error {
	pool, err := s.database(ctx) // also finds the servers of a running dev
	if err != nil {
		return err
	}
	pool.Close()
	if _, err := os.Stat(s.cfg.DataDir); s.cfg.SecretKey == "" && errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(errNoDataDir, fault.NotFound, "", "%s is not on this machine: run this where the service runs, or give --data", s.cfg.DataDir)
	}
	in, err := open(ctx, s.cfg, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return err
	}
	defer in.close()
	return work(in)
}

// Retry makes a new job of one that has ended.
func (o *operations) Retry(ctx context.Context, r job.Retry) (operatejobs.Outcome, error) {
	made, err := o.retrier.Retry(ctx, r)
	if err != nil {
		return operatejobs.Outcome{}, err
	}
	return operatejobs.Outcome{Job: r.Of, Done: "retried", Retry: made.Job.ID}, nil
}

// retryOnce is retry for many: what was retried already is passed over.
func (o *operations) retryOnce(ctx context.Context, r job.Retry) (operatejobs.Outcome, error) {
	skip, err := o.skipped(ctx, r.Of)
	if err != nil || skip.Job != "" {
		return skip, err
	}
	return o.Retry(ctx, r)
}

// skipped is the outcome of a job that was retried before; of one that was not, it names no job.
func (o *operations) skipped(ctx context.Context, id job.ID) (operatejobs.Outcome, error) {
	made, err := o.jobs.Retries(ctx, id)
	if n := len(made); n > 0 {
		return operatejobs.Outcome{Job: id, Done: "skipped", Retry: made[n-1], Detail: "was retried before"}, nil
	}
	return operatejobs.Outcome{}, err
}

// cancel stops a job that waits or runs; one that has ended is Conflict.
func (o *operations) cancel(ctx context.Context, id job.ID, by operate.Attribution) (operatejobs.Outcome, error) {
	state, _, err := o.retrier.Sources.Read(ctx, id)
	if err != nil {
		return operatejobs.Outcome{}, err
	}
	done, err := o.jobs.Cancel(ctx, job.CancelRequest{Account: state.Account, IDs: []job.ID{id}, RequestID: by.RequestID, Actor: by.Actor, Reason: by.Reason})
	if err != nil {
		return operatejobs.Outcome{}, err
	}
	if len(done.IDs) == 0 {
		return operatejobs.Outcome{}, errEnded(id)
	}
	o.kick(done.Intents)
	return operatejobs.Outcome{Job: id, Done: "canceled"}, nil
}

// requeue starts a run again that nothing runs.
func (o *operations) requeue(ctx context.Context, id job.ID, by operate.Attribution) (operatejobs.Outcome, error) {
	if _, _, err := o.retrier.Sources.Read(ctx, id); err != nil {
		return operatejobs.Outcome{}, err
	}
	intents, err := o.jobs.Requeue(ctx, id, by.Actor, by.Reason)
	if err != nil {
		return operatejobs.Outcome{}, err
	}
	o.kick(intents)
	return operatejobs.Outcome{Job: id, Done: "requeued"}, nil
}

// whyInvalid names the first thing that is wrong with a graph.
func whyInvalid(err *graph.PromptError) string {
	for _, node := range err.NodeErrors {
		if len(node.Errors) > 0 {
			e := node.Errors[0]
			return inspect.Clean(fmt.Sprintf("node %s (%s): %s: %s", node.Node, node.Class, e.Message, e.Details))
		}
	}
	return inspect.Clean(err.Error())
}

// publicLine is what an error says to those whom it is for, on one line: without the steps that led to it.
func publicLine(err error) string {
	var public *fault.Error
	if errors.As(err, &public) && public.Message != "" {
		return inspect.Clean(public.Message)
	}
	return firstLine(err)
}

// each does one thing to many jobs. What is refused for one is its outcome; an error that lies in no
// job ends it.
func each(ctx context.Context, ids []job.ID, step func(done, total int64), do func(context.Context, job.ID) (operatejobs.Outcome, error)) ([]operatejobs.Outcome, error) {
	all := make([]operatejobs.Outcome, 0, len(ids))
	for i, id := range ids {
		out, err := do(ctx, id)
		var invalid *graph.PromptError
		switch kind := fault.KindOf(err); {
		case err == nil:
		case errors.As(err, &invalid):
			out = operatejobs.Outcome{Job: id, Done: "refused", Code: invalid.Type, Detail: whyInvalid(invalid)}
		case kind == fault.Unavailable || kind == fault.Internal || kind == fault.Canceled:
			return all, err
		default:
			out = operatejobs.Outcome{Job: id, Done: "refused", Code: fault.CodeOf(err), Detail: publicLine(err)}
		}
		all = append(all, out)
		if step != nil {
			step(int64(i+1), int64(len(ids)))
		}
	}
	return all, nil
}
