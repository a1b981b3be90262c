// Package admission decides in PostgreSQL which work may run now: each unit of an account, a job or a call, has a
// slot or waits in the account's queue. Slots, queue and the counters of the account change in one statement, in the
// transaction of the events that record it. That transaction locks the account's row of counters first, so that a
// slot is given once. The store of each kind defines what a unit is, and whether the account's limits allow it to
// run.
package admission

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/outboxstore"
)

// Kind describes one kind of units by its tables NAME_lanes, NAME_slots and NAME_queue. U is the type of a unit.
type Kind[U any] struct {
	Name    string            // used in its tables, the column NAME_id, and its streams and workflows: NAME-ID, NAME-ID-RUN
	Running string            // counter of the slots
	Queued  string            // counter of the queue
	Sums    map[string]string // further counters, each with its aggregate over slots
	Carried []string          // columns that are copied from the queue to the slot
	Place   string            // the column of the queue that holds Placed.Place
	PlaceAt string            // the expression of that column; {place} stands for the value
	Order   string            // the order of the queue, as columns
	Open    string            // condition on an account's counters under which its queue moves

	Row      func(u U) (id, account string, run int, carried []any)
	Scan     func(row pgx.CollectableRow) (U, error) // reads id, account, run and the Carried columns
	Start    func(u U) outbox.Intent
	Admitted func(u U) eventlog.Append
}

// Admission admits the units of one kind.
type Admission[U any] struct {
	kind Kind[U]

	enter, wait, leave, withdraw, next, admit, accounts, running, find string
}

// New returns the admission of one kind.
func New[U any](k Kind[U]) *Admission[U] {
	carried, values := "", ""
	for _, column := range k.Carried {
		carried += ", " + column
		values += ", u." + column
	}
	sql := strings.NewReplacer("{lanes}", k.Name+"_lanes", "{slots}", k.Name+"_slots", "{queue}", k.Name+"_queue", "{id}", k.Name+"_id", "{name}", k.Name,
		"{running}", k.Running, "{queued}", k.Queued, "{carried}", carried, "{values}", values, "{placing}", k.Place, "{placed}", strings.ReplaceAll(k.PlaceAt, "{place}", "(i.unit ->> 'place')"),
		"{order}", k.Order, "{open}", k.Open, "{+entered}", k.moved("+", "entered"), "{-freed}", k.moved("-", "freed")).Replace
	return &Admission[U]{
		kind: k,
		enter: sql(`with entered as (insert into {slots} ({id}, account, run{carried})
				select u.{id}, $1, u.run{values} from jsonb_populate_recordset(null::{slots}, $2) u returning *)
			update {lanes} set {+entered} where account = $1`),
		wait: sql(`with waiting as (insert into {queue} ({id}, account, {placing}{carried}) select u.{id}, $1, {placed}{values}
				from jsonb_array_elements($2) with ordinality i (unit, n), jsonb_populate_record(null::{queue}, i.unit) u
				order by i.n returning 1)
			update {lanes} set {queued} = {queued} + (select count(*) from waiting) where account = $1`),
		leave: sql(`with freed as (delete from {slots} where {id} = any($2::uuid[]) and account = $1 returning *),
				lane as (update {lanes} set {-freed} where account = $1)
			select {id}::text, account, run{carried} from freed`),
		withdraw: sql(`with gone as (delete from {queue} where account = $1 and {id} = any($2::uuid[]) returning *),
				lane as (update {lanes} set {queued} = {queued} - (select count(*) from gone) where account = $1)
			select {id}::text, account, 1{carried} from gone`),
		next: sql(`select {id}::text, account, 1{carried} from {queue} where account = $1 order by {order} limit $2`),
		admit: sql(`with gone as (delete from {queue} where account = $1 and {id} = any($2::uuid[]) returning *),
				entered as (insert into {slots} ({id}, account, run{carried}) select {id}, account, 1{carried} from gone returning *)
			update {lanes} set {queued} = {queued} - (select count(*) from gone), {+entered} where account = $1`),
		accounts: sql(`select account from {lanes} where {queued} > 0 and {open} and account > $1 order by account limit $2`),
		running: sql(`select {id}::text, account, run{carried} from {slots} s where {id} > $1 and admitted_at <= now() - $2::interval
			and not exists (select 1 from outbox o where o.workflow_id = '{name}-' || s.{id} || '-' || s.run) order by s.{id} limit $3`),
		find: sql(`select {id}::text, account, run{carried} from {slots} where {id} = $1`),
	}
}

