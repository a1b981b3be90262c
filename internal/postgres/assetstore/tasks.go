package assetstore

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// tasks are the tasks of one kind that accounts ask for, such as exports. Each has a stream, a workflow and, until it ends, a row.
// State is its folded state.
type tasks[State any] struct {
	pool   *pgxpool.Pool
	events *eventstore.Store

	word    string // such as "export"; the table is called "exports"
	kind    outbox.Kind
	lock    int64         // distinguishes the advisory locks of the kind from others
	most    int           // unfinished tasks of an account
	tooMany fault.Code    // the refusal at that bound
	retry   time.Duration // its Retry-After

	fold func(State, eventlog.Recorded, any) State
	of   func(State) (id, account string)
}

// task identifies a task.
type task struct {
	id, account, stream, workflow string
	ref                           any // payload of its start intent
}

// intent returns the intent to start a task.
func (t *tasks[State]) intent(of task) outbox.Intent { return outbox.New(t.kind, of.workflow, of.ref) }

// create records a task by an insert of its row, or returns an unfinished one of the account that has its fingerprint. stream
// returns the stream of a task.
func (t *tasks[State]) create(ctx context.Context, n task, fingerprint []byte, stream func(id string) string,
	insert func(*eventstore.Changes), requested eventlog.Event, meta eventlog.Meta,
) (state State, err error) {
	var unfinished int
	var same string
	written, err := t.events.Write(ctx, eventstore.Decision{
		What: "accept a task of kind " + t.word,
		Read: func(q *pgx.Batch) {
			q.Queue(`select pg_advisory_xact_lock(hashtextextended($1, $2))`, n.account, t.lock)
			q.Queue(`select count(*), coalesce(max(id::text) filter (where fingerprint = $2), '') from `+t.word+`s where account = $1`,
				n.account, fingerprint).QueryRow(func(row pgx.Row) error { return row.Scan(&unfinished, &same) })
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if same != "" {
				return eventstore.ErrNothing
			}
			if unfinished >= t.most {
				return fault.New(fault.Exhausted, t.tooMany, "the account has %d unfinished %ss, its limit", unfinished, t.word).WithRetryAfter(t.retry)
			}
			insert(c)
			c.Start(t.intent(n))
			return c.Append(taskAppend(n, requested, meta, false))
		},
	})
	if err == nil && same != "" {
		return t.get(ctx, n.account, stream(same))
	}
	for _, rec := range written.Events {
		state = t.fold(state, rec, requested.Data)
	}
	return state, err
}

// taskAppend returns the append of one event of a task.
func taskAppend(of task, event eventlog.Event, meta eventlog.Meta, ends bool) eventlog.Append {
	a := eventlog.AppendTo(of.stream, of.account, meta, event)
	a.Close = ends
	return a
}

// get reads a task of the account from its stream.
func (t *tasks[State]) get(ctx context.Context, account, stream string) (State, error) {
	return t.read(ctx, t.pool, account, stream)
}

func (t *tasks[State]) read(ctx context.Context, db postgres.Queryer, account, stream string) (State, error) {
	var state State
	state, err := eventlog.Fold(t.events.Types(), eventlog.Read(ctx, eventstore.StreamsOf(db), stream, 0), state, t.fold)
	if err != nil {
		return state, postgres.Classify(err, "read "+stream)
	}
	if id, owner := t.of(state); id == "" || owner != account {
		var none State
		return none, fault.New(fault.NotFound, fault.CodeNotFound, "there is no such %s", t.word)
	}
	return state, nil
}

// begin records that a task has begun. read gets the row of the task, if it has not ended, and returns its event.
func (t *tasks[State]) begin(ctx context.Context, of task, columns string, read func(pgx.Row) error, event func(State) eventlog.Event,
) (state State, open bool, err error) {
	var begun eventlog.Event
	written, err := t.events.Write(ctx, eventstore.Decision{
		What: "begin a task of kind " + t.word, Repeats: true,
		Read: func(q *pgx.Batch) {
			q.Queue(`select `+columns+` from `+t.word+`s where id = $1 and account = $2 for update`, of.id, of.account).
				QueryRow(func(row pgx.Row) error {
					err := read(row)
					open = err == nil
					return ignoreNoRows(err)
				})
		},
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) (err error) {
			if !open {
				return eventstore.ErrNothing
			}
			if state, err = t.read(ctx, tx, of.account, of.stream); err != nil {
				return err
			}
			begun = event(state)
			return c.Append(taskAppend(of, begun, eventlog.Meta{Actor: t.word}, false))
		},
	})
	for _, rec := range written.Events {
		state = t.fold(state, rec, begun.Data)
	}
	return state, open, err
}

// change carries out a statement on the row of a task, and records the event. It changes nothing if the task has ended, and then
// returns false.
func (t *tasks[State]) change(ctx context.Context, of task, statement string, event eventlog.Event, meta eventlog.Meta, ends bool,
) (changed bool, err error) {
	var rows int64
	_, err = t.events.Write(ctx, eventstore.Decision{
		What: "change a task of kind " + t.word, Repeats: true,
		Read: func(q *pgx.Batch) {
			postgres.CountInto(q.Queue(statement+` where id = $1 and account = $2`, of.id, of.account), &rows)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if rows == 0 {
				return eventstore.ErrNothing
			}
			if !ends {
				c.Start(t.intent(of))
			}
			return c.Append(taskAppend(of, event, meta, ends))
		},
	})
	return rows > 0 && err == nil, err
}

// end ends a task. It does not change a task that has ended.
func (t *tasks[State]) end(ctx context.Context, of task, event eventlog.Event) error {
	_, err := t.change(ctx, of, `delete from `+t.word+`s`, event, eventlog.Meta{Actor: t.word}, true)
	return err
}

// restart records that a task whose workflow was lost is started again, and the intent to start it.
func (t *tasks[State]) restart(ctx context.Context, of task, event eventlog.Event, meta eventlog.Meta) (bool, error) {
	return t.change(ctx, of, `update `+t.word+`s set since = now()`, event, meta, false)
}

// unfinished returns the columns of up to limit tasks, in order of their ids from the first one after the given id, that are at
// least age old and wait for no intent.
func unfinished[Ref, State any](
	ctx context.Context, t *tasks[State], scan pgx.RowToFunc[Ref], columns, after string, age time.Duration, limit int,
) ([]Ref, error) {
	if after == "" {
		after = uuid.Nil.String()
	}
	return postgres.Collect(ctx, t.pool, "look for unfinished tasks of kind "+t.word, scan, `select `+columns+` from `+t.word+`s t
		where id > $1 and since <= now() - $2::interval
		  and not exists (select from outbox o where o.workflow_id = '`+t.word+`-' || t.id)
		order by id limit $3`, after, age, limit)
}
