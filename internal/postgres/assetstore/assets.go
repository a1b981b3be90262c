// Package assetstore stores assets and files in PostgreSQL: the names of an account's files, the references to blobs,
// and exports and downloads. It promises that a name belongs to one file at a time, and that a blob is not collected
// while something refers to it. Blob stores keep the bytes.
package assetstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/committer"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Store records the assets and the files of accounts. It implements asset.Store and files.Store. Every decision locks in this
// order: the name, the bytes within the account, rows, and then the log.
type Store struct {
	pool    *pgxpool.Pool
	events  *eventstore.Store
	storage *accountstore.Storage // nil = no limit

	creations *eventstore.Joined[*upload]
	savings   *eventstore.Joined[*saving]
	questions *committer.Committer[*question]
}

var (
	_ asset.Store = (*Store)(nil)
	_ files.Store = (*Store)(nil)
)

// New returns the asset store on pool that appends through events.
func New(pool *pgxpool.Pool, events *eventstore.Store) *Store {
	s := &Store{pool: pool, events: events}
	s.creations = eventstore.NewJoined(events, committer.Options{}, s.createAll)
	s.savings = eventstore.NewJoined(events, committer.Options{}, s.saveAll)
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

// observation returns the event of a finding about an asset's bytes.
func observation(id asset.ID, event any) eventlog.Event {
	eventType := asset.TypeVerified
	if _, scanned := event.(asset.ScannedV1); scanned {
		eventType = asset.TypeScanned
	}
	return eventlog.Event{ID: asset.EventID(id, eventType), Type: eventType, Data: event}
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

// lockFile locks the row of a live file of an account.
const lockFile = `select ` + pinnedByJob + ` from files where asset_id = $1 and account = $2 and ` + alive + ` for update`

// file is the row of a file that a decision changes.
type file struct{ there, inUse bool }

// queue locks the row.
func (f *file) queue(q *pgx.Batch, account string, id asset.ID) {
	*f = file{}
	postgres.FindInto(q.Queue(lockFile, string(id), account), &f.there, &f.inUse)
}

func (f *file) check() error {
	if !f.there {
		return fault.New(fault.NotFound, fault.CodeNotFound, "there is no such asset")
	}
	return nil
}

// Delete implements asset.Store.
func (s *Store) Delete(ctx context.Context, account string, id asset.ID, by asset.By, requestID string) error {
	var f file
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "delete an asset", Repeats: true,
		Read: func(q *pgx.Batch) { f.queue(q, account, id) },
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if err := f.check(); err != nil {
				return err
			}
			if f.inUse {
				return fault.New(fault.Conflict, fault.CodeAssetInUse, "an unfinished job needs this asset")
			}
			c.Queue(`delete from files where asset_id = $1`, string(id))
			meta := eventlog.Meta{Actor: cmp.Or(by.Actor, account), Reason: by.Reason, RequestID: requestID}
			return c.Append(ending(id, account, asset.TypeDeleted, asset.DeletedV1{}, meta))
		},
	})
	return err
}

// ending returns the append that ends an asset.
func ending(id asset.ID, account, eventType string, event any, meta eventlog.Meta) eventlog.Append {
	return eventlog.AppendTo(id.Stream(), account, meta,
		eventlog.Event{ID: asset.EventID(id, eventType), Type: eventType, Data: event}).Closing()
}

// Change implements asset.Store. The lock of the row serialises the changes and the deletion of an asset.
func (s *Store) Change(ctx context.Context, account string, id asset.ID, change asset.Change, requestID string,
) (asset.Asset, []asset.Event, error) {
	var f file
	var preview bool
	h := history{id: id}
	var state asset.Asset
	var changes []asset.Event
	written, err := s.events.Write(ctx, eventstore.Decision{
		What: "change an asset",
		Read: func(q *pgx.Batch) {
			f.queue(q, account, id)
			preview = true
			if p := change.Preview; p != nil && *p != "" {
				postgres.ScanInto(q.Queue(`select exists (select from files where account = $1 and `+alive+hasPublicID+`)`, account, string(*p)),
					&preview)
			}
			q.Queue(eventstore.SelectEvents+` where stream = $1 order by version limit $2`, id.Stream(), assetPage).Query(h.read)
		},
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) (err error) {
			if err := f.check(); err != nil {
				return err
			}
			if !preview {
				return fault.New(fault.Invalid, fault.CodeInvalidPreview, "preview_id names no file of this account")
			}
			if state, err = s.foldOn(ctx, tx, h); err != nil {
				return err
			}
			if changes, err = state.ChangeEvents(change); err != nil {
				return err
			}
			return changed(c, state, changes, eventlog.Meta{Actor: account, RequestID: requestID})
		},
	})
	if err != nil {
		return asset.Asset{}, nil, err
	}
	for i, rec := range written.Events {
		state = asset.Fold(state, rec, changes[i].Data)
	}
	return state, changes, nil
}

// hasPublicID is the condition that a file of account $1 has the public id $2.
const hasPublicID = ` and asset_id = coalesce((select asset_id from asset_public_ids where account = $1 and public_id = $2::uuid), $2::uuid)
	and not exists (select from asset_public_ids p where p.asset_id = files.asset_id and p.public_id <> $2::uuid)`

// changed records the events of a change, and updates the row.
func changed(c *eventstore.Changes, state asset.Asset, changes []asset.Event, meta eventlog.Meta) error {
	if len(changes) == 0 {
		return eventstore.ErrNothing
	}
	events := make([]eventlog.Event, len(changes))
	after := state
	for i, f := range changes { // the positions are not known before the append, but tags and type do not depend on them
		events[i] = eventlog.NewEvent(f.Type, f.Data)
		after = asset.Fold(after, eventlog.Recorded{Stream: state.ID.Stream(), Version: state.Version + int64(i) + 1}, f.Data)
	}
	if after.ContentType != state.ContentType || !slices.Equal(after.Tags, state.Tags) {
		c.Queue(`update files set content_type = $2, tags = $3 where asset_id = $1`,
			string(state.ID), after.ContentType, append([]string{}, after.Tags...))
	}
	return c.Append(eventlog.AppendTo(state.ID.Stream(), state.Account, meta, events...))
}

// question asks whether an account has bytes.
type question struct {
	hash   blob.Ref
	stored bool
}

// HasBytes implements asset.Store. Questions of an account that are asked while another one is answered are one query.
func (s *Store) HasBytes(ctx context.Context, account string, hash blob.Ref) (bool, error) {
	q := &question{hash: hash}
	err := s.questions.Do(ctx, account, len(hash), q)
	return q.stored, postgres.Classify(err, "look for bytes")
}

// selectAnswers reads for each of some bytes whether the account stores them.
const selectAnswers = `select ` + storesBytes + ` from unnest($2::bytea[]) with ordinality as u (bytes, n) order by n`

// answerAll answers questions of one account.
func (s *Store) answerAll(ctx context.Context, account string, all []*question) []error {
	if len(all) == 1 { // whose plan is kept
		q := all[0]
		return []error{s.pool.QueryRow(ctx, `select exists (select`+ofBytes+`)`, account, q.hash[:]).Scan(&q.stored)}
	}
	hashes, failed := make([][]byte, len(all)), make([]error, len(all))
	for i, q := range all {
		hashes[i] = q.hash[:]
	}
	answers, err := postgres.Collect(ctx, s.pool, "look for bytes", pgx.RowTo[bool], selectAnswers, account, hashes)
	for i, q := range all {
		if failed[i] = err; err == nil {
			q.stored = answers[i]
		}
	}
	return failed
}