// moved returns the assignments that add the slots in a set of rows to the account's counters, or subtract them.
func (k Kind[U]) moved(sign, rows string) string {
	all := fmt.Sprintf("%s = %[1]s %s (select count(*) from %s)", k.Running, sign, rows)
	for counter, sum := range k.Sums {
		all += fmt.Sprintf(", %s = %[1]s %s (select coalesce(%s, 0) from %s)", counter, sign, sum, rows)
	}
	return all
}

// Placed is a unit with its place in the queue.
type Placed[U any] struct {
	Unit  U
	Place any // a number, or a text that PostgreSQL reads
}

// Enter queues the statements that give a slot to each of the units, which belong to one account. It returns the
// intents that start the units, in the order of the units. The ids of the intents are set when the batch is closed.
func (a *Admission[U]) Enter(q *pgx.Batch, account string, units ...U) []outbox.Intent {
	if len(units) == 0 {
		return nil
	}
	rows, intents := make([]map[string]any, len(units)), make([]outbox.Intent, len(units))
	for i, u := range units {
		rows[i], intents[i] = a.row(u), a.kind.Start(u)
	}
	q.Queue(a.enter, account, rows)
	outboxstore.Queue(q, intents)
	return intents
}

// Wait adds to q the statement that puts units into the queue of their account.
func (a *Admission[U]) Wait(q *pgx.Batch, account string, units ...Placed[U]) {
	if len(units) == 0 {
		return
	}
	rows := make([]map[string]any, len(units))
	for i, u := range units {
		rows[i] = a.row(u.Unit)
		rows[i]["place"] = u.Place
	}
	q.Queue(a.wait, account, rows)
}

// row returns the columns of a unit for the statements enter and wait.
func (a *Admission[U]) row(u U) map[string]any {
	id, _, run, carried := a.kind.Row(u)
	row := map[string]any{a.kind.Name + "_id": id, "run": run}
	for i, column := range a.kind.Carried {
		row[column] = carried[i]
	}
	return row
}

// Leave adds to q the statement that frees the slots of units of one account. It sets freed to the units that had a slot.
func (a *Admission[U]) Leave(q *pgx.Batch, account string, ids []string, freed *[]U) {
	q.Queue(a.leave, account, ids).Query(func(rows pgx.Rows) (err error) {
		*freed, err = pgx.CollectRows(rows, a.kind.Scan)
		return err
	})
}

// Withdraw adds to q the statement that removes units from the queue of their account. It sets gone to the units that were removed.
func (a *Admission[U]) Withdraw(q *pgx.Batch, account string, ids []string, gone *[]U) {
	q.Queue(a.withdraw, account, ids).Query(func(rows pgx.Rows) (err error) {
		*gone, err = pgx.CollectRows(rows, a.kind.Scan)
		return err
	})
}

// Admit gives slots to at most limit waiting units, in order, until fits refuses one. The caller sends the statements
// that Admit adds to q, and then appends the returned events.
func (a *Admission[U]) Admit(ctx context.Context, db postgres.Tx, q *pgx.Batch, account string, limit int64, fits func(U) bool) ([]eventlog.Append, []outbox.Intent, error) {
	if limit <= 0 {
		return nil, nil, nil
	}
	waiting, err := a.rows(ctx, db, a.next, account, limit)
	if err != nil {
		return nil, nil, err
	}
	var ids []string
	var appends []eventlog.Append
	var intents []outbox.Intent
	for _, u := range waiting {
		if !fits(u) {
			break
		}
		id, _, _, _ := a.kind.Row(u)
		ids = append(ids, id)
		appends = append(appends, a.kind.Admitted(u))
		intents = append(intents, a.kind.Start(u))
	}
	if len(ids) > 0 {
		q.Queue(a.admit, account, ids)
		outboxstore.Queue(q, intents)
	}
	return appends, intents, nil
}

