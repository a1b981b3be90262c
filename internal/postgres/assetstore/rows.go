package assetstore

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// newRow is a new asset with what its row and its events have beside the fields that its maker gives.
type newRow struct {
	asset.New
	naming
	limit    int64             // storage limit of the account; 0 = no limit
	known    *asset.VerifiedV1 // how its bytes were verified before, or nil
	producer *asset.Producer   // the node that saved it, or nil
	prefix   string            // the counter that its name was taken from
}

// add adds an asset to rows, and its events and its ingestion to c. Its ingestion determines the remaining properties of the
// bytes, unless they are known or a node made them.
func (s *Store) add(rows *assetRows, c *eventstore.Changes, n newRow) (created, error) {
	meta := eventlog.Meta{Actor: cmp.Or(n.By.Actor, n.Account), Reason: n.By.Reason, RequestID: n.RequestID}
	if n.producer != nil {
		meta.Actor = "job " + n.producer.Job
	}
	events := []eventlog.Event{{ID: n.first, Type: asset.TypeCreated, Data: asset.CreatedV1{
		Origin: n.Origin, Hash: n.Hash, Size: n.Size, ContentType: n.ContentType, FilePath: n.FilePath, Place: n.Place,
		Producer: n.producer, Tags: n.Tags, Width: n.Width, Height: n.Height, CreatedAt: n.CreatedAt, ExpiresAt: n.Deadline,
		Name: n.Name, Metadata: []byte(n.Metadata), Preview: n.Preview, PublicID: n.Chosen,
	}}}
	if n.known != nil {
		events = append(events, observation(n.id, *n.known))
	}
	p, err := s.events.Prepare(eventlog.Append{Stream: n.id.Stream(), Account: n.Account, Expected: 0, Meta: meta, Events: events})
	if err != nil {
		return created{}, err
	}
	open := n.known == nil && n.producer == nil
	if open {
		c.Start(ingestion(n.id, n.Account, n.Size))
	}
	c.AppendPrepared(p)
	rows.add(n, open)
	return created{append: p, rows: rows}, nil
}

// ingestion returns the intent to ingest an asset in the background.
func ingestion(id asset.ID, account string, size int64) outbox.Intent {
	return outbox.New(outbox.StartIngest, id.WorkflowID(), asset.IngestRef{Asset: id, Account: account, Size: size})
}

// assetRows are the rows of new assets of one account.
type assetRows struct {
	account string
	limit   int64 // the lowest storage limit that was read for one of them; 0 = no limit
	size    int64 // of all of them

	ids, kinds, folders, subfolders, filenames []string
	hashes, thumbnails                         [][]byte
	sizes                                      []int64
	paths                                      []*string
	tags                                       []string // JSON
	named, open, operators                     []bool
	deadlines                                  []*time.Time
	widths, heights                            []int
	jobs, nodes                                []string // of what nodes saved, which shares no transaction with anything else
	runs, indices                              []int

	chosen   [][2]string          // public ids with their assets
	names    map[asset.Place]int  // the newest asset of each name
	free     map[asset.Place]bool // names that are free: nobody loses them
	prefixes []string             // the counter of each name
	places   []asset.Place        // the name of each asset that has one

	createdAt time.Time // after the commit
}

// add adds the row of an asset. Of several of one name, the last one has it.
func (r *assetRows) add(n newRow, open bool) {
	place := asset.Place{Folder: string(node.FolderInput)}
	if n.Place != nil {
		place = *n.Place
		if r.names == nil {
			r.names = map[asset.Place]int{}
		}
		if older, ok := r.names[place]; ok {
			r.named[older] = false
		}
		r.names[place] = len(r.ids)
		r.places, r.prefixes = append(r.places, place), append(r.prefixes, n.prefix)
	}
	if n.limit > 0 && (r.limit == 0 || n.limit < r.limit) {
		r.limit = n.limit
	}
	r.size += n.Size
	path := n.FilePath
	if p := n.producer; p != nil { // whose path is not one that a client gave
		path = nil
		r.jobs, r.nodes, r.runs, r.indices = append(r.jobs, p.Job), append(r.nodes, p.Node), append(r.runs, p.Run), append(r.indices, p.Index)
	}
	r.ids, r.kinds, r.paths = append(r.ids, string(n.id)), append(r.kinds, n.ContentType), append(r.paths, path)
	r.folders, r.subfolders = append(r.folders, place.Folder), append(r.subfolders, place.Subfolder)
	r.filenames = append(r.filenames, place.Filename)
	r.hashes, r.thumbnails, r.sizes = append(r.hashes, n.Hash[:]), append(r.thumbnails, thumbnailOf(n.known)), append(r.sizes, n.Size)
	tags, err := json.Marshal(tagsOf(n.New))
	if err != nil {
		panic(err) // strings always marshal
	}
	r.tags, r.named, r.open = append(r.tags, string(tags)), append(r.named, n.Place != nil), append(r.open, open)
	r.operators = append(r.operators, n.By.Actor != "")
	r.deadlines, r.widths, r.heights = append(r.deadlines, n.Deadline), append(r.widths, n.Width), append(r.heights, n.Height)
	if n.Chosen != "" {
		r.chosen = append(r.chosen, [2]string{string(n.Chosen), string(n.id)})
	}
}

