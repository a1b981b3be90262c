// Package assetstore stores assets and files in PostgreSQL: the names of an account's files, the references to blobs,
// and exports and downloads. It promises that a name belongs to one file at a time, and that a blob is not collected
// while something refers to it. Blob stores keep the bytes.
package assetstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/committer"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Store implements asset.Store. Every method locks in this order: the name, the bytes within the account, rows, and
// then the log, by an append as the last statement.
type Store struct {
	pool    *pgxpool.Pool
	events  *eventstore.Store
	storage *accountstore.Storage // nil = no limit

	creations *committer.Committer[*newAsset]
	questions *committer.Committer[*question]
}

var _ asset.Store = (*Store)(nil)

// New returns the asset store on pool that appends through events.
func New(pool *pgxpool.Pool, events *eventstore.Store) *Store {
	s := &Store{pool: pool, events: events}
	s.creations = committer.New(committer.Options{}, s.createAll)
	s.questions = committer.New(committer.Options{}, s.answerAll)
	return s
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

// thumbnailOf returns the thumbnail that an event names, or nil.
func thumbnailOf(known *asset.VerifiedV1) []byte {
	if known == nil || known.Scan == nil || known.Scan.Thumbnail.IsZero() {
		return nil
	}
	return known.Scan.Thumbnail[:]
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

// question asks whether an account has bytes.
type question struct {
	hash blob.Ref
	held bool
}

// HasBytes implements asset.Store. Questions of an account that are asked while another one is answered are one query.
func (s *Store) HasBytes(ctx context.Context, account string, hash blob.Ref) (bool, error) {
	q := &question{hash: hash}
	err := s.questions.Do(ctx, account, len(hash), q)
	return q.held, postgres.Classify(err, "look for bytes")
}

// selectAnswers reads for each of some bytes whether the account holds them.
const selectAnswers = `select ` + held + ` from unnest($2::bytea[]) with ordinality as u (bytes, n) order by n`

// answerAll answers questions of one account.
func (s *Store) answerAll(ctx context.Context, account string, all []*question) []error {
	if len(all) == 1 { // whose plan is kept
		q := all[0]
		return []error{s.pool.QueryRow(ctx, `select exists (select`+ofBytes+`)`, account, q.hash[:]).Scan(&q.held)}
	}
	hashes, failed := make([][]byte, len(all)), make([]error, len(all))
	for i, q := range all {
		hashes[i] = q.hash[:]
	}
	answers, err := postgres.Collect(ctx, s.pool, "look for bytes", pgx.RowTo[bool], selectAnswers, account, hashes)
	for i, q := range all {
		if failed[i] = err; err == nil {
			q.held = answers[i]
		}
	}
	return failed
}

// naming contains the ids that every attempt to make an asset uses.
type naming struct {
	id    asset.ID
	first uuid.UUID // id of its first event; another request has another id
}

func nameFor(n asset.New) naming {
	if n.Chosen != "" {
		return naming{asset.IDOfChoice(n.Account, n.Chosen), uuid.New()}
	}
	return naming{asset.NewID(), uuid.New()}
}

// takenID finds an asset of the account whose own id, which no client chose, is the id that a client chooses now.
const takenID = `select exists (select from streams where id = $1 and account = $2)
	and not exists (select from asset_public_ids where asset_id = $3)`

// queueTaken queues the statement that refuses a chosen id that is in use. If the account has chosen the id before,
// the append fails because the asset's stream exists. fail is called with the refusal, which fails the batch.
func queueTaken(q *pgx.Batch, n asset.New, fail func(error)) {
	if n.Chosen == "" {
		return
	}
	q.Queue(takenID, asset.ID(n.Chosen).Stream(), n.Account, string(n.Chosen)).QueryRow(func(row pgx.Row) error {
		var taken bool
		if err := row.Scan(&taken); err != nil || !taken {
			return err
		}
		err := errTaken(nil, n.Chosen)
		fail(err)
		return err
	})
}

func errTaken(cause error, chosen asset.PublicID) error {
	return fault.Wrap(cause, fault.Conflict, fault.CodeAssetIDTaken, "the id %s is or was in use", chosen)
}
