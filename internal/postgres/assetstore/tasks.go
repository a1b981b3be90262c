package assetstore

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// tasks are the tasks of one kind. Each has a stream, a workflow and, until it ends, a row in the table of its kind, such as
// "exports".
type tasks[Request, Start, Result, Failure any] struct {
	pool   *pgxpool.Pool
	events *eventstore.Store
	types  task.Events[Request, Start, Result, Failure]

	bytes   string // column of the size of the files, or a constant
	intent  outbox.Kind
	lock    int64         // distinguishes the advisory locks of the kind from others
	most    int           // unfinished tasks of an account
	tooMany fault.Code    // the refusal at that bound
	retry   time.Duration // its Retry-After
}

// start returns the intent to start a task.
func (t *tasks[Request, Start, Result, Failure]) start(ref task.Ref) outbox.Intent {
	return outbox.New(t.intent, t.types.Kind.WorkflowID(ref.Task), ref)
}

// create records a task by an insert of its row, or returns an unfinished one of the account that has its fingerprint.
func (t *tasks[Request, Start, Result, Failure]) create(ctx context.Context, ref task.Ref, fingerprint []byte,
	insert func(*eventstore.Changes), requested Request, requestID string,
) (state task.Task[Request, Result, Failure], err error) {
	var unfinished int
	var same string
	word := string(t.types.Kind)
	written, err := t.events.Write(ctx, eventstore.Decision{
		What: "accept a task of kind " + word,
		Read: func(q *pgx.Batch) {
			q.Queue(`select pg_advisory_xact_lock(hashtextextended($1, $2))`, ref.Account, t.lock)
			postgres.ScanInto(q.Queue(`select count(*), coalesce(max(id::text) filter (where fingerprint = $2), '')
				from `+word+`s where account = $1`, ref.Account, fingerprint), &unfinished, &same)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if same != "" {
				return eventstore.ErrNothing
			}
			if unfinished >= t.most {
				return fault.New(fault.Exhausted, t.tooMany, "the account has %d unfinished %ss, its limit", unfinished, word).WithRetryAfter(t.retry)
			}
			insert(c)
			c.Start(t.start(ref))
			return c.Append(t.append(ref, requested, eventlog.Meta{Actor: ref.Account, RequestID: requestID}, false))
		},
	})
	if err == nil && same != "" {
		return t.Get(ctx, ref.Account, task.ID(same))
	}
	for _, rec := range written.Events {
		state = t.types.Fold(state, rec, requested)
	}
	return state, err
}

// append returns the append of one event of a task.
func (t *tasks[Request, Start, Result, Failure]) append(ref task.Ref, data any, meta eventlog.Meta, ends bool) eventlog.Append {
	a := eventlog.AppendTo(t.types.Kind.Stream(ref.Task), ref.Account, meta, t.types.Event(ref.Task, data))
	a.Close = ends
	return a
}

// Get returns a task of the account, read from its stream. An unknown task and a task of another account are NotFound.
func (t *tasks[Request, Start, Result, Failure]) Get(ctx context.Context, account string, id task.ID,
) (task.Task[Request, Result, Failure], error) {
	return t.read(ctx, t.pool, account, id)
}

func (t *tasks[Request, Start, Result, Failure]) read(ctx context.Context, db postgres.Queryer, account string, id task.ID,
) (none task.Task[Request, Result, Failure], err error) {
	stream := t.types.Kind.Stream(id)
	state, err := eventlog.Fold(t.events.Types(), eventlog.Read(ctx, eventstore.StreamsOf(db), stream, 0), none, t.types.Fold)
	if err != nil {
		return none, postgres.Classify(err, "read "+stream)
	}
	if state.ID == "" || state.Account != account {
		return none, fault.New(fault.NotFound, fault.CodeNotFound, "there is no such %s", t.types.Kind)
	}
	return state, nil
}

