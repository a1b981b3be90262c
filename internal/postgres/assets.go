package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/asset"
	"github.com/millrace-dev/millrace/internal/blob"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbox"
)

// Assets carries out the transactions of assets. It implements asset.Store. Lock order in each:
// the name, then the bytes within the account, then rows, then the append as the last statement.
type Assets struct {
	pool   *pgxpool.Pool
	events *EventStore
}

var _ asset.Store = (*Assets)(nil)

// NewAssets returns the asset store on pool that appends through events.
func NewAssets(pool *pgxpool.Pool, events *EventStore) *Assets {
	return &Assets{pool: pool, events: events}
}

// force is what is in force for some bytes in an account.
type force struct {
	held     bool
	deadline *time.Time // the latest, nil = never, of held bytes
}

// lockAsset locks a name and some bytes of an account until tx ends and reads what is in force for
// the bytes, in one round trip. The locks come as statements of their own, so that the read sees
// what the previous holder committed.
func lockAsset(ctx context.Context, tx pgx.Tx, account string, place *asset.Place, hash blob.Ref) (force, error) {
	var f force
	var never bool
	batch := &pgx.Batch{}
	const lock = `select pg_advisory_xact_lock(hashtextextended($1, $2))`
	if place != nil {
		batch.Queue(lock, account+"\x1f"+place.Folder+"\x1f"+place.Subfolder+"/"+place.Filename, lockOfNames)
	}
	batch.Queue(lock, account+"\x1f"+hash.Hex(), lockOfBytes)
	batch.Queue(`select count(*) > 0, coalesce(bool_or(expires_at is null), false), max(expires_at)
		from files where account = $1 and hash = $2 and not rejected and `+alive, account, hash[:]).
		QueryRow(func(row pgx.Row) error { return row.Scan(&f.held, &never, &f.deadline) })
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return force{}, err
	}
	if never {
		f.deadline = nil
	}
	return f, nil
}

// Seeds that keep the two families of advisory locks apart.
const (
	lockOfNames = 3
	lockOfBytes = 11
)

// Create implements asset.Store.
func (s *Assets) Create(ctx context.Context, n asset.New) (asset.Made, error) {
	var made asset.Made
	err := s.transact(ctx, "create an asset", func(tx pgx.Tx) error {
		f, err := lockAsset(ctx, tx, n.Account, n.Place, n.Hash)
		if err != nil {
			return err
		}
		made, err = s.insert(ctx, tx, n, f)
		return err
	})
	return made, err
}

func (s *Assets) transact(ctx context.Context, what string, fn func(pgx.Tx) error) error {
	if err := pgx.BeginFunc(ctx, s.pool, fn); err != nil {
		return classify(err, what)
	}
	s.events.Wake()
	return nil
}

const insertAsset = `insert into files (asset_id, account, hash, size, content_type, file_path, folder, subfolder,
		filename, named, tags, expires_at, width, height, thumbnail)
	values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`

// insert writes the row of a new asset, takes its name over, and appends the fact. What is not known
// of the bytes yet is left to its ingestion.
func (s *Assets) insert(ctx context.Context, tx pgx.Tx, n asset.New, f force, known ...any) (asset.Made, error) {
	if f.held {
		n.Deadline = asset.Later(n.Deadline, f.deadline)
	}
	id := asset.NewID()
	place, named := asset.Place{Folder: "input"}, n.Place != nil
	batch := &pgx.Batch{}
	if named {
		place = *n.Place
		batch.Queue(`update files set named = false where account = $1 and folder = $2 and subfolder = $3 and filename = $4 and named`,
			n.Account, place.Folder, place.Subfolder, place.Filename)
	}
	if n.Tags == nil {
		n.Tags = []string{}
	}
	batch.Queue(insertAsset, string(id), n.Account, n.Hash[:], n.Size, n.ContentType, n.FilePath, place.Folder, place.Subfolder,
		place.Filename, named, n.Tags, n.Deadline, n.Width, n.Height, thumbnailOf(known))
	var intents []outbox.Intent
	if len(known) == 0 {
		intents = []outbox.Intent{ingestion(id, n.Account, n.Size)}
	}
	queueIntents(batch, intents)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return asset.Made{}, err
	}
	fact := asset.CreatedV1{
		Origin: n.Origin, Hash: n.Hash, Size: n.Size, ContentType: n.ContentType, FilePath: n.FilePath, Place: n.Place,
		Tags: n.Tags, Width: n.Width, Height: n.Height, ExpiresAt: n.Deadline,
	}
	a := createdAppend(id, n.Account, fact, eventlog.Meta{Actor: n.Account, RequestID: n.RequestID})
	for _, data := range known {
		a.Events = append(a.Events, observation(id, data))
	}
	recorded, err := s.events.AppendTx(ctx, tx, a)
	if err != nil {
		return asset.Made{}, err
	}
	state := asset.Fold(asset.Asset{}, recorded[0], fact)
	for i, data := range known {
		state = asset.Fold(state, recorded[i+1], data)
	}
	return asset.Made{Asset: state, Held: f.held, Intents: intents}, nil
}

