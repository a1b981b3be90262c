// Package sessionstore stores the sessions of people in PostgreSQL. It implements session.Store. Each change and its event
// are one transaction, so that a session that the log has ended is refused by every process from then on.
package sessionstore

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Store stores sessions.
type Store struct {
	pool   *pgxpool.Pool
	events *eventstore.Store
}

var _ session.Store = (*Store)(nil)

// New returns the store on pool that appends through events.
func New(pool *pgxpool.Pool, events *eventstore.Store) *Store {
	return &Store{pool: pool, events: events}
}

// known is what is stored of a person before a sign-in.
type known struct{ role, account string }

// lockPerson locks the row of a person, which it makes if need be, and reads it.
func lockPerson(q *pgx.Batch, p session.Person, to *known) {
	postgres.ScanInto(q.Queue(`insert into people (id, issuer, subject, name) values ($1, $2, $3, $4)
		on conflict (id) do update set name = excluded.name returning role, account`, p.ID(), p.Issuer, p.Subject, p.Name),
		&to.role, &to.account)
}

// Start implements session.Store.
func (s *Store) Start(ctx context.Context, p session.Person, hash account.KeyHash, lasts time.Duration, requestID string,
) (started session.Session, err error) {
	var was known
	_, err = s.events.Write(ctx, eventstore.Decision{
		What: "start a session",
		Read: func(q *pgx.Batch) { lockPerson(q, p, &was) },
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			owner, err := ownerOf(ctx, tx, p.Grant)
			if err != nil {
				return err
			}
			now := time.Now().UTC().Truncate(time.Microsecond)
			started = session.Session{
				ID: uuid.NewString(), Person: p.ID(), Name: p.Name, Role: p.Grant.Role, Account: owner, CreatedAt: now, ExpiresAt: now.Add(lasts),
			}
			c.Queue(`update people set role = $2, account = $3, signed_in_at = now() where id = $1`, p.ID(), p.Grant.Role, owner)
			c.Queue(`delete from sessions where expires_at < now() - interval '1 day'`)
			c.Queue(`insert into sessions (id, person, hash, role, account, created_at, expires_at) values ($1, $2, $3, $4, nullif($5, ''), $6, $7)`,
				started.ID, p.ID(), hash[:], started.Role, owner, started.CreatedAt, started.ExpiresAt)
			var events []eventlog.Event
			if was != (known{}) && was != (known{string(p.Grant.Role), owner}) {
				events = append(events, eventlog.NewEvent(session.TypeRoleChanged, session.RoleChangedV1{
					Role: p.Grant.Role, Account: owner, WasRole: session.Role(was.role), WasAccount: was.account,
				}))
				ended, err := endAll(ctx, tx, session.RoleChanged, `person = $1`, p.ID())
				if err != nil {
					return err
				}
				events = append(events, ended...)
			}
			events = append(events, eventlog.NewEvent(session.TypeSignedIn, session.SignedInV1{
				Session: started.ID, Name: p.Name, Role: started.Role, Account: owner, ExpiresAt: started.ExpiresAt,
			}))
			return appendTo(c, p.ID(), eventlog.Meta{Actor: actor(p), RequestID: requestID}, events)
		},
	})
	return started, err
}

// ownerOf returns the id of the account of a grant.
func ownerOf(ctx context.Context, tx postgres.Tx, g session.Grant) (id string, err error) {
	if g.Account == "" {
		return "", nil
	}
	var suspended bool
	err = tx.QueryRow(ctx, `select id, suspended from accounts where id = $1 or name = $1 order by id = $1 desc limit 1`, g.Account).
		Scan(&id, &suspended)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", fault.New(fault.Denied, fault.CodeForbidden, "the account %q of this group does not exist", g.Account)
	case err != nil:
		return "", postgres.Classify(err, "find the account of a grant")
	case suspended:
		return "", account.Suspended()
	}
	return id, nil
}

