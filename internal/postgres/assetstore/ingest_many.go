package assetstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

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

// saveFound writes what was found out about the bytes of several assets of an account.
const saveFound = `update files set ingest_since = null, rejected = rejected or n.rejects, thumbnail = coalesce(n.thumbnail, files.thumbnail),
		width = case when n.width > 0 then n.width else files.width end, height = case when n.height > 0 then n.height else files.height end
	from unnest($2::uuid[], $3::boolean[], $4::bytea[], $5::int[], $6::int[]) as n (id, rejects, thumbnail, width, height)
	where asset_id = n.id and account = $1`

// RecordAll records what was found out about several assets of the account, in one transaction. Where one of them has
// ended meanwhile, the others are recorded one by one.
func (s *Store) RecordAll(ctx context.Context, account string, all []asset.Ingested) error {
	var appends []eventlog.Append
	for _, found := range all {
		a := eventlog.Append{Stream: found.Asset.Stream(), Account: account, Expected: eventlog.AnyVersion, Meta: eventlog.Meta{Actor: "ingest"}}
		for _, event := range found.Events() {
			a.Events = append(a.Events, observation(found.Asset, event))
		}
		appends = append(appends, a)
	}
	nothing := func(*pgx.Batch) {}
	err := postgres.Pipelined(ctx, s.pool, nothing, func(_ postgres.Tx, q *pgx.Batch) error {
		q.Queue(saveFound, append([]any{account}, columns(all)...)...)
		_, err := s.events.QueueAppend(q, appends)
		return err
	})
	switch {
	case eventstore.IsRefused(err):
		return s.recordEach(ctx, account, all)
	case err != nil:
		return postgres.Classify(err, "record what was found out about assets")
	}
	s.events.Wake()
	return nil
}

// columns returns the arguments of saveFound behind the account.
func columns(all []asset.Ingested) []any {
	ids, rejects, thumbnails := make([]string, len(all)), make([]bool, len(all)), make([][]byte, len(all))
	widths, heights := make([]int32, len(all)), make([]int32, len(all))
	for i, found := range all {
		ids[i] = string(found.Asset)
		if s := found.Scan; s != nil {
			rejects[i], widths[i], heights[i] = s.Verdict == asset.Rejects, int32(s.Width), int32(s.Height)
			if !s.Thumbnail.IsZero() {
				thumbnails[i] = s.Thumbnail[:]
			}
		}
	}
	return []any{ids, rejects, thumbnails, widths, heights}
}

func (s *Store) recordEach(ctx context.Context, account string, all []asset.Ingested) error {
	var failed []error
	for _, found := range all {
		if found.Scan == nil {
			failed = append(failed, s.RecordVerified(ctx, account, found.Asset, found.Verified))
		} else {
			failed = append(failed, s.RecordIngested(ctx, account, found.Asset, found.Verified, *found.Scan))
		}
	}
	return errors.Join(failed...)
}
