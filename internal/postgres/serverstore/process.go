package serverstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// RecordProcess records the state of a server's process, and that the process started or ended, unless eventType is "".
func (st *Store) RecordProcess(ctx context.Context, id server.ID, p server.Process, eventType string, data any) error {
	const update = `update comfyui_servers set system = coalesce(system, '{}') || jsonb_build_object('process', $2::jsonb) where id = $1`
	if eventType == "" {
		_, err := st.pool.Exec(ctx, update, string(id), p)
		return postgres.Classify(err, "record the process of server "+string(id))
	}
	var known int64
	_, err := st.events.Write(ctx, eventstore.Decision{
		What: "record the process of the server " + string(id),
		Read: func(q *pgx.Batch) {
			postgres.CountInto(q.Queue(update, string(id), p), &known)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if known == 0 {
				return eventstore.ErrNothing
			}
			return record(c, id, server.By{Actor: "host:" + p.Host, Reason: "started by --comfyui-dir"}, eventType, data)
		},
	})
	return err
}