// Fill admits waiting units of an account although no other unit has ended, for instance because its gate was opened.
// look queues the statement that locks the account's counters; decide derives the arguments of Admit from them.
func (a *Admission[U]) Fill(ctx context.Context, pool *pgxpool.Pool, events *eventstore.Store, account string, look func(*pgx.Batch), decide func() (int64, func(U) bool)) (intents []outbox.Intent, err error) {
	err = postgres.Pipelined(ctx, pool, look, func(db postgres.Tx, q *pgx.Batch) error {
		limit, fits := decide()
		appends, started, err := a.Admit(ctx, db, q, account, limit, fits)
		if err != nil || len(appends) == 0 {
			return err
		}
		intents = started
		_, err = events.QueueAppend(q, appends)
		return err
	})
	if err != nil {
		return nil, postgres.Classify(err, "admit "+a.kind.Name+"s of account "+account)
	}
	events.Wake()
	return intents, nil
}

// Accounts returns at most limit accounts, in order, from the first one after the given account, with units
// that wait for nothing but a slot.
func (a *Admission[U]) Accounts(ctx context.Context, pool *pgxpool.Pool, after string, limit int) ([]string, error) {
	return postgres.Collect(ctx, pool, "list accounts whose "+a.kind.Name+"s wait", pgx.RowTo[string],
		a.accounts, after, limit)
}

// RunningAfter returns up to limit units that have had a slot for at least age and wait for no intent, in order of
// their ids from the first one after the given id ("" = from the start). Paging visits every unit.
func (a *Admission[U]) RunningAfter(ctx context.Context, pool *pgxpool.Pool, after string, age time.Duration, limit int) ([]U, error) {
	if after == "" {
		after = uuid.Nil.String()
	}
	return a.rows(ctx, pool, a.running, after, age, limit)
}

func (a *Admission[U]) rows(ctx context.Context, db postgres.Tx, statement string, args ...any) ([]U, error) {
	return postgres.Collect(ctx, db, "read slots and queue of "+a.kind.Name+"s", a.kind.Scan,
		statement, args...)
}

// Running returns the unit with an id if it has a slot.
func (a *Admission[U]) Running(ctx context.Context, pool *pgxpool.Pool, id string) (u U, has bool, err error) {
	found, err := a.rows(ctx, pool, a.find, id)
	return append(found, u)[0], len(found) > 0, err
}

// Restart starts a unit with a slot again. restart may change the slot in tx; it returns the intent to start the unit
// and the events to record. Without events, the unit is not changed. has reports whether the unit has a slot.
func (a *Admission[U]) Restart(ctx context.Context, pool *pgxpool.Pool, events *eventstore.Store, id string,
	restart func(tx pgx.Tx, u U) (outbox.Intent, eventlog.Append, error),
) (intents []outbox.Intent, has bool, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		found, err := a.rows(ctx, tx, a.find+` for update`, id)
		if has = len(found) > 0; err != nil || !has {
			return err
		}
		start, recorded, err := restart(tx, found[0])
		if err != nil || len(recorded.Events) == 0 {
			return err
		}
		if intents, err = outboxstore.Insert(ctx, tx, []outbox.Intent{start}); err != nil {
			return err
		}
		_, err = events.AppendTx(ctx, tx, recorded)
		return err
	})
	if err != nil {
		return nil, has, postgres.Classify(err, "restart "+a.kind.Name+" "+id)
	}
	events.Wake()
	return intents, has, nil
}
