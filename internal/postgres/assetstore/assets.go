// Package assetstore stores assets and files in PostgreSQL: the names of an account's files, the references to blobs,
// and exports and downloads. It promises that a name belongs to one file at a time, and that a blob is not collected
// while something refers to it. Blob stores keep the bytes.
package assetstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Store implements asset.Store. Every method locks in this order: the name, the bytes within the account, rows, and
// then the log, by an append as the last statement.
type Store struct {
	pool    *pgxpool.Pool
	events  *eventstore.Store
	storage *accountstore.Storage // nil = no limit
}

var _ asset.Store = (*Store)(nil)

// New returns the asset store on pool that appends through events.
func New(pool *pgxpool.Pool, events *eventstore.Store) *Store {
	return &Store{pool: pool, events: events}
}

// Seeds that distinguish the two families of advisory locks.
const (
	lockOfNames = 3
	lockOfBytes = 11
)

// Within returns a store that enforces the storage limits of accounts for uploads. Outputs of jobs and calls are
// always stored.
func (s *Store) Within(storage *accountstore.Storage) *Store {
	limited := *s
	limited.storage = storage
	return &limited
}

func (s *Store) transact(ctx context.Context, what string, fn func(pgx.Tx) error) error {
	if err := pgx.BeginFunc(ctx, s.pool, fn); err != nil {
		return postgres.Classify(err, what)
	}
	s.events.Wake()
	return nil
}

// thumbnailOf returns the thumbnail in known events, or nil.
func thumbnailOf(known []any) []byte {
	for _, event := range known {
		if s, ok := event.(asset.ScannedV1); ok && !s.Scan.Thumbnail.IsZero() {
			return s.Scan.Thumbnail[:]
		}
	}
	return nil
}

// observation returns the event of a finding about an asset's bytes.
func observation(id asset.ID, event any) eventlog.Event {
	eventType := asset.TypeVerified
	if _, scanned := event.(asset.ScannedV1); scanned {
		eventType = asset.TypeScanned
	}
	return eventlog.Event{ID: asset.EventID(id, eventType), Type: eventType, Data: event}
}

// ingestion returns the intent to ingest an asset in the background.
func ingestion(id asset.ID, account string, size int64) outbox.Intent {
	payload, err := json.Marshal(asset.IngestRef{Asset: id, Account: account, Size: size})
	if err != nil {
		panic(err) // strings and ints always marshal
	}
	return outbox.Intent{WorkflowID: id.WorkflowID(), Kind: outbox.StartIngest, Payload: payload}
}

// assetPage is the number of events of an asset that one query reads; few assets have more than five.
const assetPage = 100

// fold reads an asset's state from its stream, as db sees it.
func (s *Store) fold(ctx context.Context, db postgres.Queryer, id asset.ID) (asset.Asset, error) {
	return eventlog.Fold(s.events.Types(), eventlog.Read(ctx, eventstore.StreamsOf(db), id.Stream(), 0), asset.Asset{}, asset.Fold)
}

// pinnedByJob is true for a file that an unfinished job needs.
const pinnedByJob = `exists (select from asset_holds h where h.asset_id = files.asset_id and (
	exists (select from job_slots s where s.job_id = h.job_id) or exists (select from job_queue q where q.job_id = h.job_id)))`

// Delete implements asset.Store.
func (s *Store) Delete(ctx context.Context, account string, id asset.ID, requestID string) error {
	return s.transact(ctx, "delete an asset", func(tx pgx.Tx) error {
		var inUse bool
		err := tx.QueryRow(ctx, `select `+pinnedByJob+` from files where asset_id = $1 and account = $2 and `+alive+` for update`,
			string(id), account).Scan(&inUse)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return fault.New(fault.NotFound, fault.CodeNotFound, "there is no such asset")
		case err != nil:
			return err
		case inUse:
			return fault.New(fault.Conflict, fault.CodeAssetInUse, "an unfinished job needs this asset")
		}
		meta := eventlog.Meta{Actor: account, RequestID: requestID}
		return s.end(ctx, tx, id, account, asset.TypeDeleted, asset.DeletedV1{}, meta)
	})
}

// end ends a file: it deletes the row and closes the stream.
func (s *Store) end(ctx context.Context, tx pgx.Tx, id asset.ID, account, eventType string, event any, meta eventlog.Meta) error {
	if _, err := tx.Exec(ctx, `delete from files where asset_id = $1`, string(id)); err != nil {
		return fmt.Errorf("delete the row of asset %s: %w", id, err)
	}
	_, err := s.events.AppendTx(ctx, tx, eventlog.Append{
		Stream: id.Stream(), Account: account, Expected: eventlog.AnyVersion, Close: true, Meta: meta,
		Events: []eventlog.Event{{ID: asset.EventID(id, eventType), Type: eventType, Data: event}},
	})
	return err
}

// HasBytes implements asset.Store.
func (s *Store) HasBytes(ctx context.Context, account string, hash blob.Ref) (bool, error) {
	var held bool
	err := s.pool.QueryRow(ctx, `select exists (select from files where hash = $1 and account = $2 and not rejected and `+alive+`)`,
		hash[:], account).Scan(&held)
	return held, postgres.Classify(err, "look for bytes")
}
