package assetstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Exports implements export.Store.
type Exports struct {
	exportTasks
	assets *Store
}

type exportTasks = tasks[export.RequestedV1, export.StartedV1, export.CompletedV1, export.FailedV1]

var _ export.Store = (*Exports)(nil)

// NewExports returns the exports on pool that append through events. Archives count against the storage limits of
// accounts; storage nil = no limit.
func NewExports(pool *pgxpool.Pool, events *eventstore.Store, storage *accountstore.Storage) *Exports {
	return &Exports{assets: New(pool, events).Within(storage), exportTasks: exportTasks{
		pool: pool, events: events, types: export.Events, bytes: "bytes", intent: outbox.StartExport, lock: lockOfExports,
		most: maxExports, tooMany: fault.CodeTooManyExports, retry: exportRetry,
	}}
}

const (
	// lockOfExports distinguishes the advisory locks of exports from others.
	lockOfExports = 38
	// maxExports bounds the unfinished exports of an account.
	maxExports = 8
	// exportRetry is the Retry-After at that bound: packing takes seconds.
	exportRetry = 10 * time.Second
)

// Create implements export.Store.
func (s *Exports) Create(ctx context.Context, account string, id task.ID, requested export.RequestedV1, requestID string,
) (export.Export, error) {
	fingerprint := requested.Request.Fingerprint()
	insert := func(c *eventstore.Changes) {
		c.Queue(`insert into exports (id, account, fingerprint, bytes) values ($1, $2, $3, $4)`,
			string(id), account, fingerprint, requested.Bytes)
	}
	return s.create(ctx, task.Ref{Task: id, Account: account, Bytes: requested.Bytes}, fingerprint, insert, requested, requestID)
}

// Begin records that an export is being packed, and returns it. open is false if the export has ended or the log does
// not have it.
func (s *Exports) Begin(ctx context.Context, ref task.Ref) (state export.Export, open bool, err error) {
	return s.begin(ctx, ref, "true", new(bool), func(e export.Export) export.StartedV1 {
		return export.StartedV1{Files: e.Requested.Files, Bytes: e.Requested.Bytes}
	})
}

// Complete makes an asset of the archive, whose bytes are already stored, and ends the export. Of several attempts
// only one succeeds.
func (s *Exports) Complete(ctx context.Context, ref task.Ref, archive asset.New, done export.CompletedV1) error {
	archive.Account = ref.Account
	limit, err := s.assets.limit(ctx, archive)
	if err != nil {
		return err
	}
	row := newRow{New: archive, naming: nameFor(archive), limit: limit}
	var open bool
	var st *bytesState
	_, err = s.events.Write(ctx, eventstore.Decision{
		What: "complete an export",
		Read: func(q *pgx.Batch) {
			st, open = &bytesState{ref: archive.Hash, timed: archive.Deadline != nil}, false
			postgres.ScanInto(q.Queue(`select true from exports where id = $1 and account = $2 for update`, string(ref.Task), ref.Account), &open)
			queueLocks(q, &archive)
			queueStoredBytes(q, ref.Account, []*bytesState{st})
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if !open {
				return eventstore.ErrNothing
			}
			done.Asset, done.ExpiresAt = row.id, st.inForce(archive.Deadline)
			if _, err := s.assets.addOne(c, row, st); err != nil {
				return err
			}
			c.Queue(`delete from exports where id = $1`, string(ref.Task))
			return c.Append(s.append(ref, done, eventlog.Meta{Actor: "export"}, true))
		},
	})
	return err
}
