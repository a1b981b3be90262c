package assetstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Exports implements export.Store.
type Exports struct {
	tasks  *tasks[export.Export]
	assets *Store
}

var _ export.Store = (*Exports)(nil)

// NewExports returns the exports on pool that append through events. Archives count against the storage limits of
// accounts; storage nil = no limit.
func NewExports(pool *pgxpool.Pool, events *eventstore.Store, storage *accountstore.Storage) *Exports {
	return &Exports{assets: New(pool, events).Within(storage), tasks: &tasks[export.Export]{
		pool: pool, events: events, word: "export", kind: outbox.StartExport, lock: lockOfExports,
		most: maxExports, tooMany: fault.CodeTooManyExports, retry: exportRetry,
		fold: export.Fold, of: func(e export.Export) (id, account string) { return string(e.ID), e.Account },
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

func packing(ref export.Ref) task {
	return task{id: string(ref.Export), account: ref.Account, stream: ref.Export.Stream(), workflow: ref.Export.WorkflowID(), ref: ref}
}

// Create implements export.Store.
func (s *Exports) Create(ctx context.Context, n export.New) (export.Export, error) {
	insert := func(c *eventstore.Changes) {
		c.Queue(`insert into exports (id, account, fingerprint, bytes) values ($1, $2, $3, $4)`,
			string(n.ID), n.Account, n.Fingerprint, n.Requested.Bytes)
	}
	return s.tasks.create(ctx, packing(export.Ref{Export: n.ID, Account: n.Account, Bytes: n.Requested.Bytes}), n.Fingerprint,
		func(id string) string { return export.ID(id).Stream() }, insert,
		n.ID.Event(n.Requested), eventlog.Meta{Actor: n.Account, RequestID: n.RequestID})
}

// Get implements export.Store.
func (s *Exports) Get(ctx context.Context, account string, id export.ID) (export.Export, error) {
	return s.tasks.get(ctx, account, id.Stream())
}

// Begin records that an export is being packed, and returns it. open is false if the export has ended or the log does
// not have it.
func (s *Exports) Begin(ctx context.Context, ref export.Ref) (state export.Export, open bool, err error) {
	return s.tasks.begin(ctx, packing(ref), "true", func(row pgx.Row) error { return row.Scan(new(bool)) },
		func(e export.Export) eventlog.Event {
			return ref.Export.Event(export.StartedV1{Files: e.Files, Bytes: e.Bytes})
		})
}

// Complete makes an asset of the archive, whose bytes are already stored, and ends the export. Of several attempts
// only one succeeds.
func (s *Exports) Complete(ctx context.Context, ref export.Ref, archive asset.New, done export.CompletedV1) error {
	archive.Account = ref.Account
	limit, err := s.assets.limit(ctx, archive)
	if err != nil {
		return err
	}
	row := newRow{New: archive, naming: nameFor(archive), limit: limit}
	var open bool
	var st *bytesState
	_, err = s.tasks.events.Write(ctx, eventstore.Decision{
		What: "complete an export",
		Read: func(q *pgx.Batch) {
			st, open = &bytesState{ref: archive.Hash, timed: archive.Deadline != nil}, false
			q.Queue(`select true from exports where id = $1 and account = $2 for update`, string(ref.Export), ref.Account).
				QueryRow(func(row pgx.Row) error { return ignoreNoRows(row.Scan(&open)) })
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
			c.Queue(`delete from exports where id = $1`, string(ref.Export))
			return c.Append(taskAppend(packing(ref), ref.Export.Event(done), eventlog.Meta{Actor: "export"}, true))
		},
	})
	return err
}

// Fail ends an export without an archive. It does not change an export that has ended.
func (s *Exports) Fail(ctx context.Context, ref export.Ref, failure export.FailedV1) error {
	return s.tasks.end(ctx, packing(ref), ref.Export.Event(failure))
}

// Unfinished returns up to limit exports, in order of their ids from the first one after the given id, that are at
// least age old and wait for no intent.
func (s *Exports) Unfinished(ctx context.Context, after export.ID, age time.Duration, limit int) ([]export.Ref, error) {
	return unfinished(ctx, s.tasks, func(row pgx.CollectableRow) (ref export.Ref, err error) {
		return ref, row.Scan(&ref.Export, &ref.Account, &ref.Bytes)
	}, `id::text, account, bytes`, string(after), age, limit)
}

// Restart records that an export whose workflow was lost is started again, and the intent to start it. It does not
// change an export that has ended, and then returns false.
func (s *Exports) Restart(ctx context.Context, ref export.Ref, actor, reason string) (bool, error) {
	return s.tasks.restart(ctx, packing(ref), ref.Export.Event(export.RequeuedV1{}), eventlog.Meta{Actor: actor, Reason: reason})
}
