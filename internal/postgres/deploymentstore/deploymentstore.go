// Package deploymentstore stores deployments in PostgreSQL. It promises that a change is ordered against the calls of
// the account: a call that is recorded after a change runs on a version that answers since the change. Package jobstore
// records the calls.
package deploymentstore

import (
	"context"

	"github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// remembered bounds the deployments of which this process remembers the state.
const remembered = 4096

// Store implements deployment.Store.
type Store struct {
	pool   *pgxpool.Pool
	events *eventstore.Store
	known  *lru.Cache[deployment.ID, deployment.Deployment]
	names  *lru.Cache[[2]string, deployment.ID] // by account, and name or id
}

var _ deployment.Store = (*Store)(nil)

// New returns the deployments in pool's database that are changed through events.
func New(pool *pgxpool.Pool, events *eventstore.Store) *Store {
	known, _ := lru.New[deployment.ID, deployment.Deployment](remembered) // it fails for a size below one only
	names, _ := lru.New[[2]string, deployment.ID](remembered)
	return &Store{pool: pool, events: events, known: known, names: names}
}

// head is a row of the table without what only calls need.
type head struct {
	id       deployment.ID
	name     string
	revision int64
}

func scanHead(row pgx.CollectableRow) (h head, err error) {
	err = row.Scan(&h.id, &h.name, &h.revision)
	return h, err
}

// Find implements deployment.Store.
func (s *Store) Find(ctx context.Context, account, name string) (deployment.Deployment, error) {
	key := [2]string{account, name}
	sql, arg := `select id::text, name, revision from deployments where account = $1 and name = $2`, name
	if _, err := deployment.ParseID(name); err == nil {
		sql = `select id::text, name, revision from deployments where account = $1 and id = $2::uuid`
	}
	found, ok, err := postgres.One(ctx, s.pool, "find a deployment", scanHead, sql, account, arg)
	if err != nil {
		return deployment.Deployment{}, err
	}
	if !ok {
		s.names.Remove(key)
		return deployment.Deployment{}, deployment.ErrNone(name)
	}
	d, err := s.fold(ctx, found)
	if err == nil {
		s.names.Add(key, d.ID)
	}
	return d, err
}

// Recent implements deployment.Store.
func (s *Store) Recent(account, name string) (deployment.Deployment, bool) {
	id, ok := s.names.Get([2]string{account, name})
	if !ok {
		return deployment.Deployment{}, false
	}
	return s.known.Get(id)
}

// List implements deployment.Store.
func (s *Store) List(ctx context.Context, account string) ([]deployment.Deployment, error) {
	heads, err := postgres.Collect(ctx, s.pool, "list deployments", scanHead,
		`select id::text, name, revision from deployments where account = $1 order by name`, account)
	if err != nil {
		return nil, err
	}
	all := make([]deployment.Deployment, 0, len(heads))
	for _, h := range heads {
		d, err := s.fold(ctx, h)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// After implements deployment.Store.
func (s *Store) After(ctx context.Context, after deployment.ID, limit int) ([]deployment.Deployment, error) {
	scan := func(row pgx.CollectableRow) (d deployment.Deployment, err error) {
		err = row.Scan(&d.ID, &d.Account)
		return d, err
	}
	return postgres.Collect(ctx, s.pool, "list deployments", scan,
		`select id::text, account from deployments where $1 = '' or id > nullif($1, '')::uuid order by id limit $2`, string(after), limit)
}

// Drift is a version that answers calls and uses classes whose definition has changed since it was added.
type Drift struct {
	Account, Name string
	Version       int
	Classes       []string
}

// Drifted returns the drifted versions of all accounts that answer calls.
func (s *Store) Drifted(ctx context.Context, limit int) ([]Drift, error) {
	return postgres.Collect(ctx, s.pool, "list drifted versions", pgx.RowToStructByPos[Drift],
		`select d.account, d.name, v.number, v.drifted from deployments d join deployment_versions v on v.deployment = d.id
		where v.number in (d.live, d.share) and v.drifted <> '{}' order by d.account, d.name, v.number limit $1`, limit)
}

// fold returns the state of a deployment at a revision or a later one. It reads only the events that this process has not folded.
func (s *Store) fold(ctx context.Context, h head) (deployment.Deployment, error) {
	d, _ := s.known.Get(h.id)
	if d.Revision >= h.revision {
		return d, nil
	}
	d, err := eventlog.Fold(s.events.Types(), eventlog.ReadThrough(ctx, s.events, h.id.Stream(), d.Revision, h.revision), d, deployment.Fold)
	if err == nil {
		s.known.Add(h.id, d)
	}
	return d, err
}

// QueueRouting queues the statement that reads which version of a deployment answers. The transaction has locked the account. A
// deployment that does not exist leaves routing as it is.
func QueueRouting(q *pgx.Batch, id string, routing *deployment.Routing) {
	postgres.ScanInto(q.Queue(`select state, live, share, percent, salt from deployments where id = $1`, id),
		&routing.State, &routing.Live, &routing.Share.Version, &routing.Share.Percent, &routing.Salt)
}

// lockCalls locks the admission state of an account, which every submission locks first. Calls that are recorded after the commit
// see the change.
const lockCalls = `insert into job_admissions as l (account) values ($1) on conflict (account) do update set mode = l.mode`

// Commit implements deployment.Store.
func (s *Store) Commit(ctx context.Context, c deployment.Change) error {
	var others int
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "change deployment " + c.After.Name, First: c.Events[0].ID,
		Read: func(q *pgx.Batch) {
			q.Queue(lockCalls, c.After.Account)
			postgres.ScanInto(q.Queue(`select count(*) from deployments where account = $1`, c.After.Account), &others)
		},
		Decide: func(_ context.Context, _ postgres.Tx, changes *eventstore.Changes) error {
			if c.Expected == 0 && others >= deployment.MaxDeployments {
				return fault.New(fault.Exhausted, fault.CodeInvalidDeployment, "an account may have at most %d deployments", deployment.MaxDeployments)
			}
			s.queueRows(changes, c)
			a := eventlog.Append{
				Stream: c.After.ID.Stream(), Account: c.After.Account, Expected: c.Expected, Events: c.Events, Meta: c.Meta,
				Close: c.After.State == deployment.Deleted,
			}
			return changes.Append(a)
		},
	})
	if fault.Is(err, fault.Conflict) && !eventlog.IsRefused(err) { // another request has created a deployment of this name
		return eventlog.ErrVersion
	}
	return err
}

// queueRows writes the rows of the state after a change.
func (s *Store) queueRows(changes *eventstore.Changes, c deployment.Change) {
	d := c.After
	if d.State == deployment.Deleted {
		changes.Queue(`delete from deployments where id = $1`, string(d.ID))
		changes.Queue(`delete from deployment_versions where deployment = $1`, string(d.ID))
		return
	}
	args := []any{
		string(d.ID), d.Account, d.Name, c.Expected + int64(len(c.Events)), string(d.State), d.Live, d.Share.Version, d.Share.Percent, d.Salt,
	}
	if c.Expected == 0 {
		changes.Queue(`insert into deployments (id, account, name, revision, state, live, share, percent, salt)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, args...)
	} else {
		changes.Queue(`update deployments set revision = $4, state = $5, live = $6, share = $7, percent = $8
			where id = $1 and account = $2 and name = $3 and salt = $9`, args...)
	}
	for _, e := range c.Events {
		switch e := e.Data.(type) {
		case deployment.VersionAddedV1:
			digest := d.Versions[e.Version-1].Digest
			changes.Queue(`insert into deployment_versions (deployment, number, digest) values ($1, $2, $3)`, string(d.ID), e.Version, digest[:])
		case deployment.DriftedV1:
			changes.Queue(`update deployment_versions set drifted = $3 where deployment = $1 and number = $2`, string(d.ID), e.Version,
				append([]string{}, e.Classes...))
		}
	}
}
