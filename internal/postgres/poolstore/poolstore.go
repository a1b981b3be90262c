// Package poolstore stores pools of machines in PostgreSQL. It promises that each change is decided on the latest state of its pool, and
// that the state and its events are written together.
package poolstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Store stores pools.
type Store struct {
	pool   *pgxpool.Pool
	events *eventstore.Store
}

// New returns the store in a database that is changed through events.
func New(db *pgxpool.Pool, events *eventstore.Store) *Store { return &Store{pool: db, events: events} }

const (
	columns  = `select name, commands, state from pools `
	existing = columns + `where not coalesce((state -> 'removed')::bool, false) or jsonb_array_length(state -> 'machines') > 0 order by name`
	lock     = `select pg_advisory_xact_lock(hashtextextended(current_schema() || $1::text, 0))`
)

func scan(row pgx.CollectableRow) (p pool.Pool, err error) {
	err = row.Scan(&p.Name, &p.Provider, &p.State)
	return p, err
}

// Pools returns the pools by name, those that have ended left out.
func (s *Store) Pools(ctx context.Context) ([]pool.Pool, error) {
	return postgres.Collect(ctx, s.pool, "read the pools", scan, existing)
}

// Pool returns a pool, also one that has ended, or NotFound.
func (s *Store) Pool(ctx context.Context, name string) (pool.Pool, error) {
	p, ok, err := postgres.One(ctx, s.pool, "read a pool", scan, columns+`where name = $1`, name)
	if err == nil && !ok {
		err = NotFound(name)
	}
	return p, err
}

// NotFound is the error for a pool that does not exist.
func NotFound(name string) error {
	return fault.New(fault.NotFound, fault.CodePoolNotFound, "there is no pool %q; `millrace pool list` lists them", fault.Shorten(name, 50))
}

// Applied is what Apply did.
type Applied struct{ Created, Changed bool }

// Apply makes a pool with a description, or gives it another one, and returns the pool as it is then. The same description changes
// nothing. Descriptions of pools are applied one after the other: check may refuse one for the pools that exist then.
func (s *Store) Apply(ctx context.Context, name string, spec pool.Spec, classes string, by server.By,
	check func(existing []pool.Pool) error,
) (now pool.Pool, done Applied, err error) {
	now, err = s.change(ctx, name, by, check, func(p *pool.Pool, exists bool, c *eventstore.Changes) []any {
		e := pool.AppliedV1{Terms: spec.Terms, Commands: spec.Digest(), Classes: classes}
		done = Applied{Created: !exists || p.Removed}
		done.Changed = done.Created || p.Provider != spec.Provider || !same(p.Spec, spec.Terms) || classes != "" && p.Classes != classes
		if !done.Changed {
			return nil
		}
		p.Provider = spec.Provider
		c.Start(start(name))
		return []any{e}
	})
	return now, done, err
}

func start(name string) outbox.Intent {
	return outbox.New(outbox.StartPool, pool.WorkflowID(name), []string{name})
}

func same(a, b pool.Terms) bool {
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	two, err := json.Marshal(b)
	return err == nil && string(one) == string(two)
}

// Restart starts the workflow of a pool again. It returns false for a pool that has ended.
func (s *Store) Restart(ctx context.Context, name string) (bool, error) {
	p, err := s.Pool(ctx, name)
	if err != nil || p.Over() {
		return false, err
	}
	_, err = s.events.Write(ctx, eventstore.Decision{
		What:   "start the workflow of a pool again",
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error { c.Start(start(name)); return nil },
	})
	return err == nil, err
}

// Change records the events that decide returns for the state of a pool; none = nothing. A pool that does not exist is NotFound.
func (s *Store) Change(ctx context.Context, name string, by server.By, decide func(p pool.Pool) []any) error {
	_, err := s.change(ctx, name, by, nil, func(p *pool.Pool, _ bool, _ *eventstore.Changes) []any { return decide(*p) })
	return err
}

