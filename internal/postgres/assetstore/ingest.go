package assetstore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Get returns the state of an asset of the account from its stream, or false if the asset does not exist or has
// ended.
func (s *Store) Get(ctx context.Context, account string, id asset.ID) (asset.Asset, bool, error) {
	state, err := s.fold(ctx, s.pool, id)
	if err != nil {
		return asset.Asset{}, false, postgres.Classify(err, "read asset "+string(id))
	}
	return state, state.Version > 0 && state.Account == account && !state.State.Gone(), nil
}

// RecordVerified records that the stored bytes of an asset were read and hashed, and their scan where the event has one. It
// does not change an asset that has ended.
func (s *Store) RecordVerified(ctx context.Context, account string, id asset.ID, event asset.VerifiedV1) error {
	return s.record(ctx, account, asset.Ingested{Asset: id, Verified: event}, event)
}

// RecordScan records the result of a scan, and makes rejected content unreadable.
func (s *Store) RecordScan(ctx context.Context, account string, id asset.ID, scan asset.Scan) error {
	return s.record(ctx, account, asset.Ingested{Asset: id, Verified: asset.VerifiedV1{OK: true, Scan: &scan}}, asset.ScannedV1{Scan: scan})
}

func (s *Store) record(ctx context.Context, account string, found asset.Ingested, event any) error {
	return s.observe(ctx, eventstore.Decision{
		What: "record what was found out about an asset", Repeats: true,
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if found.Verified.Scan != nil || !found.Verified.OK { // damaged bytes are not scanned
				c.Queue(saveFound, append([]any{account}, columns([]asset.Ingested{found})...)...)
			}
			return c.Append(foundAppend(account, found.Asset, event))
		},
	})
}

// observe carries out a decision whose event is dropped if the asset has ended.
func (s *Store) observe(ctx context.Context, d eventstore.Decision) error {
	if _, err := s.events.Write(ctx, d); !errors.Is(err, eventlog.ErrClosed) {
		return err
	}
	return nil
}

// foundAppend returns the append of a finding about an asset's bytes.
func foundAppend(account string, id asset.ID, found any) eventlog.Append {
	return eventlog.AppendTo(id.Stream(), account, eventlog.Meta{Actor: "ingest"}, observation(id, found))
}

// Uningested returns up to limit assets, in order of their ids from the first one after the given id, whose ingestion
// has been unfinished for at least age and waits for no intent.
func (s *Store) Uningested(ctx context.Context, after asset.ID, age time.Duration, limit int) ([]asset.IngestRef, error) {
	after = cmp.Or(after, asset.ID(uuid.Nil.String()))
	return postgres.Collect(ctx, s.pool, "look for ingestions that are not done", func(row pgx.CollectableRow) (asset.IngestRef, error) {
		var ref asset.IngestRef
		return ref, row.Scan(&ref.Asset, &ref.Account, &ref.Size)
	},
		`select asset_id::text, account, size from files f
		where ingest_since is not null and asset_id > $1 and ingest_since <= now() - $2::interval and `+alive+`
		  and not exists (select from outbox o where o.workflow_id = 'ingest-' || f.asset_id)
		order by asset_id limit $3`, string(after), age, limit)
}

// Reingest records that the ingestion of an asset, whose workflow was lost, is started again, and the intent to start
// it. It does not change an asset that has ended or is ingested, and then returns false.
func (s *Store) Reingest(ctx context.Context, ref asset.IngestRef, actor, reason string) (again bool, err error) {
	var open int64
	err = s.observe(ctx, eventstore.Decision{
		What: "ingest an asset again",
		Read: func(q *pgx.Batch) {
			postgres.CountInto(q.Queue(`update files set ingest_since = now() where asset_id = $1 and account = $2 and ingest_since is not null`,
				string(ref.Asset), ref.Account), &open)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if open == 0 {
				return eventstore.ErrNothing
			}
			c.Start(ingestion(ref.Asset, ref.Account, ref.Size))
			return c.Append(eventlog.AppendTo(ref.Asset.Stream(), ref.Account, eventlog.Meta{Actor: actor, Reason: reason},
				eventlog.NewEvent(asset.TypeRequeued, asset.RequeuedV1{})))
		},
	})
	return open > 0 && err == nil, err
}

// selectKnown reads, for each of some bytes, the events of an upload that was looked into: of any, so that however many there
// are, one row is read.
const selectKnown = `select e.*, u.n from unnest($2::bytea[]) with ordinality as u (bytes, n)
	cross join lateral (select asset_id` + ofEach + ` and ingest_since is null and job_id is null limit 1) f
	cross join lateral (` + eventstore.SelectEvents +
	` where stream = 'asset-' || f.asset_id order by version limit $3) e order by u.n, e.version`

