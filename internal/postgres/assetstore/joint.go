package assetstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/committer"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/outboxstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// New assets of one account that arrive while its last transaction is under way are committed together: one statement for
// all locks, one for each table, one append, one commit. Each has an outcome of its own: it is what it would have been, had
// the assets been made one after the other.

// newAsset is one attempt at a new asset, as a part of a joint transaction.
type newAsset struct {
	asset.New
	naming
	limit int64 // storage limit of the account; 0 = no limit

	createdAsset
	err error // why this asset alone cannot be made, in the transaction under way
}

// rowSize is about how many bytes a new asset writes beside what its owner sets.
const rowSize = 1024

// bytes returns about how many bytes the asset writes.
func (c *newAsset) bytes() int {
	n := rowSize + len(c.Metadata) + len(c.Name)
	for _, tag := range c.Tags {
		n += len(tag)
	}
	return n
}

// createAll makes assets of one account, in one transaction where none of them is refused, and returns the outcome of each.
func (s *Store) createAll(ctx context.Context, account string, all []*newAsset) []error {
	return committer.Jointly(all, func(some []*newAsset) ([]error, error) {
		err := s.createJointly(ctx, account, some)
		own := make([]error, len(some))
		for i, c := range some {
			own[i] = c.err
		}
		return own, err
	})
}

// createJointly makes assets in one transaction, all of them or none.
func (s *Store) createJointly(ctx context.Context, account string, all []*newAsset) error {
	found := make(map[blob.Ref]*bytesState, len(all))
	var states, stored []*bytesState
	for _, c := range all {
		c.err, c.createdAsset = nil, createdAsset{}
		st := found[c.Hash]
		if st == nil {
			st = &bytesState{ref: c.Hash}
			found[c.Hash], states = st, append(states, st)
		}
		st.timed = st.timed || c.Deadline != nil
		if !c.Fresh && !st.stored {
			st.stored, stored = true, append(stored, st)
		}
	}
	look := func(q *pgx.Batch) {
		for _, c := range all {
			queueTaken(q, c.New, func(err error) { c.err = err })
		}
		queueLocks(q, newOf(all)...)
		queueStoredBytes(q, account, states)
		queueKnown(q, account, stored)
	}
	var rows assetRows
	err := postgres.Pipelined(ctx, s.pool, look, func(db postgres.Tx, q *pgx.Batch) error {
		rows = assetRows{account: account}
		for _, c := range all {
			if c.err = s.addUpload(ctx, db, &rows, c, found[c.Hash]); c.err != nil {
				return c.err
			}
		}
		return s.queueRows(q, &rows)
	})
	if err == nil {
		s.events.Announce(rows.queued.Recorded())
	}
	return err
}

func newOf(all []*newAsset) []*asset.New {
	news := make([]*asset.New, len(all))
	for i, c := range all {
		news[i] = &c.New
	}
	return news
}

// addUpload adds the rows of an upload. If the account has uploaded the bytes before and the store has had them since,
// their properties are known and no workflow verifies and scans them again.
func (s *Store) addUpload(ctx context.Context, db postgres.Tx, rows *assetRows, c *newAsset, st *bytesState) error {
	n := c.New
	if c.Fresh || st.like.id == "" {
		return s.addAsset(rows, n, c.naming, c.limit, st, &c.createdAsset, nil)
	}
	known, width, height, err := s.known(ctx, db, st, n.Size)
	if err != nil {
		return err
	}
	if known != nil && n.Width == 0 {
		n.Width, n.Height = width, height
	}
	return s.addAsset(rows, n, c.naming, c.limit, st, &c.createdAsset, known)
}

// assetRows are the rows of new assets of one account, with their events.
type assetRows struct {
	account string
	limit   int64 // the lowest storage limit that was read for one of them; 0 = no limit
	size    int64 // of all of them

	ids, kinds, folders, subfolders, filenames []string
	hashes, thumbnails                         [][]byte
	sizes                                      []int64
	paths                                      []*string
	tags                                       []string // JSON
	named, open                                []bool
	deadlines                                  []*time.Time
	widths, heights                            []int

	chosen  [][2]string         // public ids with their assets
	names   map[asset.Place]int // the newest asset of each name
	intents []outbox.Intent
	appends []*eventstore.Prepared
	makings []*createdAsset
	queued  *eventstore.Queued // appends, once they are queued
}