// change changes a pool, and returns it as it is then. With check, which may refuse the change for the pools that exist, the change may
// create the pool.
func (s *Store) change(ctx context.Context, name string, by server.By, check func([]pool.Pool) error,
	decide func(p *pool.Pool, exists bool, c *eventstore.Changes) []any,
) (p pool.Pool, err error) {
	if err := server.CheckBy(by); err != nil {
		return p, err
	}
	var found, all []pool.Pool
	_, err = s.events.Write(ctx, eventstore.Decision{
		What: "change the pool " + name,
		Read: func(q *pgx.Batch) {
			if check != nil {
				q.Queue(lock, "/pools")
			}
			q.Queue(lock, "/pool/"+name)
			postgres.CollectInto(q.Queue(columns+`where name = $1 for update`, name), &found, scan)
			if check != nil {
				postgres.CollectInto(q.Queue(existing), &all, scan)
			}
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			p = pool.Pool{Name: name}
			if len(found) > 0 {
				p = found[0]
			} else if check == nil {
				return NotFound(name)
			}
			if check != nil {
				if err := check(all); err != nil {
					return err
				}
			}
			events := decide(&p, len(found) > 0, c)
			if len(events) == 0 {
				return eventstore.ErrNothing
			}
			return record(c, &p, by, events)
		},
	})
	return p, err
}

// record queues the events and the state after them.
func record(c *eventstore.Changes, p *pool.Pool, by server.By, events []any) error {
	a, former := eventlog.AppendTo(pool.Stream(p.Name), server.Account, by.Meta()), p.Classes
	for _, data := range events {
		eventType, err := typeOf(data)
		if err != nil {
			return err
		}
		p.State = p.After(data, time.Now().UTC())
		a.Events = append(a.Events, eventlog.NewEvent(eventType, data))
		switch e := data.(type) {
		case pool.LostV1: // it is too late for it to register itself
			c.Queue(`update comfyui_tokens set revoked_at = now() where name = $1 and pool = $2 and revoked_at is null`, e.Machine, p.Name)
		case pool.StoppedV1: // its server was removed before
			c.Queue(`delete from comfyui_tokens t where name = $1 and pool = $2 and not exists (select from comfyui_servers s where s.token = t.id)`,
				e.Machine, p.Name)
		}
	}
	if former != p.Classes { // jobs that were accepted with the former definitions are planned with them
		c.Queue(`update comfyui_classes set made_at = now() where digest = $1`, former)
	}
	if p.Machines == nil {
		p.Machines = []pool.Machine{}
	}
	c.Queue(`insert into pools (name, commands, state) values ($1, $2, $3)
		on conflict (name) do update set commands = excluded.commands, state = excluded.state`, p.Name, p.Provider, p.State)
	return c.Append(a)
}

func typeOf(data any) (string, error) {
	switch data.(type) {
	case pool.AppliedV1:
		return pool.TypeApplied, nil
	case pool.PausedV1:
		return pool.TypePaused, nil
	case pool.ResumedV1:
		return pool.TypeResumed, nil
	case pool.RemovedV1:
		return pool.TypeRemoved, nil
	case pool.RequestedV1:
		return pool.TypeRequested, nil
	case pool.StartedV1:
		return pool.TypeStarted, nil
	case pool.JoinedV1:
		return pool.TypeJoined, nil
	case pool.LostV1:
		return pool.TypeLost, nil
	case pool.FoundV1:
		return pool.TypeFound, nil
	case pool.StoppedV1:
		return pool.TypeStopped, nil
	}
	return "", fmt.Errorf("%T is no event of a pool", data)
}

// Work returns what the servers of a pool's machines have done.
func (s *Store) Work(ctx context.Context, name string) ([]pool.Work, error) {
	row := func(row pgx.CollectableRow) (w pool.Work, err error) {
		err = row.Scan(&w.Machine, &w.Server, &w.Used, &w.Segments, &w.Seconds)
		return w, err
	}
	return postgres.Collect(ctx, s.pool, "read the work of machines", row, `select t.name, s.id::text,
			coalesce(max(l.until), s.registered_at), count(l.job), coalesce(sum(extract(epoch from l.until - l.since)), 0)::float8
		from comfyui_tokens t join comfyui_servers s on s.token = t.id
			left join comfyui_leases l on l.server = s.id and l.result is not null
		where t.pool = $1 group by t.name, s.id, s.registered_at order by t.name`, name)
}