// endAll ends the sessions in force that match a condition, and returns the events.
func endAll(ctx context.Context, tx postgres.Tx, cause session.Cause, where string, args ...any) ([]eventlog.Event, error) {
	var events []eventlog.Event
	err := postgres.Each(ctx, tx, "end sessions", func(row pgx.CollectableRow) error {
		var id string
		err := row.Scan(&id)
		events = append(events, eventlog.NewEvent(session.TypeSessionEnded, session.SessionEndedV1{Session: id, Cause: cause}))
		return err
	}, `update sessions set ended_at = now() where ended_at is null and expires_at > now() and `+where+` returning id`, args...)
	return events, err
}

func appendTo(c *eventstore.Changes, person string, by eventlog.Meta, events []eventlog.Event) error {
	return c.Append(eventlog.AppendTo(session.Stream(person), session.AllAccounts, by, events...))
}

func actor(p session.Person) string { return "person:" + p.Name }

// Refuse implements session.Store.
func (s *Store) Refuse(ctx context.Context, p session.Person, reason, requestID string, always bool) error {
	refused := eventlog.NewEvent(session.TypeSignInRefused, session.SignInRefusedV1{Name: p.Name, Reason: reason})
	meta := eventlog.Meta{Actor: actor(p), RequestID: requestID}
	d := eventstore.Decision{What: "refuse a sign-in"}
	if p.Subject == "" {
		meta.Actor = "person:unknown"
		d.Decide = func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			return appendTo(c, "", meta, []eventlog.Event{refused})
		}
		_, err := s.events.Write(ctx, d)
		return err
	}
	var was known
	d.Read = func(q *pgx.Batch) {
		was = known{}
		if always {
			lockPerson(q, p, &was)
			return
		}
		postgres.ScanInto(q.Queue(`select role, account from people where id = $1 for update`, p.ID()), &was.role, &was.account)
	}
	d.Decide = func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
		if was == (known{}) && !always { // a person without a role has no sessions
			return eventstore.ErrNothing
		}
		c.Queue(`update people set role = '', account = '' where id = $1`, p.ID())
		ended, err := endAll(ctx, tx, session.Refused, `person = $1`, p.ID())
		if err != nil {
			return err
		}
		return appendTo(c, p.ID(), meta, append([]eventlog.Event{refused}, ended...))
	}
	_, err := s.events.Write(ctx, d)
	return err
}

const columns = `s.id, s.person, p.name, s.role, coalesce(s.account, ''), s.created_at, s.expires_at, s.last_used_at, s.ended_at`

func scan(row pgx.Row, more ...any) (found session.Session, err error) {
	to := []any{
		&found.ID, &found.Person, &found.Name, &found.Role, &found.Account, &found.CreatedAt, &found.ExpiresAt, &found.LastUsed, &found.EndedAt,
	}
	err = row.Scan(append(to, more...)...)
	found.CreatedAt, found.ExpiresAt = found.CreatedAt.UTC(), found.ExpiresAt.UTC()
	return found, err
}

// Find implements session.Store, with one query by the unique hash and, at most once a minute, a second one that records
// the use.
func (s *Store) Find(ctx context.Context, hash account.KeyHash) (session.Session, error) {
	var id account.Identity
	var suspended, noted bool
	found, err := scan(s.pool.QueryRow(ctx, `select `+columns+`, coalesce(a.tier, ''), coalesce(a.active, false),
			coalesce(a.suspended, false), not coalesce(a.router, true), a.router_models, coalesce(a.router_denied, '{}'),
			coalesce(s.last_used_at > now() - interval '1 minute', false)
		from sessions s join people p on p.id = s.person left join accounts a on a.id = s.account
		where s.hash = $1 and s.ended_at is null and s.expires_at > now()`, hash[:]),
		&id.Tier, &id.Active, &suspended, &id.Access.Off, &id.Access.Models, &id.Access.Denied, &noted)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return session.Session{}, fault.Wrap(err, fault.NotFound, "", "no such session")
	case err != nil:
		return session.Session{}, fault.Wrap(err, fault.Unavailable, "", "the session cannot be checked now")
	case suspended:
		return session.Session{}, account.Suspended()
	}
	if !noted {
		s.noteUse(ctx, hash)
	}
	id.Account, id.Scopes = found.Account, found.Role.Scopes()
	found.Identity = id
	return found, nil
}

