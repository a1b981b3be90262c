package assetstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// bytesState is what a transaction that makes assets reads about some bytes, after taking its locks.
type bytesState struct {
	ref    blob.Ref
	timed  bool // an asset is made of them that has a deadline
	stored bool // an asset is made of them for which the store had the bytes

	hadBytes  bool
	unlimited bool       // an asset with these bytes has no deadline
	deadline  *time.Time // the latest deadline of these bytes

	same   history // the newest live asset with these bytes, path and tags
	like   history // the newest live asset with these bytes
	size   int64   // fields of like
	kind   string
	width  int
	height int
}

// history is an asset ("" = none) with the first page of its events.
type history struct {
	id     asset.ID
	events []eventlog.Recorded
}

// lockAll takes locks in one order for all transactions: names before bytes. It is a statement of its own, so that later reads
// see what the previous holders committed.
const lockAll = `select pg_advisory_xact_lock(key) from (
	select hashtextextended(text, family) as key, family from unnest($1::text[], $2::bigint[]) as l (text, family) order by family, key) as ordered`

// keepPlans has the next statements of a transaction planned once in a session, until usualPlans. For an array of one element they
// would be planned anew each time, which takes ten times as long as to run them.
const (
	keepPlans  = `set local plan_cache_mode = force_generic_plan`
	usualPlans = `set local plan_cache_mode = default`
)

// queueLocks locks names and bytes within an account until the transaction ends.
func queueLocks(q *pgx.Batch, all ...*asset.New) {
	q.Queue(keepPlans)
	var texts []string
	var families []int64
	for _, n := range all {
		if n.Place != nil {
			texts, families = append(texts, keyOfName(n.Account, *n.Place)), append(families, lockOfNames)
		}
		texts, families = append(texts, n.Account+"\x1f"+n.Hash.Hex()), append(families, lockOfBytes)
	}
	q.Queue(lockAll, texts, families)
}

// selectHeld reads for each of some bytes whether the account holds them. Deadlines are read for new assets that have one, since
// none in force is later than none.
const selectHeld = `select u.n, ` + held + `, coalesce(d.never, false), d.latest
	from unnest($2::bytea[], $3::boolean[]) with ordinality as u (bytes, timed, n)
	left join lateral (select bool_or(expires_at is null) as never, max(expires_at) as latest` + ofEach + ` and u.timed) d on true`

// held is whether the account holds the bytes of a row u. It is no "exists", for which all files of the account may be read at once.
const held = `coalesce((select true` + ofEach + ` limit 1), false)`

// queueStoredBytes reads the deadlines of bytes.
func queueStoredBytes(q *pgx.Batch, account string, states []*bytesState) {
	hashes, timed := make([][]byte, len(states)), make([]bool, len(states))
	for i, st := range states {
		hashes[i], timed[i] = st.ref[:], st.timed
	}
	q.Queue(selectHeld, account, hashes, timed).Query(func(rows pgx.Rows) error {
		var n int64
		var st bytesState
		_, err := pgx.ForEachRow(rows, []any{&n, &st.hadBytes, &st.unlimited, &st.deadline}, func() error {
			of := states[n-1]
			of.hadBytes, of.unlimited, of.deadline = st.hadBytes, st.unlimited, st.deadline
			return nil
		})
		return err
	})
}

// inForce returns the later of deadline and the deadline of the bytes: a deadline never moves to an earlier time; nil
// = never.
func (st *bytesState) inForce(deadline *time.Time) *time.Time {
	switch {
	case !st.hadBytes:
		return deadline
	case st.unlimited:
		return nil
	default:
		return asset.LaterDeadline(deadline, st.deadline)
	}
}

// Conditions on the account's files with some bytes. The row of an asset that is returned again is locked, so that
// its deletion comes before or waits.
const (
	ofBytes     = ` from files where account = $1 and hash = $2 and not rejected and ` + alive
	ofEach      = ` from files where account = $1 and hash = u.bytes and not rejected and ` + alive // of several bytes, the rows u
	ofReference = ofBytes + ` and file_path is not distinct from $3 and tags = $4 and job_id is null`
	newest      = ` order by created_at desc, asset_id limit 1`
	eventsOf    = eventstore.SelectEvents + ` where stream = (select 'asset-' || asset_id`
	firstPage   = `) order by version limit $`
)