// begin records that a task has begun. It reads a column of the task's row into value; open is false if the task has ended and
// so has no row.
func (t *tasks[Request, Start, Result, Failure]) begin(ctx context.Context, ref task.Ref, column string, value any,
	started func(task.Task[Request, Result, Failure]) Start,
) (state task.Task[Request, Result, Failure], open bool, err error) {
	var begun Start
	written, err := t.events.Write(ctx, eventstore.Decision{
		What: "begin a task of kind " + string(t.types.Kind), Repeats: true,
		Read: func(q *pgx.Batch) {
			postgres.FindInto(q.Queue(`select `+column+` from `+string(t.types.Kind)+`s where id = $1 and account = $2 for update`,
				string(ref.Task), ref.Account), &open, value)
		},
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) (err error) {
			if !open {
				return eventstore.ErrNothing
			}
			if state, err = t.read(ctx, tx, ref.Account, ref.Task); err != nil {
				return err
			}
			begun = started(state)
			return c.Append(t.append(ref, begun, eventlog.Meta{Actor: string(t.types.Kind)}, false))
		},
	})
	for _, rec := range written.Events {
		state = t.types.Fold(state, rec, begun)
	}
	return state, open, err
}

// change carries out a statement on the row of a task, and records the event. It changes nothing if the task has ended, and then
// returns false.
func (t *tasks[Request, Start, Result, Failure]) change(ctx context.Context, ref task.Ref, statement string, data any,
	meta eventlog.Meta, ends bool,
) (changed bool, err error) {
	var rows int64
	_, err = t.events.Write(ctx, eventstore.Decision{
		What: "change a task of kind " + string(t.types.Kind), Repeats: true,
		Read: func(q *pgx.Batch) {
			postgres.CountInto(q.Queue(statement+` where id = $1 and account = $2`, string(ref.Task), ref.Account), &rows)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if rows == 0 {
				return eventstore.ErrNothing
			}
			if !ends {
				c.Start(t.start(ref))
			}
			return c.Append(t.append(ref, data, meta, ends))
		},
	})
	return rows > 0 && err == nil, err
}

// end ends a task. It does not change a task that has ended.
func (t *tasks[Request, Start, Result, Failure]) end(ctx context.Context, ref task.Ref, data any) error {
	word := string(t.types.Kind)
	_, err := t.change(ctx, ref, `delete from `+word+`s`, data, eventlog.Meta{Actor: word}, true)
	return err
}

// Fail ends a task without a result. It does not change a task that has ended.
func (t *tasks[Request, Start, Result, Failure]) Fail(ctx context.Context, ref task.Ref, failure Failure) error {
	return t.end(ctx, ref, failure)
}

// Restart records that a task whose workflow was lost is started again, and the intent to start it. It does not change a task that
// has ended, and then returns false.
func (t *tasks[Request, Start, Result, Failure]) Restart(ctx context.Context, ref task.Ref, actor, reason string) (bool, error) {
	return t.change(ctx, ref, `update `+string(t.types.Kind)+`s set since = now()`, task.RequeuedV1{},
		eventlog.Meta{Actor: actor, Reason: reason}, false)
}

// Unfinished returns up to limit tasks, in order of their ids from the first one after the given id, that are at least age old
// and wait for no intent.
func (t *tasks[Request, Start, Result, Failure]) Unfinished(ctx context.Context, after task.ID, age time.Duration, limit int,
) ([]task.Ref, error) {
	after = cmp.Or(after, task.ID(uuid.Nil.String()))
	word := string(t.types.Kind)
	scan := func(row pgx.CollectableRow) (ref task.Ref, err error) {
		return ref, row.Scan(&ref.Task, &ref.Account, &ref.Bytes)
	}
	return postgres.Collect(ctx, t.pool, "look for unfinished tasks of kind "+word, scan, `select id::text, account, `+t.bytes+`
		from `+word+`s t
		where id > $1 and since <= now() - $2::interval
		  and not exists (select from outbox o where o.workflow_id = '`+word+`-' || t.id)
		order by id limit $3`, string(after), age, limit)
}
