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
)

// Name is the view, its table and its checkpoint, with the version of its fold.
const Name = "webhooks_v1"

// Projection folds the streams of endpoints into webhooks_v1.
type Projection struct{ registry *eventlog.Registry }

// NewProjection returns the projection; registry knows the event types of webhooks.
func NewProjection(registry *eventlog.Registry) *Projection { return &Projection{registry: registry} }

// Name implements projections.Projection.
func (p *Projection) Name() string { return Name }

// Tables implements projections.Projection.
func (p *Projection) Tables() []string { return []string{Name} }

// Wants implements projections.Selective.
func (p *Projection) Wants(e eventlog.Recorded) bool {
	_, ok := webhook.AccountOfStream(e.Stream)
	return ok
}

// Apply implements projections.Projection. These events are rare, so each is a statement of its own.
func (p *Projection) Apply(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
	for _, rec := range batch {
		account, ok := webhook.AccountOfStream(rec.Stream)
		if !ok {
			continue
		}
		if err := p.apply(ctx, tx, account, rec); err != nil {
			return fmt.Errorf("%s, version %d: %w", rec.Stream, rec.Version, err)
		}
	}
	return nil
}

func (p *Projection) apply(ctx context.Context, tx pgx.Tx, account string, rec eventlog.Recorded) error {
	var book webhook.Book
	var stored []byte
	err := tx.QueryRow(ctx, `select version, endpoints from `+Name+` where account = $1`, account).Scan(&book.Version, &stored)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if err == nil {
		if err := json.Unmarshal(stored, &book.Endpoints); err != nil {
			return fmt.Errorf("decode the view: %w", err)
		}
	}
	data, err := p.registry.DecodeKnown(rec)
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