// noteUse records that a session was used. The session is valid even if this fails: reads continue on a database that is
// read-only.
func (s *Store) noteUse(ctx context.Context, hash account.KeyHash) {
	if _, err := s.pool.Exec(ctx, `update sessions set last_used_at = now() where hash = $1
		and (last_used_at is null or last_used_at <= now() - interval '1 minute')`, hash[:]); err != nil {
		slog.WarnContext(ctx, "last use of a session not recorded", "error", err)
	}
}

// SignOut implements session.Store.
func (s *Store) SignOut(ctx context.Context, hash account.KeyHash, requestID string) error {
	_, err := s.end(ctx, session.SignedOut, eventlog.Meta{RequestID: requestID}, `s.hash = $1`, hash[:])
	return err
}

// End ends, for an operator, the session with an id, or all those of the person with an id or a name. It returns the
// sessions that it ended. It is NotFound if no session and no person is named so.
func (s *Store) End(ctx context.Context, ref string, by eventlog.Meta) ([]session.Session, error) {
	var exists bool
	err := s.pool.QueryRow(ctx, `select exists (select from sessions where id::text = $1)
		or exists (select from people where id = $1 or name = $1)`, ref).Scan(&exists)
	if err != nil {
		return nil, postgres.Classify(err, "find a session")
	}
	if !exists {
		return nil, fault.New(fault.NotFound, fault.CodeNotFound, "no session and no person is named %q", ref)
	}
	return s.end(ctx, session.ByOperator, by, `(s.id::text = $1 or s.person = $1 or p.name = $1)`, ref)
}

// end ends the sessions in force that match a condition.
func (s *Store) end(ctx context.Context, cause session.Cause, by eventlog.Meta, where string, args ...any) (
	ended []session.Session, err error,
) {
	_, err = s.events.Write(ctx, eventstore.Decision{
		What: "end a session",
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			ended, err = postgres.Collect(ctx, tx, "end sessions",
				func(row pgx.CollectableRow) (session.Session, error) { return scan(row) },
				`update sessions s set ended_at = now() from people p where p.id = s.person and s.ended_at is null and s.expires_at > now()
				and `+where+` returning `+columns, args...)
			if err != nil {
				return err
			}
			if len(ended) == 0 {
				return eventstore.ErrNothing
			}
			events := map[string][]eventlog.Event{} // by person: a decision appends once to a stream
			for _, e := range ended {
				events[e.Person] = append(events[e.Person],
					eventlog.NewEvent(session.TypeSessionEnded, session.SessionEndedV1{Session: e.ID, Cause: cause}))
			}
			for _, e := range ended {
				meta := by
				meta.Actor = cmp.Or(by.Actor, actor(session.Person{Name: e.Name}))
				if all := events[e.Person]; all != nil {
					if err := appendTo(c, e.Person, meta, all); err != nil {
						return err
					}
					delete(events, e.Person)
				}
			}
			return nil
		},
	})
	return ended, err
}

// Max bounds a listing of sessions.
const Max = 1000

// Sessions lists the sessions in force, or also those that ended or expired within a day, newest first.
func (s *Store) Sessions(ctx context.Context, all bool) ([]session.Session, error) {
	return postgres.Collect(ctx, s.pool, "list sessions", func(row pgx.CollectableRow) (session.Session, error) { return scan(row) },
		`select `+columns+` from sessions s join people p on p.id = s.person
		where coalesce(s.ended_at, s.expires_at) > now() - interval '1 day' and ($1 or s.ended_at is null and s.expires_at > now())
		order by s.created_at desc, s.id limit $2`, all, Max)
}
