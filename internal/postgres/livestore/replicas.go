package livestore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/stream/peer"
)

// replicaAlive is the maximum age of a heartbeat; processes send one every few seconds.
const replicaAlive = 15 * time.Second

// Replicas lists the processes that serve live frames. It implements peer.Directory.
type Replicas struct{ pool *pgxpool.Pool }

var _ peer.Directory = (*Replicas)(nil)

// NewReplicas returns the list on pool.
func NewReplicas(pool *pgxpool.Pool) *Replicas { return &Replicas{pool: pool} }

// Announce implements peer.Directory. It also deletes processes whose heartbeats stopped long ago.
func (r *Replicas) Announce(ctx context.Context, self peer.Replica) ([]peer.Replica, error) {
	return postgres.Collect(ctx, r.pool, "announce this replica", pgx.RowToStructByPos[peer.Replica],
		`with gone as (delete from replicas where heartbeat < now() - interval '1 hour'), self as (
			insert into replicas (id, url, heartbeat) values ($1, $2, now())
			on conflict (id) do update set url = excluded.url, heartbeat = excluded.heartbeat returning id, url)
		select id, url from self union all
		select id, url from replicas where heartbeat > now() - make_interval(secs => $3) and id <> $1 order by id`,
		self.ID, self.URL, replicaAlive.Seconds())
}

// Peers implements peer.Directory.
func (r *Replicas) Peers(ctx context.Context) ([]peer.Replica, error) {
	return postgres.Collect(ctx, r.pool, "list replicas", pgx.RowToStructByPos[peer.Replica],
		`select id, url from replicas where heartbeat > now() - make_interval(secs => $1) order by id`, replicaAlive.Seconds())
}

// Deregister implements peer.Directory.
func (r *Replicas) Deregister(ctx context.Context, self peer.Replica) error {
	_, err := r.pool.Exec(ctx, `delete from replicas where id = $1`, self.ID)
	return postgres.Classify(err, "remove this replica from the list")
}
