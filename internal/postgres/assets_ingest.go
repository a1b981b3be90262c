package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Get returns the state of an asset of the account as its stream has it; an asset that is not
// there, or no longer, gives false.
func (s *Assets) Get(ctx context.Context, account string, id asset.ID) (asset.Asset, bool, error) {
	var state asset.Asset
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var err error
		state, err = s.fold(ctx, tx, id)
		return err
	})
	if err != nil {
		return asset.Asset{}, false, classify(err, "read asset "+string(id))
	}
	return state, state.Version > 0 && state.Account == account && !state.State.Gone(), nil
}

// RecordVerified records that the stored bytes of an asset were read and hashed. One that has ended
// meanwhile stays as it is.
func (s *Assets) RecordVerified(ctx context.Context, account string, id asset.ID, fact asset.VerifiedV1) error {
	return s.observe(ctx, "record that an asset was verified", func(tx pgx.Tx) error {
		return s.append(ctx, tx, account, id, fact)
	})
}

// RecordScan records what the scan of an asset found, and takes rejected content out of service.
func (s *Assets) RecordScan(ctx context.Context, account string, id asset.ID, scan asset.Scan) error {
	return s.observe(ctx, "record the scan of an asset", func(tx pgx.Tx) error {
		var thumbnail []byte
		if !scan.Thumbnail.IsZero() {
			thumbnail = scan.Thumbnail[:]
		}
		_, err := tx.Exec(ctx, `update files set rejected = rejected or $3, thumbnail = coalesce($4, thumbnail),
				width = case when $5 > 0 then $5 else width end, height = case when $6 > 0 then $6 else height end
			where asset_id = $1 and account = $2`,
			string(id), account, scan.Verdict == asset.Rejects, thumbnail, scan.Width, scan.Height)
		if err != nil {
			return err
		}
		return s.append(ctx, tx, account, id, asset.ScannedV1{Scan: scan})
	})
}

// observe runs a transaction whose fact is of no interest once the asset has ended.
func (s *Assets) observe(ctx context.Context, what string, fn func(pgx.Tx) error) error {
	err := s.transact(ctx, what, fn)
	if errors.Is(err, eventlog.ErrClosed) {
		return nil
	}
	return err
}

func (s *Assets) append(ctx context.Context, tx pgx.Tx, account string, id asset.ID, fact any) error {
	_, err := s.events.AppendTx(ctx, tx, eventlog.Append{
		Stream: id.Stream(), Account: account, Expected: eventlog.AnyVersion, Meta: eventlog.Meta{Actor: "ingest"},
		Events: []eventlog.Event{observation(id, fact)},
	})
	return err
}
