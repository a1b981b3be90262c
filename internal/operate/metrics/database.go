package metrics

import (
	"context"

	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
	"github.com/millrace-dev/millrace/internal/postgres/webhookstore"
	"github.com/millrace-dev/millrace/projections"
)

// Bounds of one snapshot: the accounts whose queues are read (accounts without series of their own are summed), and
// the accounts whose storage has series of its own.
const (
	maxQueues  = 5000
	maxStorage = 20
)

// Database reads metrics from the database of a deployment. It implements Source.
type Database struct {
	Pool    *postgres.Pool
	Storage *accountstore.Storage
}

var _ Source = (*Database)(nil)

// Snapshot implements Source.
func (d *Database) Snapshot(ctx context.Context) (Snapshot, error) {
	store := operatestore.New(d.Pool)
	var st Snapshot
	var err error
	if st.Totals, err = store.Totals(ctx); err != nil {
		return st, err
	}
	if st.Work, err = store.Work(ctx); err != nil {
		return st, err
	}
	if st.Depths, err = store.Queues(ctx, maxQueues); err != nil {
		return st, err
	}
	if err := d.storage(ctx, &st); err != nil {
		return st, err
	}
	if err := d.views(ctx, &st); err != nil {
		return st, err
	}
	if st.Workers, err = livestore.NewWorkers(d.Pool).Workforce(ctx); err != nil {
		return st, err
	}
	if st.Webhooks, err = webhookstore.New(d.Pool, nil).State(ctx); err != nil {
		return st, err
	}
	return st, d.servers(ctx, &st)
}

func (d *Database) servers(ctx context.Context, st *Snapshot) (err error) {
	servers := serverstore.New(d.Pool, nil)
	if st.Servers, err = servers.Servers(ctx); err != nil {
		return err
	}
	waiting, err := servers.Waits(ctx)
	st.Waiting = len(waiting)
	return err
}

func (d *Database) storage(ctx context.Context, st *Snapshot) error {
	largest, rest, full, err := d.Storage.Largest(ctx, maxStorage)
	st.Storage, st.Full = append(largest, accountstore.LargeAccount{Account: "other", Bytes: rest}), full
	return err
}

func (d *Database) views(ctx context.Context, st *Snapshot) error {
	st.Lags, st.Halted = map[string]int64{}, map[string]int64{}
	all, err := views.Followers("")
	if err != nil {
		return err
	}
	for _, p := range all {
		position, err := projections.Position(ctx, d.Pool, p.Name)
		if err != nil {
			return err
		}
		st.Lags[p.Name], st.Halted[p.Name] = max(0, st.Head-position), 0
	}
	halted, err := projections.ListHalted(ctx, d.Pool, "")
	for _, h := range halted {
		st.Halted[h.Projection]++
	}
	return err
}
