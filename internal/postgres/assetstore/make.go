package assetstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/outboxstore"
)

// bytesState is what a transaction that makes an asset reads about its bytes, after taking its locks.
type bytesState struct {
	limit    int64 // storage limit of the account; 0 = no limit
	held     bool
	never    bool       // an asset with these bytes has no deadline
	deadline *time.Time // the latest deadline of these bytes

	same history // the newest live asset with these bytes, path and tags
	like history // the newest live asset with these bytes
	size int64   // fields of like
	kind string
	wide int
	high int
}

// history is an asset ("" = none) with the first page of its events.
type history struct {
	id     asset.ID
	events []eventlog.Recorded
}

// queueBytesState locks the name and the bytes within the account until the transaction ends, and reads the deadlines
// of the bytes. The locks are separate statements, so that the read sees what the previous holder committed.
func queueBytesState(q *pgx.Batch, n asset.New, st *bytesState) {
	queueTaken(q, n)
	bytes := n.Account + "\x1f" + n.Hash.Hex()
	if n.Place != nil { // the name first: arguments are evaluated in their order
		q.Queue(`select pg_advisory_xact_lock(hashtextextended($1, $2)), pg_advisory_xact_lock(hashtextextended($3, $4))`,
			keyOfName(n.Account, *n.Place), lockOfNames, bytes, lockOfBytes)
	} else {
		q.Queue(`select pg_advisory_xact_lock(hashtextextended($1, $2))`, bytes, lockOfBytes)
	}
	if n.Deadline == nil { // which no deadline in force is later than
		q.Queue(`select exists (select`+ofBytes+`)`, n.Account, n.Hash[:]).QueryRow(func(row pgx.Row) error { return row.Scan(&st.held) })
		return
	}
	q.Queue(`select count(*) > 0, coalesce(bool_or(expires_at is null), false), max(expires_at)`+ofBytes, n.Account, n.Hash[:]).
		QueryRow(func(row pgx.Row) error { return row.Scan(&st.held, &st.never, &st.deadline) })
}

// inForce returns the later of deadline and the deadline of the bytes: a deadline never moves to an earlier time; nil
// = never.
func (st *bytesState) inForce(deadline *time.Time) *time.Time {
	switch {
	case !st.held:
		return deadline
	case st.never:
		return nil
	default:
		return asset.LaterDeadline(deadline, st.deadline)
	}
}

// Conditions on the account's files with some bytes. The row of an asset that is returned again is locked, so that
// its deletion comes before or waits.
const (
	ofBytes     = ` from files where account = $1 and hash = $2 and not rejected and ` + alive
	ofReference = ofBytes + ` and file_path is not distinct from $3 and tags = $4 and job_id is null`
	newest      = ` order by created_at desc, asset_id limit 1`
	eventsOf    = eventstore.SelectEvents + ` where stream = (select 'asset-' || asset_id`
	firstPage   = `) order by version limit $`
)

// queueLikes reads the asset that a reference repeats, if any, and the newest asset with the same bytes.
func queueLikes(q *pgx.Batch, n asset.New, st *bytesState) {
	repeated := []any{n.Account, n.Hash[:], n.FilePath, tagsOf(n)}
	q.Queue(`select asset_id::text`+ofReference+newest+` for update`, repeated...).
		QueryRow(func(row pgx.Row) error { return ignoreNoRows(row.Scan(&st.same.id)) })
	q.Queue(eventsOf+ofReference+newest+firstPage+`5`, append(repeated, assetPage)...).Query(st.same.read)
	q.Queue(`select asset_id::text, size, content_type, width, height`+ofBytes+newest, n.Account, n.Hash[:]).
		QueryRow(func(row pgx.Row) error {
			return ignoreNoRows(row.Scan(&st.like.id, &st.size, &st.kind, &st.wide, &st.high))
		})
	q.Queue(eventsOf+ofBytes+newest+firstPage+`3`, n.Account, n.Hash[:], assetPage).Query(st.like.read)
}