// tagsOf returns the tags of a new asset; the column knows no null.
func tagsOf(n asset.New) []string {
	if n.Tags == nil {
		return []string{}
	}
	return n.Tags
}

// thumbnailOf returns the thumbnail that an event names, or nil.
func thumbnailOf(known *asset.VerifiedV1) []byte {
	if known == nil || known.Scan == nil || known.Scan.Thumbnail.IsZero() {
		return nil
	}
	return known.Scan.Thumbnail[:]
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
// rectangular. An absent array is a column of nulls.
const insertAssets = `insert into files (account, asset_id, hash, size, content_type, file_path, folder, subfolder, filename, named,
		tags, expires_at, width, height, thumbnail, ingest_since, job_id, run, node, idx, operators)
	select $1, id, hash, size, kind, path, folder, subfolder, filename, named,
		array(select json_array_elements_text(tags)), expires_at, width, height, thumbnail, case when open then now() end, job, run, node, idx,
		operators
	from unnest($2::uuid[], $3::bytea[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::boolean[],
			$11::json[], $12::timestamptz[], $13::int[], $14::int[], $15::bytea[], $16::boolean[], $17::uuid[], $18::int[], $19::text[], $20::int[],
			$21::boolean[])
		as n (id, hash, size, kind, path, folder, subfolder, filename, named, tags, expires_at, width, height, thumbnail, open,
			job, run, node, idx, operators)
	returning created_at`

// advanceCounters raises the existing counters of other prefixes to which a new name belongs.
const advanceCounters = `update file_counters c set last = greatest(c.last, n.number)
	from unnest($4::text[], $5::bigint[]) as n (prefix, number)
	where c.account = $1 and c.folder = $2 and c.subfolder = $3 and c.prefix = n.prefix and c.prefix <> $6`

// write adds the statements that write the rows to c.
func (r *assetRows) write(c *eventstore.Changes) {
	if len(r.ids) == 0 {
		return
	}
	r.writeNames(c)
	for _, chosen := range r.chosen {
		c.Queue(`insert into asset_public_ids (account, public_id, asset_id) values ($1, $2, $3) on conflict do nothing`,
			r.account, chosen[0], chosen[1])
	}
	postgres.ScanInto(c.Queue(insertAssets, r.account, r.ids, r.hashes, r.sizes, r.kinds, r.paths, r.folders, r.subfolders, r.filenames,
		r.named, r.tags, r.deadlines, r.widths, r.heights, r.thumbnails, r.open, r.jobs, r.runs, r.nodes, r.indices, r.operators,
	), &r.createdAt)
	accountstore.QueueWithin(c, r.account, r.limit, r.size)
	c.Queue(usualPlans)
}

// writeNames takes names from older assets, and raises counters.
func (r *assetRows) writeNames(c *eventstore.Changes) {
	var folders, subfolders, filenames []string
	for i, p := range r.places {
		if !r.free[p] {
			folders, subfolders, filenames = append(folders, p.Folder), append(subfolders, p.Subfolder), append(filenames, p.Filename)
		}
		prefixes, numbers := files.Counters(p.Filename)
		own := r.prefixes[i]
		if p.Folder == string(node.FolderInput) || len(prefixes) == 0 || len(prefixes) == 1 && prefixes[0] == own {
			continue // the input folder has no counters
		}
		c.Queue(advanceCounters, r.account, p.Folder, p.Subfolder, prefixes, numbers, own)
	}
	if len(filenames) > 0 {
		c.Queue(takeNames, r.account, folders, subfolders, filenames)
	}
}

// created is an asset that a transaction makes or finds. Its state is known after the commit.
type created struct {
	before   asset.Asset
	append   *eventstore.Prepared // nil = no further events
	rows     *assetRows           // its row is one of them; nil = it was there
	hadBytes bool
}

// state folds the recorded events into the state.
func (m created) state(s *Store) (asset.Asset, error) {
	if m.append == nil {
		return m.before, nil
	}
	state, err := eventlog.Fold(s.events.Types(), eventlog.All(m.append.Recorded()), m.before, asset.Fold)
	return state, uncertain(err)
}

// stored is state with whether the account had the bytes before.
func (m created) stored(s *Store) (asset.Stored, error) {
	state, err := m.state(s)
	return asset.Stored{Asset: state, HadBytes: m.hadBytes}, err
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
