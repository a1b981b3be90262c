package assetstore

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Change implements asset.Store. The lock of the row serialises the changes and the deletion of an asset.
func (s *Store) Change(ctx context.Context, account string, id asset.ID, c asset.Change, requestID string) (asset.Asset, []asset.Event, error) {
	var state asset.Asset
	var changes []asset.Event
	err := s.transact(ctx, "change an asset", func(tx pgx.Tx) error {
		if err := claim(ctx, tx, account, id, c); err != nil {
			return err
		}
		var err error
		if state, err = s.fold(ctx, tx, id); err != nil {
			return err
		}
		if changes, err = state.ChangeEvents(c); err != nil || len(changes) == 0 {
			return err
		}
		meta := eventlog.Meta{Actor: account, RequestID: requestID}
		state, err = s.changed(ctx, tx, state, changes, meta)
		return err
	})
	return state, changes, err
}

// claim locks the row of an asset, and checks that a new preview is an asset of the account.
func claim(ctx context.Context, tx pgx.Tx, account string, id asset.ID, c asset.Change) error {
	var there bool
	err := tx.QueryRow(ctx, `select true from files where asset_id = $1 and account = $2 and `+alive+` for update`, string(id), account).Scan(&there)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.NotFound, fault.CodeNotFound, "there is no such asset")
	}
	if err != nil || c.Preview == nil || *c.Preview == "" {
		return err
	}
	return hasPreview(ctx, tx, account, *c.Preview)
}

// hasPublicID is the condition that a file of account $1 has the public id $2.
const hasPublicID = ` and asset_id = coalesce((select asset_id from asset_public_ids where account = $1 and public_id = $2::uuid), $2::uuid)
	and not exists (select from asset_public_ids p where p.asset_id = files.asset_id and p.public_id <> $2::uuid)`

func hasPreview(ctx context.Context, db postgres.Tx, account string, preview asset.PublicID) error {
	var there bool
	err := db.QueryRow(ctx, `select exists (select from files where account = $1 and `+alive+hasPublicID+`)`, account, string(preview)).Scan(&there)
	if err == nil && !there {
		return fault.New(fault.Invalid, fault.CodeInvalidPreview, "preview_id names no file of this account")
	}
	return err
}

// changed records the events, updates the row, and returns the new state.
func (s *Store) changed(ctx context.Context, tx pgx.Tx, state asset.Asset, changes []asset.Event, meta eventlog.Meta) (asset.Asset, error) {
	events := make([]eventlog.Event, len(changes))
	for i, f := range changes {
		events[i] = eventlog.Event{ID: uuid.New(), Type: f.Type, Data: f.Data}
	}
	expected, id := state.Version, state.ID
	after := state
	for i, f := range changes { // the positions are not known before the append, but tags and type do not depend on them
		after = asset.Fold(after, eventlog.Recorded{Stream: id.Stream(), Version: expected + int64(i) + 1}, f.Data)
	}
	if after.ContentType != state.ContentType || !slices.Equal(after.Tags, state.Tags) {
		_, err := tx.Exec(ctx, `update files set content_type = $2, tags = $3 where asset_id = $1`,
			string(id), after.ContentType, append([]string{}, after.Tags...))
		if err != nil {
			return asset.Asset{}, err
		}
	}
	recorded, err := s.events.AppendTx(ctx, tx, eventlog.Append{
		Stream: id.Stream(), Account: state.Account, Expected: eventlog.AnyVersion, Meta: meta, Events: events,
	})
	if err != nil {
		return asset.Asset{}, err
	}
	for i, rec := range recorded {
		state = asset.Fold(state, rec, changes[i].Data)
	}
	return state, nil
}