// tagsOf returns the tags of a new asset; the column knows no null.
func tagsOf(n asset.New) []string {
	if n.Tags == nil {
		return []string{}
	}
	return n.Tags
}

// ignoreNoRows returns nil for a query that found no row.
func ignoreNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

func (h *history) read(rows pgx.Rows) (err error) {
	h.events, err = pgx.CollectRows(rows, eventstore.ScanRecorded)
	return err
}

// limit returns the storage limit for n, or 0 if the asset does not count: copies from a model's answer are paid for.
func (s *Store) limit(ctx context.Context, n asset.New) (int64, error) {
	if n.Origin == asset.Hosted {
		return 0, nil
	}
	return s.storage.Limit(ctx, n.Account)
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
// the append fails because the asset's stream exists.
func queueTaken(q *pgx.Batch, n asset.New) {
	if n.Chosen == "" {
		return
	}
	q.Queue(takenID, asset.ID(n.Chosen).Stream(), n.Account, string(n.Chosen)).QueryRow(func(row pgx.Row) error {
		var taken bool
		if err := row.Scan(&taken); err != nil || !taken {
			return err
		}
		return errTaken(nil, n.Chosen)
	})
}

func errTaken(cause error, chosen asset.PublicID) error {
	return fault.Wrap(cause, fault.Conflict, fault.CodeAssetIDTaken, "the id %s is or was in use", chosen)
}

// Create implements asset.Store.
func (s *Store) Create(ctx context.Context, n asset.New) (asset.Stored, error) {
	limit, err := s.limit(ctx, n)
	if err != nil {
		return asset.Stored{}, err
	}
	name := nameFor(n)
	var tried []making
	recorded, err := s.events.RetryAmbiguous(ctx, name.first, func(ctx context.Context) error {
		st := bytesState{limit: limit}
		look := func(q *pgx.Batch) {
			queueBytesState(q, n, &st)
			if !n.Fresh {
				queueKnown(q, n, &st)
			}
		}
		return postgres.Pipelined(ctx, s.pool, look, func(db postgres.Tx, q *pgx.Batch) error {
			m, err := s.queueUpload(ctx, db, q, n, name, &st)
			tried = append(tried, m)
			return err
		})
	})
	switch {
	case err != nil:
		return asset.Stored{}, unknown(postgres.Classify(taken(err, n.Chosen), "create an asset"))
	case recorded:
		return s.recorded(ctx, name.id, tried[0].held) // a later attempt may have found the asset of the first one
	}
	s.events.Wake()
	return tried[len(tried)-1].made(s)
}

// Reference implements asset.Store.
func (s *Store) Reference(ctx context.Context, n asset.New) (made asset.Stored, same bool, err error) {
	limit, err := s.limit(ctx, n)
	if err != nil {
		return asset.Stored{}, false, err
	}
	name := nameFor(n)
	var m making
	recorded, err := s.events.RetryAmbiguous(ctx, name.first, func(ctx context.Context) (err error) {
		m, same, err = s.reference(ctx, n, name, limit)
		return err
	})
	switch {
	case err != nil:
		return asset.Stored{}, false, unknown(postgres.Classify(taken(err, n.Chosen), "reference bytes"))
	case recorded:
		made, err = s.recorded(ctx, name.id, true)
		return made, false, err
	}
	s.events.Wake()
	made, err = m.made(s)
	return made, same && made.Asset.ID != name.id, err // an earlier attempt may have made it
}

// reference is one attempt at a reference.
func (s *Store) reference(ctx context.Context, n asset.New, name naming, limit int64) (m making, same bool, err error) {
	st := bytesState{limit: limit}
	look := func(q *pgx.Batch) {
		queueBytesState(q, n, &st)
		queueLikes(q, n, &st)
	}
	err = postgres.Pipelined(ctx, s.pool, look, func(db postgres.Tx, q *pgx.Batch) (err error) {
		switch {
		case !st.held || st.like.id == "":
			return fault.New(fault.NotFound, fault.CodeBlobNotFound, "no content with this hash is stored")
		case st.same.id != "":
			m, same, err = s.queueAgain(ctx, db, q, n, st.same)
		}
		if err == nil && !same {
			m, err = s.queueReference(ctx, db, q, n, name, &st)
		}
		return err
	})
	return m, same, err
}

// recorded returns an asset of an attempt whose answer was lost; the relay starts its ingestion.
func (s *Store) recorded(ctx context.Context, id asset.ID, held bool) (asset.Stored, error) {
	s.events.Wake()
	state, err := s.fold(ctx, s.pool, id)
	if err != nil {
		return asset.Stored{}, fmt.Errorf("%w: %w", asset.ErrUncertain, err)
	}
	return asset.Stored{Asset: state, HadBytes: held}, nil
}

// unknown marks a failure after which the asset may have been made.
func unknown(err error) error {
	if postgres.IsAmbiguous(err) {
		return fmt.Errorf("%w: %w", asset.ErrUncertain, err)
	}
	return err
}

// taken returns the error for a chosen id that is in use.
func taken(err error, chosen asset.PublicID) error {
	var pg *pgconn.PgError
	if chosen != "" && errors.As(err, &pg) && (pg.Code == postgres.UniqueViolation || eventstore.IsRefused(err)) {
		return errTaken(err, chosen)
	}
	return err
}

// making is an asset whose events are queued. Its state is known when the events are placed.
type making struct {
	before  asset.Asset
	events  *eventstore.Queued // nil = no further events
	held    bool
	intents []outbox.Intent
}

// made folds the placed events into the state.
func (m making) made(s *Store) (asset.Stored, error) {
	state := m.before
	if m.events != nil {
		var err error
		if state, err = eventlog.Fold(s.events.Types(), eventlog.All(m.events.Recorded()), state, asset.Fold); err != nil {
			return asset.Stored{}, fmt.Errorf("%w: %w", asset.ErrUncertain, err)
		}
	}
	return asset.Stored{Asset: state, HadBytes: m.held, Intents: m.intents}, nil
}

const insertAsset = `insert into files (asset_id, account, hash, size, content_type, file_path, folder, subfolder,
		filename, named, tags, expires_at, width, height, thumbnail, ingest_since)
	values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, case when $16 then now() end)`

// queueAsset writes the row of a new asset, takes over its name, and appends the event. Its ingestion determines the
// remaining properties of the bytes.
func (s *Store) queueAsset(q *pgx.Batch, n asset.New, name naming, st *bytesState, known ...any) (making, error) {
	n.Deadline, n.Tags = st.inForce(n.Deadline), tagsOf(n)
	id, m := name.id, making{held: st.held}
	place, named := asset.Place{Folder: "input"}, n.Place != nil
	if named {
		place = *n.Place
		q.Queue(`update files set named = false where account = $1 and folder = $2 and subfolder = $3 and filename = $4 and named`,
			n.Account, place.Folder, place.Subfolder, place.Filename)
	}
	if n.Chosen != "" {
		q.Queue(`insert into asset_public_ids (account, public_id, asset_id) values ($1, $2, $3) on conflict do nothing`,
			n.Account, string(n.Chosen), string(id))
	}
	q.Queue(insertAsset, string(id), n.Account, n.Hash[:], n.Size, n.ContentType, n.FilePath, place.Folder, place.Subfolder,
		place.Filename, named, n.Tags, n.Deadline, n.Width, n.Height, thumbnailOf(known), len(known) == 0)
	accountstore.QueueWithin(q, n.Account, st.limit, n.Size)
	if len(known) == 0 {
		m.intents = []outbox.Intent{ingestion(id, n.Account, n.Size)}
	}
	outboxstore.Queue(q, m.intents)
	event := asset.CreatedV1{
		Origin: n.Origin, Hash: n.Hash, Size: n.Size, ContentType: n.ContentType, FilePath: n.FilePath, Place: n.Place,
		Tags: n.Tags, Width: n.Width, Height: n.Height, CreatedAt: n.CreatedAt, ExpiresAt: n.Deadline,
		Name: n.Name, Metadata: []byte(n.Metadata), Preview: n.Preview, PublicID: n.Chosen,
	}
	a := createdAppend(id, n.Account, event, eventlog.Meta{Actor: n.Account, RequestID: n.RequestID})
	a.Events[0].ID = name.first
	for _, data := range known {
		a.Events = append(a.Events, observation(id, data))
	}
	var err error
	m.events, err = s.events.QueueAppend(q, []eventlog.Append{a})
	return m, err
}

// queueReference completes a reference with the properties of the account's newest asset with these bytes. The scan
// of the bytes applies to the new asset too.
func (s *Store) queueReference(ctx context.Context, db postgres.Tx, q *pgx.Batch, n asset.New, name naming, st *bytesState) (making, error) {
	n.Size, n.Width, n.Height = st.size, st.wide, st.high
	if n.ContentType == "" {
		n.ContentType = st.kind
	}
	known, _, _, err := s.known(ctx, db, st, n.Size)
	if err != nil {
		return making{}, err
	}
	return s.queueAsset(q, n, name, st, known...)
}

// queueUpload completes an upload. If the account has uploaded the bytes before and the store has had them since,
// their properties are known and no workflow verifies and scans them again.
func (s *Store) queueUpload(ctx context.Context, db postgres.Tx, q *pgx.Batch, n asset.New, name naming, st *bytesState) (making, error) {
	if st.like.id == "" {
		return s.queueAsset(q, n, name, st)
	}
	known, width, height, err := s.known(ctx, db, st, n.Size)
	if err != nil {
		return making{}, err
	}
	if len(known) > 0 && n.Width == 0 {
		n.Width, n.Height = width, height
	}
	return s.queueAsset(q, n, name, st, known...)
}

// queueAgain extends the deadline of an asset that is referenced again. same is false if the asset does not have all
// the requested values.
func (s *Store) queueAgain(ctx context.Context, db postgres.Tx, q *pgx.Batch, n asset.New, h history) (m making, same bool, err error) {
	state, err := s.foldOn(ctx, db, h)
	if err != nil || !n.Repeats(state) {
		return making{}, false, err
	}
	m = making{before: state, held: true}
	deadline := asset.LaterDeadline(state.ExpiresAt, n.Deadline)
	if state.ExpiresAt == nil || deadline != nil && deadline.Equal(*state.ExpiresAt) {
		return m, true, nil
	}
	q.Queue(`update files set expires_at = $2 where asset_id = $1`, string(h.id), deadline)
	m.events, err = s.events.QueueAppend(q, []eventlog.Append{extension(h.id, n.Account, deadline, eventlog.Meta{
		Actor: n.Account, RequestID: n.RequestID,
	})})
	return m, true, err
}

// extension returns the append of a later deadline.
func extension(id asset.ID, account string, deadline *time.Time, meta eventlog.Meta) eventlog.Append {
	return eventlog.Append{
		Stream: id.Stream(), Account: account, Expected: eventlog.AnyVersion, Meta: meta,
		Events: []eventlog.Event{{
			ID:   asset.EventID(id, asset.TypeRetentionExtended, deadline),
			Type: asset.TypeRetentionExtended, Data: asset.RetentionExtendedV1{ExpiresAt: deadline},
		}},
	}
}

// foldOn folds the events that were read and reads those after the first page.
func (s *Store) foldOn(ctx context.Context, db postgres.Queryer, h history) (asset.Asset, error) {
	state, err := eventlog.Fold(s.events.Types(), eventlog.All(h.events), asset.Asset{}, asset.Fold)
	if err != nil || len(h.events) < assetPage {
		return state, err
	}
	rest := eventlog.Read(ctx, eventstore.StreamsOf(db), h.id.Stream(), state.Version)
	return eventlog.Fold(s.events.Types(), rest, state, asset.Fold)
}