// add adds the row of an asset. Of several of one name, the last one has it.
func (r *assetRows) add(n asset.New, id asset.ID, limit int64, known *asset.VerifiedV1) {
	place := asset.Place{Folder: "input"}
	if n.Place != nil {
		place = *n.Place
		if r.names == nil {
			r.names = map[asset.Place]int{}
		}
		if older, ok := r.names[place]; ok {
			r.named[older] = false
		}
		r.names[place] = len(r.ids)
	}
	if limit > 0 && (r.limit == 0 || limit < r.limit) {
		r.limit = limit
	}
	r.size += n.Size
	r.ids, r.kinds, r.paths = append(r.ids, string(id)), append(r.kinds, n.ContentType), append(r.paths, n.FilePath)
	r.folders, r.subfolders, r.filenames = append(r.folders, place.Folder), append(r.subfolders, place.Subfolder), append(r.filenames, place.Filename)
	r.hashes, r.thumbnails, r.sizes = append(r.hashes, n.Hash[:]), append(r.thumbnails, thumbnailOf(known)), append(r.sizes, n.Size)
	tags, err := json.Marshal(n.Tags)
	if err != nil {
		panic(err) // strings always marshal
	}
	r.tags, r.named, r.open = append(r.tags, string(tags)), append(r.named, n.Place != nil), append(r.open, known == nil)
	r.deadlines, r.widths, r.heights = append(r.deadlines, n.Deadline), append(r.widths, n.Width), append(r.heights, n.Height)
	if n.Chosen != "" {
		r.chosen = append(r.chosen, [2]string{string(n.Chosen), string(id)})
	}
}

// takeNames takes names from older assets. Several rows are locked in order of their ids, as everywhere. Each name is looked up by
// itself (offset 0): a join would be planned while the account has few files, and the plan kept while it stores more.
const takeNames = `update files set named = false where asset_id = any(array(
		select asset_id from files where asset_id = any(array(
			select f.asset_id from unnest($2::text[], $3::text[], $4::text[]) as p (folder, subfolder, filename)
			cross join lateral (select asset_id from files where account = $1 and named and folder = p.folder
				and subfolder = p.subfolder and filename = p.filename offset 0) f))
		order by asset_id for no key update))`

// insertAssets writes rows from one array for each column. Lists are passed as JSON, because an array of arrays must be
// rectangular.
const insertAssets = `insert into files (account, asset_id, hash, size, content_type, file_path, folder, subfolder, filename, named,
		tags, expires_at, width, height, thumbnail, ingest_since)
	select $1, id, hash, size, kind, path, folder, subfolder, filename, named,
		array(select json_array_elements_text(tags)), expires_at, width, height, thumbnail, case when open then now() end
	from unnest($2::uuid[], $3::bytea[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::boolean[],
			$11::json[], $12::timestamptz[], $13::int[], $14::int[], $15::bytea[], $16::boolean[])
		as n (id, hash, size, kind, path, folder, subfolder, filename, named, tags, expires_at, width, height, thumbnail, open)`

// queueRows queues what writes the rows, and the append of their events behind them.
func (s *Store) queueRows(q *pgx.Batch, r *assetRows) error {
	if len(r.names) > 0 {
		q.Queue(takeNames, r.account, r.folders, r.subfolders, r.filenames)
	}
	for _, c := range r.chosen {
		q.Queue(`insert into asset_public_ids (account, public_id, asset_id) values ($1, $2, $3) on conflict do nothing`, r.account, c[0], c[1])
	}
	q.Queue(insertAssets, r.account, r.ids, r.hashes, r.sizes, r.kinds, r.paths, r.folders, r.subfolders, r.filenames, r.named,
		r.tags, r.deadlines, r.widths, r.heights, r.thumbnails, r.open)
	accountstore.QueueWithin(q, r.account, r.limit, r.size)
	outboxstore.Queue(q, r.intents)
	q.Queue(usualPlans)
	var err error
	if r.queued, err = s.events.QueuePrepared(q, r.appends); err != nil {
		return err
	}
	intents := r.intents
	for i, m := range r.makings {
		m.queued = r.queued
		if r.open[i] {
			m.intents, intents = intents[:1:1], intents[1:]
		}
	}
	return nil
}