// thumbnailOf returns the thumbnail among known facts, or nil.
func thumbnailOf(known []any) []byte {
	for _, fact := range known {
		if s, ok := fact.(asset.ScannedV1); ok && !s.Scan.Thumbnail.IsZero() {
			return s.Scan.Thumbnail[:]
		}
	}
	return nil
}

// observation is the event of a fact that was found out about an asset's bytes.
func observation(id asset.ID, fact any) eventlog.Event {
	eventType := asset.TypeVerified
	if _, scanned := fact.(asset.ScannedV1); scanned {
		eventType = asset.TypeScanned
	}
	return eventlog.Event{ID: asset.FactID(id, eventType), Type: eventType, Data: fact}
}

// ingestion is the intent to look into an asset in the background.
func ingestion(id asset.ID, account string, size int64) outbox.Intent {
	payload, err := json.Marshal(asset.IngestRef{Asset: id, Account: account, Size: size})
	if err != nil {
		panic(err) // strings and ints always marshal
	}
	return outbox.Intent{WorkflowID: id.WorkflowID(), Kind: outbox.StartIngest, Payload: payload}
}

// Reference implements asset.Store.
func (s *Assets) Reference(ctx context.Context, n asset.New) (made asset.Made, same bool, err error) {
	err = s.transact(ctx, "reference bytes", func(tx pgx.Tx) error {
		f, err := lockAsset(ctx, tx, n.Account, n.Place, n.Hash)
		if err != nil {
			return err
		}
		if !f.held {
			return fault.New(fault.NotFound, "blob_not_found", "no content with this hash is stored")
		}
		id, err := identical(ctx, tx, n)
		if err != nil {
			return err
		}
		if same = id != ""; same {
			made, err = s.again(ctx, tx, id, n)
			return err
		}
		known, err := s.describe(ctx, tx, &n)
		if err != nil {
			return err
		}
		made, err = s.insert(ctx, tx, n, f, known...)
		return err
	})
	return made, same, err
}