// queueKnown reads, for each of some bytes, an upload that was looked into.
func queueKnown(q *pgx.Batch, account string, states []*bytesState) {
	if len(states) == 0 {
		return
	}
	hashes := make([][]byte, len(states))
	for i, st := range states {
		hashes[i] = st.ref[:]
	}
	q.Queue(selectKnown, account, hashes, assetPage).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var n int64
			rec, err := eventstore.ScanRecorded(withLast{rows, &n})
			if err != nil {
				return err
			}
			like := &states[n-1].like
			like.id, _ = asset.IDOfStream(rec.Stream)
			like.events = append(like.events, rec)
		}
		return rows.Err()
	})
}

// known returns the event of what another asset of the account says of these bytes, with the pixels of an image, nothing
// while that is not all that an ingestion finds out.
func (s *Store) known(ctx context.Context, db postgres.Tx, st *bytesState,
	size int64,
) (event *asset.VerifiedV1, width, height int, err error) {
	state, err := s.foldOn(ctx, db, st.like)
	if err != nil || state.Scan == nil || state.VerifiedAt == nil || state.Damaged {
		return nil, 0, 0, err
	}
	return &asset.VerifiedV1{OK: true, Size: size, Scan: state.Scan}, state.Width, state.Height, nil
}

// GetAll is Get for several assets of an account; those that are not there, or no longer, are left out.
func (s *Store) GetAll(ctx context.Context, account string, ids []asset.ID) (map[asset.ID]asset.Asset, error) {
	streams := make([]string, len(ids))
	for i, id := range ids {
		streams[i] = id.Stream()
	}
	recorded, err := postgres.Collect(ctx, s.pool, "read assets", eventstore.ScanRecorded,
		eventstore.SelectEvents+` where stream = any($1) order by stream, version`, streams)
	if err != nil {
		return nil, err
	}
	all := make(map[asset.ID]asset.Asset, len(ids))
	for _, rec := range recorded {
		id, _ := asset.IDOfStream(rec.Stream)
		data, err := s.events.Types().DecodeKnown(rec)
		if err != nil {
			return nil, err
		}
		all[id] = asset.Fold(all[id], rec, data)
	}
	for id, a := range all {
		if a.Account != account || a.State.Gone() {
			delete(all, id)
		}
	}
	return all, nil
}

// saveFound writes what was found out about the bytes of several assets of an account. Several rows are locked in order of their
// ids, as everywhere.
const saveFound = `update files set ingest_since = null, rejected = rejected or n.rejects, thumbnail = coalesce(n.thumbnail,
	files.thumbnail),
		width = case when n.width > 0 then n.width else files.width end, height = case when n.height > 0 then n.height else files.height end
	from unnest($2::uuid[], $3::boolean[], $4::bytea[], $5::int[], $6::int[]) as n (id, rejects, thumbnail, width, height)
	where asset_id = n.id and account = $1 and asset_id = any(array(
		select asset_id from files where asset_id = any($2::uuid[]) and account = $1 order by asset_id for no key update))`

// RecordAll records what was found out about several assets of the account, in one transaction. Where one of them has
// ended meanwhile, the others are recorded one by one.
func (s *Store) RecordAll(ctx context.Context, account string, all []asset.Ingested) error {
	_, err := s.events.Write(ctx, eventstore.Decision{
		What: "record what was found out about assets", Repeats: true,
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			c.Queue(saveFound, append([]any{account}, columns(all)...)...)
			for _, found := range all {
				if err := c.Append(foundAppend(account, found.Asset, found.Verified)); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if !eventlog.IsRefused(err) {
		return err
	}
	var failed []error
	for _, found := range all {
		failed = append(failed, s.RecordVerified(ctx, account, found.Asset, found.Verified))
	}
	return errors.Join(failed...)
}

// columns returns the arguments of saveFound behind the account.
func columns(all []asset.Ingested) []any {
	var rows postgres.Columns
	for _, found := range all {
		var rejects bool
		var thumbnail []byte
		var width, height int
		if s := found.Verified.Scan; s != nil {
			rejects, thumbnail, width, height = s.Verdict == asset.Rejects, thumbnailOf(&found.Verified), s.Width, s.Height
		}
		rows.Add(string(found.Asset), rejects, thumbnail, width, height)
	}
	return rows.Args()
}

// withLast scans one more column after the requested ones.
type withLast struct {
	pgx.CollectableRow
	last any
}

// Scan implements pgx.Row.
func (w withLast) Scan(dest ...any) error { return w.CollectableRow.Scan(append(dest, w.last)...) }
