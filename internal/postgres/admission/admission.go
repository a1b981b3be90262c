// Package admission decides in PostgreSQL which work may run now: each unit of an account, a job or a call, has a
// slot or waits in the account's queue. Slots, queue and the counters of the account change in one statement, in the
// transaction of the events that record it. That transaction locks the account's row of counters first, so that a
// slot is given once. The store of each kind defines what a unit is, and whether the account's limits allow it to
// run.
package admission

import (
	"cmp"
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

	enter, wait, leave, withdraw, next, admit, accounts, running, find, named string
}

// New returns the admission of one kind.
func New[U any](k Kind[U]) *Admission[U] {
	carried, values := "", ""
	for _, column := range k.Carried {
		carried += ", " + column
		values += ", u." + column
	}
	sql := strings.NewReplacer("{admissions}", k.Name+"_admissions", "{slots}", k.Name+"_slots", "{queue}", k.Name+"_queue",
		"{id}", k.Name+"_id",
		"{name}", k.Name,
		"{running}", k.Running, "{queued}", k.Queued, "{carried}", carried, "{values}", values, "{placing}", k.Place, "{placed}",
		strings.ReplaceAll(k.PlaceAt, "{place}", "(i.unit ->> 'place')"),
		"{order}", k.Order, "{open}", k.Open, "{+entered}", k.moved("+", "entered"), "{-freed}", k.moved("-", "freed")).Replace
	return &Admission[U]{
		kind: k,
		enter: sql(`with entered as (insert into {slots} ({id}, account, run{carried})
				select u.{id}, $1, u.run{values} from jsonb_populate_recordset(null::{slots}, $2) u returning *)
			update {admissions} set {+entered} where account = $1`),
		wait: sql(`with waiting as (insert into {queue} ({id}, account, {placing}{carried}) select u.{id}, $1, {placed}{values}
				from jsonb_array_elements($2) with ordinality i (unit, n), jsonb_populate_record(null::{queue}, i.unit) u
				order by i.n returning 1)
			update {admissions} set {queued} = {queued} + (select count(*) from waiting) where account = $1`),
		leave: sql(`with freed as (delete from {slots} where {id} = any($2::uuid[]) and account = $1 returning *),
				account_row as (update {admissions} set {-freed} where account = $1)
			select {id}::text, account, run{carried} from freed`),
		withdraw: sql(`with gone as (delete from {queue} where account = $1 and {id} = any($2::uuid[]) returning *),
				account_row as (update {admissions} set {queued} = {queued} - (select count(*) from gone) where account = $1)
			select {id}::text, account, 1{carried} from gone`),
		next: sql(`select {id}::text, account, 1{carried} from {queue} where account = $1 order by {order} limit $2`),
		admit: sql(`with gone as (delete from {queue} where account = $1 and {id} = any($2::uuid[]) returning *),
				entered as (insert into {slots} ({id}, account, run{carried}) select {id}, account, 1{carried} from gone returning *)
			update {admissions} set {queued} = {queued} - (select count(*) from gone), {+entered} where account = $1`),
		accounts: sql(`select account from {admissions} where {queued} > 0 and {open} and account > $1 order by account limit $2`),
		running: sql(`select {id}::text, account, run{carried} from {slots} s where {id} > $1 and admitted_at <= now() - $2::interval
			and not exists (select 1 from outbox o where o.workflow_id = '{name}-' || s.{id} || '-' || s.run) order by s.{id} limit $3`),
		find: sql(`select {id}::text, account, run{carried} from {slots} where {id} = $1`),
		named: sql(`select {id}::text, account, run{carried} from {slots} where account = $1 and {id} = any($2::uuid[])
			order by admitted_at, {id}`),
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

// Enter gives a slot to each of the units, which belong to one account. The caller has them started.
func (a *Admission[U]) Enter(c *eventstore.Changes, account string, units ...U) {
	if len(units) == 0 {
		return
	}
	rows := make([]map[string]any, len(units))
	for i, u := range units {
		rows[i] = a.row(u)
	}
	c.Queue(a.enter, account, rows)
}

// Wait puts units into the queue of their account.
func (a *Admission[U]) Wait(c *eventstore.Changes, account string, units ...Placed[U]) {
	if len(units) == 0 {
		return
	}
	rows := make([]map[string]any, len(units))
	for i, u := range units {
		rows[i] = a.row(u.Unit)
		rows[i]["place"] = u.Place
	}
	c.Queue(a.wait, account, rows)
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
	postgres.CollectInto(q.Queue(a.leave, account, ids), freed, a.kind.Scan)
}

// Withdraw adds to q the statement that removes units from the queue of their account. It sets gone to the units that were removed.
func (a *Admission[U]) Withdraw(q *pgx.Batch, account string, ids []string, gone *[]U) {
	postgres.CollectInto(q.Queue(a.withdraw, account, ids), gone, a.kind.Scan)
}

// OfAccount adds to q the query of units of an account that have a slot, in the order of their admission. It sets found to them.
func (a *Admission[U]) OfAccount(q *pgx.Batch, account string, ids []string, found *[]U) {
	postgres.CollectInto(q.Queue(a.named, account, ids), found, a.kind.Scan)
}

// Admit gives slots to at most limit waiting units, in order, until fits refuses one, and has them started. It returns their
// number.
func (a *Admission[U]) Admit(ctx context.Context, tx postgres.Tx, c *eventstore.Changes, account string, limit int64,
	fits func(U) bool,
) (int, error) {
	if limit <= 0 {
		return 0, nil
	}
	waiting, err := a.rows(ctx, tx, a.next, account, limit)
	if err != nil {
		return 0, err
	}
	var ids []string
	for _, u := range waiting {
		if !fits(u) {
			break
		}
		id, _, _, _ := a.kind.Row(u)
		ids = append(ids, id)
		c.Start(a.kind.Start(u))
		if err := c.Append(a.kind.Admitted(u)); err != nil {
			return 0, err
		}
	}
	if len(ids) > 0 {
		c.Queue(a.admit, account, ids)
	}
	return len(ids), nil
}

// Fill admits waiting units of an account although no other unit has ended, for instance because its gate was opened.
// read queues the statement that locks the account's counters; bounds derives the arguments of Admit from them.
func (a *Admission[U]) Fill(ctx context.Context, events *eventstore.Store, account string, read func(*pgx.Batch),
	bounds func() (int64, func(U) bool),
) error {
	_, err := events.Write(ctx, eventstore.Decision{
		What: "admit " + a.kind.Name + "s of account " + account,
		Read: read,
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			limit, fits := bounds()
			admitted, err := a.Admit(ctx, tx, c, account, limit, fits)
			if err == nil && admitted == 0 {
				return eventstore.ErrNothing
			}
			return err
		},
	})
	return err
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
	after = cmp.Or(after, uuid.Nil.String())
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

// Restart starts a unit with a slot again. restart adds what it changes and records. has reports whether the unit has a slot.
func (a *Admission[U]) Restart(ctx context.Context, events *eventstore.Store, id string,
	restart func(c *eventstore.Changes, u U) error,
) (has bool, err error) {
	var found []U
	_, err = events.Write(ctx, eventstore.Decision{
		What: "restart " + a.kind.Name + " " + id,
		Read: func(q *pgx.Batch) { postgres.CollectInto(q.Queue(a.find+` for update`, id), &found, a.kind.Scan) },
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if len(found) == 0 {
				return eventstore.ErrNothing
			}
			return restart(c, found[0])
		},
	})
	return len(found) > 0, err
}
