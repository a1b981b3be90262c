package assetstore

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
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
	select hashtextextended(text, family) as key, family from unnest($1::text[], $2::bigint[]) as l (text, family)
	order by family, key) as ordered`

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

// selectStored reads for each of some bytes whether the account stores them. Deadlines are read for new assets that have one, since
// none in force is later than none.
const selectStored = `select u.n, ` + storesBytes + `, coalesce(d.never, false), d.latest
	from unnest($2::bytea[], $3::boolean[]) with ordinality as u (bytes, timed, n)
	left join lateral (select bool_or(expires_at is null) as never, max(expires_at) as latest` + ofEach + ` and u.timed) d on true`

// storesBytes tells whether the account stores the bytes of a row u. An "exists" would let the planner read all files of the account
// at once.
const storesBytes = `coalesce((select true` + ofEach + ` limit 1), false)`

// queueStoredBytes reads the deadlines of bytes.
func queueStoredBytes(q *pgx.Batch, account string, states []*bytesState) {
	hashes, timed := make([][]byte, len(states)), make([]bool, len(states))
	for i, st := range states {
		hashes[i], timed[i] = st.ref[:], st.timed
	}
	postgres.EachInto(q.Queue(selectStored, account, hashes, timed), func(row pgx.CollectableRow) error {
		var n int64
		var st bytesState
		if err := row.Scan(&n, &st.hadBytes, &st.unlimited, &st.deadline); err != nil {
			return err
		}
		of := states[n-1]
		of.hadBytes, of.unlimited, of.deadline = st.hadBytes, st.unlimited, st.deadline
		return nil
	})
}

// keyOfName returns the key of the lock that serialises uploads of one name in an account.
func keyOfName(account string, p asset.Place) string {
	return account + "\x1f" + p.Folder + "\x1f" + p.Subfolder + "/" + p.Filename
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
	postgres.ScanInto(q.Queue(`select asset_id::text`+ofReference+newest+` for update`, repeated...), &st.same.id)
	q.Queue(eventsOf+ofReference+newest+firstPage+`5`, append(repeated, assetPage)...).Query(st.same.read)
	postgres.ScanInto(q.Queue(`select asset_id::text, size, content_type, width, height`+ofBytes+newest, n.Account, n.Hash[:]),
		&st.like.id, &st.size, &st.kind, &st.width, &st.height)
	q.Queue(eventsOf+ofBytes+newest+firstPage+`3`, n.Account, n.Hash[:], assetPage).Query(st.like.read)
}

func (h *history) read(rows pgx.Rows) (err error) {
	h.events, err = pgx.CollectRows(rows, eventstore.ScanRecorded)
	return err
}

// Reference implements asset.Store.
func (s *Store) Reference(ctx context.Context, n asset.New) (made asset.Stored, same bool, err error) {
	limit, err := s.limit(ctx, n)
	if err != nil {
		return asset.Stored{}, false, err
	}
	row := newRow{New: n, naming: nameFor(n), limit: limit}
	var st *bytesState
	var m created
	written, err := s.events.Write(ctx, eventstore.Decision{
		What: "reference bytes", First: row.first,
		Read: func(q *pgx.Batch) {
			st = &bytesState{ref: n.Hash, timed: n.Deadline != nil}
			queueTaken(q, n, func(err error) error { return err })
			queueLocks(q, &n)
			queueStoredBytes(q, n.Account, []*bytesState{st})
			queueLikes(q, n, st)
		},
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) (err error) {
			if !st.hadBytes || st.like.id == "" {
				return fault.New(fault.NotFound, fault.CodeBlobNotFound, "no content with this hash is stored")
			}
			m, same = created{}, false
			if st.same.id != "" {
				if m, same, err = s.again(ctx, tx, c, n, st.same); err != nil || same {
					return err
				}
			}
			m, err = s.refer(ctx, tx, c, row, st)
			return err
		},
	})
	if err != nil {
		return asset.Stored{}, false, unknown(taken(err, n.Chosen))
	}
	if written.Earlier {
		m, same = created{hadBytes: true}, false
		if m.before, err = s.fold(ctx, s.pool, row.id); err != nil {
			return asset.Stored{}, false, uncertain(err)
		}
	}
	made, err = m.stored(s)
	return made, same && made.Asset.ID != row.id, err // an earlier attempt may have made it
}

// refer makes an asset with the properties of the account's newest asset with these bytes. The scan of the bytes applies to
// the new asset too.
func (s *Store) refer(ctx context.Context, tx postgres.Tx, c *eventstore.Changes, n newRow, st *bytesState) (m created, err error) {
	n.Size, n.Width, n.Height = st.size, st.width, st.height
	n.ContentType = cmp.Or(n.ContentType, st.kind)
	if n.known, _, _, err = s.known(ctx, tx, st, n.Size); err != nil {
		return created{}, err
	}
	return s.addOne(c, n, st)
}

// addOne adds one asset to c, with its row.
func (s *Store) addOne(c *eventstore.Changes, n newRow, st *bytesState) (created, error) {
	n.Deadline = st.inForce(n.Deadline)
	rows := &assetRows{account: n.Account}
	m, err := s.add(rows, c, n)
	m.hadBytes = st.hadBytes
	rows.write(c)
	return m, err
}

// again extends the deadline of an asset that is referenced again. same is false if the asset does not have all
// the requested values.
func (s *Store) again(ctx context.Context, tx postgres.Tx, c *eventstore.Changes, n asset.New, h history,
) (m created, same bool, err error) {
	state, err := s.foldOn(ctx, tx, h)
	if err != nil || !n.Repeats(state) {
		return created{}, false, err
	}
	m = created{before: state, hadBytes: true}
	deadline := asset.LaterDeadline(state.ExpiresAt, n.Deadline)
	if state.ExpiresAt == nil || deadline != nil && deadline.Equal(*state.ExpiresAt) {
		return m, true, nil
	}
	m.append, err = s.extend(c, h.id, n, deadline)
	return m, true, err
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

// takenID finds an asset of the account whose own id, which no client chose, is the id that a client chooses now.
const takenID = `select exists (select from streams where id = $1 and account = $2)
	and not exists (select from asset_public_ids where asset_id = $3)`

// queueTaken queues the statement that refuses a chosen id that is in use. If the account has chosen the id before,
// the append fails because the asset's stream exists. fail is called with the refusal, which fails the batch.
func queueTaken(q *pgx.Batch, n asset.New, fail func(error) error) {
	if n.Chosen == "" {
		return
	}
	q.Queue(takenID, asset.ID(n.Chosen).Stream(), n.Account, string(n.Chosen)).QueryRow(func(row pgx.Row) error {
		var taken bool
		if err := row.Scan(&taken); err != nil || !taken {
			return err
		}
		return fail(errTaken(nil, n.Chosen))
	})
}
