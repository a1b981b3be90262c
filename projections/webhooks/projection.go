// Package webhooks reads the log for webhooks, in two ways. The view webhooks_v1 contains the endpoints of each
// account; its Reader promises answers that are never older than the log. Outgoing turns ends of jobs and calls into
// deliveries and moves its checkpoint in the same transaction; it is not a view, because folding the log again must
// not deliver again.
package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections"
)

// Name is the view, its table and its checkpoint, with the version of its fold.
const Name = "webhooks_v1"

// NewProjection returns the projection, which folds the streams of endpoints into webhooks_v1; registry knows their event types.
// These events are rare, so each is a statement of its own.
func NewProjection(registry *eventlog.Registry) projections.Projection {
	return projections.Projection{
		Name: Name, Tables: []string{Name},
		Wants: func(e eventlog.Recorded) bool {
			_, ok := webhook.AccountOfStream(e.Stream)
			return ok
		},
		Fold: func(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
			for _, rec := range batch {
				if err := fold(ctx, tx, registry, rec); err != nil {
					return fmt.Errorf("%s, version %d: %w", rec.Stream, rec.Version, err)
				}
			}
			return nil
		},
	}
}

func fold(ctx context.Context, tx pgx.Tx, registry *eventlog.Registry, rec eventlog.Recorded) error {
	account, _ := webhook.AccountOfStream(rec.Stream)
	var book webhook.Book
	err := tx.QueryRow(ctx, `select version, endpoints from `+Name+` where account = $1`, account).Scan(&book.Version, &book.Endpoints)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	data, err := registry.DecodeKnown(rec)
	if err != nil || rec.Version <= book.Version {
		return err
	}
	if rec.Version > book.Version+1 {
		return fmt.Errorf("the view is at version %d: the events between are missing", book.Version)
	}
	book = book.Fold(rec, data)
	folded, err := json.Marshal(append([]webhook.Endpoint{}, book.Endpoints...))
	if err != nil {
		return fmt.Errorf("encode the view: %w", err)
	}
	_, err = tx.Exec(ctx, `insert into `+Name+` (account, version, endpoints) values ($1, $2, $3)
		on conflict (account) do update set version = excluded.version, endpoints = excluded.endpoints`, account, book.Version, string(folded))
	return err
}