// identical returns the account's newest live asset with these bytes, path and tags, or "".
func identical(ctx context.Context, tx pgx.Tx, n asset.New) (asset.ID, error) {
	var id asset.ID
	tags := n.Tags
	if tags == nil {
		tags = []string{}
	}
	err := tx.QueryRow(ctx, `select asset_id::text from files
		where account = $1 and hash = $2 and file_path is not distinct from $3 and tags = $4 and not rejected and job_id is null and `+alive+`
		order by created_at desc, asset_id limit 1`, n.Account, n.Hash[:], n.FilePath, tags).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// describe completes a reference with what the account's newest asset of these bytes says of them,
// and returns the facts about the bytes that hold for the new asset as well.
func (s *Assets) describe(ctx context.Context, tx pgx.Tx, n *asset.New) ([]any, error) {
	var like asset.ID
	err := tx.QueryRow(ctx, `select asset_id::text, size, content_type, width, height from files
		where account = $1 and hash = $2 and not rejected and `+alive+` order by created_at desc, asset_id limit 1`,
		n.Account, n.Hash[:]).Scan(&like, &n.Size, &n.ContentType, &n.Width, &n.Height)
	if errors.Is(err, pgx.ErrNoRows) { // all were rejected
		return nil, fault.New(fault.NotFound, "blob_not_found", "no content with this hash is stored")
	}
	if err != nil {
		return nil, err
	}
	state, err := s.fold(ctx, tx, like)
	if err != nil || state.Scan == nil || state.VerifiedAt == nil || state.Damaged {
		return nil, err
	}
	return []any{asset.VerifiedV1{OK: true, Size: n.Size}, asset.ScannedV1{Scan: *state.Scan}}, nil
}

// again extends the deadline of an asset that is referenced once more and returns its state.
func (s *Assets) again(ctx context.Context, tx pgx.Tx, id asset.ID, n asset.New) (asset.Made, error) {
	f := &Files{pool: s.pool, events: s.events}
	e, err := one(ctx, tx, selectFile+` and asset_id = $3`, n.Account, nil, string(id))
	if err != nil {
		return asset.Made{}, err
	}
	meta := eventlog.Meta{Actor: n.Account, RequestID: n.RequestID}
	if err := f.extend(ctx, tx, &e, n.Deadline, meta); err != nil {
		return asset.Made{}, err
	}
	state, err := s.fold(ctx, tx, id)
	return asset.Made{Asset: state, Held: true}, err
}

// assetPage is how many events of an asset are read at once; few assets have more than five.
const assetPage = 100

// fold reads an asset's state from its stream, as tx sees it.
func (s *Assets) fold(ctx context.Context, tx pgx.Tx, id asset.ID) (asset.Asset, error) {
	var state asset.Asset
	for {
		page, err := ReadStream(ctx, tx, id.Stream(), state.Version, assetPage)
		if err != nil {
			return asset.Asset{}, err
		}
		for _, rec := range page {
			data, err := s.events.Decode(rec)
			if err != nil {
				return asset.Asset{}, err
			}
			state = asset.Fold(state, rec, data)
		}
		if len(page) < assetPage {
			return state, nil
		}
	}
}

// heldByJob is true of a file that an unfinished job needs.
const heldByJob = `exists (select from asset_holds h where h.asset_id = files.asset_id and (
	exists (select from job_slots s where s.job_id = h.job_id) or exists (select from job_queue q where q.job_id = h.job_id)))`

// Delete implements asset.Store.
func (s *Assets) Delete(ctx context.Context, account string, id asset.ID, requestID string) error {
	return s.transact(ctx, "delete an asset", func(tx pgx.Tx) error {
		var inUse bool
		err := tx.QueryRow(ctx, `select `+heldByJob+` from files where asset_id = $1 and account = $2 and `+alive+` for update`,
			string(id), account).Scan(&inUse)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return fault.New(fault.NotFound, "not_found", "there is no such asset")
		case err != nil:
			return err
		case inUse:
			return fault.New(fault.Conflict, "asset_in_use", "an unfinished job needs this asset")
		}
		meta := eventlog.Meta{Actor: account, RequestID: requestID}
		return s.end(ctx, tx, id, account, asset.TypeDeleted, asset.DeletedV1{}, meta)
	})
}

// end takes a file out of service: its row goes, its stream closes.
func (s *Assets) end(ctx context.Context, tx pgx.Tx, id asset.ID, account, eventType string, fact any, meta eventlog.Meta) error {
	if _, err := tx.Exec(ctx, `delete from files where asset_id = $1`, string(id)); err != nil {
		return fmt.Errorf("delete the row of asset %s: %w", id, err)
	}
	_, err := s.events.AppendTx(ctx, tx, eventlog.Append{
		Stream: id.Stream(), Account: account, Expected: eventlog.AnyVersion, Close: true, Meta: meta,
		Events: []eventlog.Event{{ID: asset.FactID(id, eventType), Type: eventType, Data: fact}},
	})
	return err
}

// Holds implements asset.Store.
func (s *Assets) Holds(ctx context.Context, account string, hash blob.Ref) (bool, error) {
	var held bool
	err := s.pool.QueryRow(ctx, `select exists (select from files where hash = $1 and account = $2 and not rejected and `+alive+`)`,
		hash[:], account).Scan(&held)
	return held, classify(err, "look for bytes")
}