// made counts a new asset with a deadline that is in force.
func (st *bytesState) made(deadline *time.Time) {
	st.hadBytes, st.unlimited, st.deadline = true, deadline == nil, deadline
}

// queueLikes reads the asset that a reference repeats, if any, and the newest asset with the same bytes.
func queueLikes(q *pgx.Batch, n asset.New, st *bytesState) {
	repeated := []any{n.Account, n.Hash[:], n.FilePath, tagsOf(n)}
	q.Queue(`select asset_id::text`+ofReference+newest+` for update`, repeated...).
		QueryRow(func(row pgx.Row) error { return ignoreNoRows(row.Scan(&st.same.id)) })
	q.Queue(eventsOf+ofReference+newest+firstPage+`5`, append(repeated, assetPage)...).Query(st.same.read)
	q.Queue(`select asset_id::text, size, content_type, width, height`+ofBytes+newest, n.Account, n.Hash[:]).
		QueryRow(func(row pgx.Row) error {
			return ignoreNoRows(row.Scan(&st.like.id, &st.size, &st.kind, &st.width, &st.height))
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

// Create implements asset.Store.
func (s *Store) Create(ctx context.Context, n asset.New) (asset.Stored, error) {
	limit, err := s.limit(ctx, n)
	if err != nil {
		return asset.Stored{}, err
	}
	name := nameFor(n)
	var tried []*newAsset
	recorded, err := s.events.RetryAmbiguous(ctx, name.first, func(ctx context.Context) error {
		c := &newAsset{New: n, naming: name, limit: limit}
		tried = append(tried, c)
		return s.creations.Do(ctx, n.Account, c.bytes(), c)
	})
	switch {
	case err != nil:
		return asset.Stored{}, unknown(postgres.Classify(taken(err, n.Chosen), "create an asset"))
	case recorded:
		return s.recorded(ctx, name.id, tried[0].hadBytes) // a later attempt may have found the asset of the first one
	}
	return tried[len(tried)-1].made(s)
}

// Reference implements asset.Store.
func (s *Store) Reference(ctx context.Context, n asset.New) (made asset.Stored, same bool, err error) {
	limit, err := s.limit(ctx, n)
	if err != nil {
		return asset.Stored{}, false, err
	}
	name := nameFor(n)
	var m createdAsset
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
func (s *Store) reference(ctx context.Context, n asset.New, name naming, limit int64) (m createdAsset, same bool, err error) {
	st := bytesState{ref: n.Hash, timed: n.Deadline != nil}
	look := func(q *pgx.Batch) {
		queueTaken(q, n, func(error) {})
		queueLocks(q, &n)
		queueStoredBytes(q, n.Account, []*bytesState{&st})
		queueLikes(q, n, &st)
	}
	err = postgres.Pipelined(ctx, s.pool, look, func(db postgres.Tx, q *pgx.Batch) (err error) {
		switch {
		case !st.hadBytes || st.like.id == "":
			return fault.New(fault.NotFound, fault.CodeBlobNotFound, "no content with this hash is stored")
		case st.same.id != "":
			m, same, err = s.queueAgain(ctx, db, q, n, st.same)
		}
		if err == nil && !same {
			m, err = s.queueReference(ctx, db, q, n, name, limit, &st)
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

// createdAsset is an asset whose events are queued. Its state is known when the events are placed.
type createdAsset struct {
	before   asset.Asset
	append   *eventstore.Prepared // nil = no further events
	queued   *eventstore.Queued
	hadBytes bool
	intents  []outbox.Intent
}

// made folds the placed events into the state.
func (m createdAsset) made(s *Store) (asset.Stored, error) {
	state := m.before
	if m.append != nil {
		var err error
		if state, err = eventlog.Fold(s.events.Types(), eventlog.All(m.queued.RecordedOf(m.append)), state, asset.Fold); err != nil {
			return asset.Stored{}, fmt.Errorf("%w: %w", asset.ErrUncertain, err)
		}
	}
	return asset.Stored{Asset: state, HadBytes: m.hadBytes, Intents: m.intents}, nil
}

// addAsset adds the row of a new asset, its event, and what else its making needs. Its ingestion determines the remaining
// properties of the bytes, unless they are known.
func (s *Store) addAsset(rows *assetRows, n asset.New, name naming, limit int64, st *bytesState, m *createdAsset, known *asset.VerifiedV1) (err error) {
	n.Deadline, n.Tags = st.inForce(n.Deadline), tagsOf(n)
	m.hadBytes = st.hadBytes
	st.made(n.Deadline)
	rows.add(n, name.id, limit, known)
	if known == nil {
		rows.intents = append(rows.intents, ingestion(name.id, n.Account, n.Size))
	}
	event := asset.CreatedV1{
		Origin: n.Origin, Hash: n.Hash, Size: n.Size, ContentType: n.ContentType, FilePath: n.FilePath, Place: n.Place,
		Tags: n.Tags, Width: n.Width, Height: n.Height, CreatedAt: n.CreatedAt, ExpiresAt: n.Deadline,
		Name: n.Name, Metadata: []byte(n.Metadata), Preview: n.Preview, PublicID: n.Chosen,
	}
	a := createdAppend(name.id, n.Account, event, eventlog.Meta{Actor: n.Account, RequestID: n.RequestID})
	a.Events[0].ID = name.first
	if known != nil {
		a.Events = append(a.Events, observation(name.id, *known))
	}
	m.append, err = s.events.Prepare(a)
	rows.appends, rows.makings = append(rows.appends, m.append), append(rows.makings, m)
	return err
}

// queueAsset writes the row of one new asset, takes over its name, and appends the event.
func (s *Store) queueAsset(q *pgx.Batch, n asset.New, name naming, limit int64, st *bytesState, known *asset.VerifiedV1) (createdAsset, error) {
	var m createdAsset
	rows := assetRows{account: n.Account}
	if err := s.addAsset(&rows, n, name, limit, st, &m, known); err != nil {
		return createdAsset{}, err
	}
	err := s.queueRows(q, &rows)
	return m, err
}

// queueReference completes a reference with the properties of the account's newest asset with these bytes. The scan
// of the bytes applies to the new asset too.
func (s *Store) queueReference(ctx context.Context, db postgres.Tx, q *pgx.Batch, n asset.New, name naming, limit int64, st *bytesState) (createdAsset, error) {
	n.Size, n.Width, n.Height = st.size, st.width, st.height
	if n.ContentType == "" {
		n.ContentType = st.kind
	}
	known, _, _, err := s.known(ctx, db, st, n.Size)
	if err != nil {
		return createdAsset{}, err
	}
	return s.queueAsset(q, n, name, limit, st, known)
}

// queueAgain extends the deadline of an asset that is referenced again. same is false if the asset does not have all
// the requested values.
func (s *Store) queueAgain(ctx context.Context, db postgres.Tx, q *pgx.Batch, n asset.New, h history) (m createdAsset, same bool, err error) {
	state, err := s.foldOn(ctx, db, h)
	if err != nil || !n.Repeats(state) {
		return createdAsset{}, false, err
	}
	m = createdAsset{before: state, hadBytes: true}
	deadline := asset.LaterDeadline(state.ExpiresAt, n.Deadline)
	if state.ExpiresAt == nil || deadline != nil && deadline.Equal(*state.ExpiresAt) {
		return m, true, nil
	}
	q.Queue(`update files set expires_at = $2 where asset_id = $1`, string(h.id), deadline)
	m.append, err = s.events.Prepare(extension(h.id, n.Account, deadline, eventlog.Meta{Actor: n.Account, RequestID: n.RequestID}))
	if err == nil {
		m.queued, err = s.events.QueuePrepared(q, []*eventstore.Prepared{m.append})
	}
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
