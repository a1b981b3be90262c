package assetstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
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
	"github.com/millrace-dev/millrace/internal/postgres/outboxstore"
)

// Exports implements export.Store.
type Exports struct {
	pool   *pgxpool.Pool
	events *eventstore.Store
	assets *Store
}

var _ export.Store = (*Exports)(nil)

// NewExports returns the exports on pool that append through events. Archives count against the storage limits of
// accounts; storage nil = no limit.
func NewExports(pool *pgxpool.Pool, events *eventstore.Store, storage *accountstore.Storage) *Exports {
	return &Exports{pool: pool, events: events, assets: New(pool, events).Within(storage)}
}

const (
	// lockOfExports distinguishes the advisory locks of exports from others.
	lockOfExports = 38
	// maxExports bounds the unfinished exports of an account.
	maxExports = 8
	// exportRetry is the Retry-After at that bound: packing takes seconds.
	exportRetry = 10 * time.Second
)

func (s *Exports) transact(ctx context.Context, what string, fn func(pgx.Tx) error) error {
	return s.assets.transact(ctx, what, fn)
}

// Create implements export.Store.
func (s *Exports) Create(ctx context.Context, n export.New) (made export.Export, intents []outbox.Intent, err error) {
	err = s.transact(ctx, "accept an export", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, $2))`, n.Account, lockOfExports); err != nil {
			return err
		}
		same, err := s.same(ctx, tx, n)
		if err != nil {
			return err
		}
		if same != "" {
			made, err = s.fold(ctx, tx, n.Account, same)
			return err
		}
		_, err = tx.Exec(ctx, `insert into exports (id, account, fingerprint, bytes) values ($1, $2, $3, $4)`,
			string(n.ID), n.Account, n.Fingerprint, n.Requested.Bytes)
		if err != nil {
			return err
		}
		ref := export.Ref{Export: n.ID, Account: n.Account, Bytes: n.Requested.Bytes}
		if intents, err = outboxstore.Insert(ctx, tx, []outbox.Intent{packing(ref)}); err != nil {
			return err
		}
		made, err = s.record(ctx, tx, ref, n.Requested, eventlog.Meta{Actor: n.Account, RequestID: n.RequestID})
		return err
	})
	return made, intents, err
}

// same returns the unfinished export of an equal request, or "" if there is none and the account may start another
// one.
func (s *Exports) same(ctx context.Context, tx pgx.Tx, n export.New) (same export.ID, err error) {
	var unfinished int
	err = tx.QueryRow(ctx, `select count(*), coalesce(max(id::text) filter (where fingerprint = $2), '') from exports where account = $1`,
		n.Account, n.Fingerprint).Scan(&unfinished, &same)
	if err == nil && same == "" && unfinished >= maxExports {
		err = fault.New(fault.Exhausted, fault.CodeTooManyExports, "the account has %d unfinished exports, its limit", unfinished).WithRetryAfter(exportRetry)
	}
	return same, err
}

// packing returns the intent to start an export.
func packing(ref export.Ref) outbox.Intent {
	payload, err := json.Marshal(ref)
	if err != nil {
		panic(err) // strings and ints always marshal
	}
	return outbox.Intent{WorkflowID: ref.Export.WorkflowID(), Kind: outbox.StartExport, Payload: payload}
}

// record appends an event to an unfinished export and returns the new state.
func (s *Exports) record(ctx context.Context, tx pgx.Tx, ref export.Ref, event any, meta eventlog.Meta) (export.Export, error) {
	state, err := s.fold(ctx, tx, ref.Account, ref.Export)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return export.Export{}, err
	}
	placed, err := s.events.AppendTx(ctx, tx, eventlog.Append{
		Stream: ref.Export.Stream(), Account: ref.Account, Expected: eventlog.AnyVersion, Meta: meta,
		Events: []eventlog.Event{ref.Export.Event(event)}, Close: ends(event),
	})
	if err != nil {
		return export.Export{}, err
	}
	for _, rec := range placed {
		state = export.Fold(state, rec, event)
	}
	return state, nil
}

func ends(event any) bool {
	switch event.(type) {
	case export.CompletedV1, export.FailedV1:
		return true
	default:
		return false
	}
}

// fold reads an export of the account from its stream, as seen by db.
func (s *Exports) fold(ctx context.Context, db postgres.Queryer, account string, id export.ID) (export.Export, error) {
	state, err := eventlog.Fold(s.events.Types(), eventlog.Read(ctx, eventstore.StreamsOf(db), id.Stream(), 0), export.Export{}, export.Fold)
	if err != nil {
		return export.Export{}, err
	}
	if state.ID == "" || state.Account != account {
		return export.Export{}, fault.New(fault.NotFound, fault.CodeNotFound, "there is no such export")
	}
	return state, nil
}

// Get implements export.Store.
func (s *Exports) Get(ctx context.Context, account string, id export.ID) (export.Export, error) {
	state, err := s.fold(ctx, s.pool, account, id)
	return state, postgres.Classify(err, "read export "+string(id))
}

// Begin records that an export is being packed, and returns it. open is false if the export has ended or the log does
// not have it.
func (s *Exports) Begin(ctx context.Context, ref export.Ref) (state export.Export, open bool, err error) {
	err = s.transact(ctx, "begin an export", func(tx pgx.Tx) error {
		if open, err = s.open(ctx, tx, ref); err != nil || !open {
			return err
		}
		if state, err = s.fold(ctx, tx, ref.Account, ref.Export); err != nil {
			return err
		}
		state, err = s.record(ctx, tx, ref, export.StartedV1{Files: state.Files, Bytes: state.Bytes}, eventlog.Meta{Actor: "export"})
		return err
	})
	return state, open, err
}

// openExport locks the row of an unfinished export.
const openExport = `select true from exports where id = $1 and account = $2 for update`

// open reports whether an export is unfinished, and locks it until tx ends.
func (s *Exports) open(ctx context.Context, tx pgx.Tx, ref export.Ref) (open bool, err error) {
	err = tx.QueryRow(ctx, openExport, string(ref.Export), ref.Account).Scan(&open)
	return open, ignoreNoRows(err)
}

// errExportEnded ends a transaction on an export that has ended.
var errExportEnded = errors.New("the export is over")

// Complete makes an asset of the archive, whose bytes are already stored, and ends the export. Of several attempts
// only one succeeds.
func (s *Exports) Complete(ctx context.Context, ref export.Ref, archive asset.New, done export.CompletedV1) ([]outbox.Intent, error) {
	archive.Account = ref.Account
	name := nameFor(archive)
	limit, err := s.assets.limit(ctx, archive)
	if err != nil {
		return nil, err
	}
	var open bool
	var m createdAsset
	st := bytesState{ref: archive.Hash, timed: archive.Deadline != nil}
	look := func(q *pgx.Batch) {
		q.Queue(openExport, string(ref.Export), ref.Account).
			QueryRow(func(row pgx.Row) error { return ignoreNoRows(row.Scan(&open)) })
		queueLocks(q, &archive)
		queueStoredBytes(q, ref.Account, []*bytesState{&st})
	}
	err = postgres.Pipelined(ctx, s.pool, look, func(_ postgres.Tx, q *pgx.Batch) error {
		if !open {
			return errExportEnded
		}
		var err error
		if m, err = s.assets.queueAsset(q, archive, name, limit, &st, nil); err != nil {
			return err
		}
		q.Queue(`delete from exports where id = $1`, string(ref.Export))
		done.Asset, done.ExpiresAt = name.id, st.inForce(archive.Deadline)
		_, err = s.events.QueueAppend(q, []eventlog.Append{{
			Stream: ref.Export.Stream(), Account: ref.Account, Expected: eventlog.AnyVersion, Close: true,
			Meta: eventlog.Meta{Actor: "export"}, Events: []eventlog.Event{ref.Export.Event(done)},
		}})
		return err
	})
	if errors.Is(err, errExportEnded) {
		return nil, nil
	}
	if err != nil {
		return nil, postgres.Classify(err, "complete an export")
	}
	s.events.Wake()
	return m.intents, nil
}

// Fail ends an export without an archive. It does not change an export that has ended.
func (s *Exports) Fail(ctx context.Context, ref export.Ref, failure export.FailedV1) error {
	return s.transact(ctx, "end an export", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `delete from exports where id = $1 and account = $2`, string(ref.Export), ref.Account)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = s.record(ctx, tx, ref, failure, eventlog.Meta{Actor: "export"})
		return err
	})
}

// Unfinished returns up to limit exports, in order of their ids from the first one after the given id, that are at
// least age old and wait for no intent.
func (s *Exports) Unfinished(ctx context.Context, after export.ID, age time.Duration, limit int) ([]export.Ref, error) {
	if after == "" {
		after = export.ID(uuid.Nil.String())
	}
	return postgres.Collect(ctx, s.pool, "look for exports that are not done", func(row pgx.CollectableRow) (export.Ref, error) {
		var ref export.Ref
		return ref, row.Scan(&ref.Export, &ref.Account, &ref.Bytes)
	},
		`select id::text, account, bytes from exports e
		where id > $1 and since <= now() - $2::interval
		  and not exists (select from outbox o where o.workflow_id = 'export-' || e.id)
		order by id limit $3`, string(after), age, limit)
}

// Restart records that an export whose workflow was lost is started again, and the intent to start it. It does not
// change an export that has ended.
func (s *Exports) Restart(ctx context.Context, ref export.Ref, actor, reason string) (intents []outbox.Intent, err error) {
	err = s.transact(ctx, "begin an export again", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update exports set since = now() where id = $1 and account = $2`, string(ref.Export), ref.Account)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if intents, err = outboxstore.Insert(ctx, tx, []outbox.Intent{packing(ref)}); err != nil {
			return err
		}
		if _, err = s.record(ctx, tx, ref, export.RequeuedV1{}, eventlog.Meta{Actor: actor, Reason: reason}); err != nil {
			return fmt.Errorf("record that an export is begun again: %w", err)
		}
		return nil
	})
	return intents, err
}
