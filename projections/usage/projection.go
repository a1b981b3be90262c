// Package usage is the view of the usage of models: counts, bytes and charges for each account, model and day. It
// promises that a call counts once, on the day of its end in UTC.
package usage

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections"
)

// Name is the view and its checkpoint, with the version of its fold.
const Name = "usage_v1"

// counted is the table of the version up to which each call is counted.
const counted = "usage_calls_v1"

// NewProjection returns the projection, which adds up the ends of calls in usage_v1; registry knows their event types. Usage is
// read by people.
func NewProjection(registry *eventlog.Registry) projections.Projection {
	return projections.Projection{
		Name: Name, Tables: []string{Name, counted}, Linger: 250 * time.Millisecond, Wants: wants,
		Fold: func(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
			return fold(ctx, tx, registry, batch)
		},
	}
}

// wants selects the events that end or settle calls.
func wants(e eventlog.Recorded) bool {
	switch e.Type {
	case call.TypeSucceeded, call.TypeFailed, call.TypeCanceled, call.TypeOutcomeUnknown, call.TypeReconciled:
		return true
	default:
		return false
	}
}

// key identifies a row, and sum contains the values to add to it.
type (
	key struct{ account, model, day string }
	sum struct{ succeeded, failed, canceled, unknown, late, bytes, charged int64 }
)

func fold(ctx context.Context, tx pgx.Tx, registry *eventlog.Registry, ends []eventlog.Recorded) error {
	ids := make([]string, len(ends))
	for i, rec := range ends {
		ids[i] = idOf(rec)
	}
	versions, err := postgres.Map[string, int64](ctx, tx, "read the counted calls",
		`select id, version from `+counted+` where id = any($1)`, ids)
	if err != nil {
		return err
	}
	sums, news := map[key]*sum{}, map[string]int64{}
	var order []key
	for _, rec := range ends {
		id := idOf(rec)
		if rec.Version <= versions[id] {
			continue // the event was counted before
		}
		versions[id], news[id] = rec.Version, rec.Version
		data, err := registry.DecodeKnown(rec)
		if err != nil {
			return err
		}
		model, added := amounts(data)
		k := key{rec.Account, model, rec.RecordedAt.UTC().Format(time.DateOnly)}
		if sums[k] == nil {
			sums[k] = &sum{}
			order = append(order, k)
		}
		sums[k].add(added)
	}
	return store(ctx, tx, order, sums, news)
}

func idOf(rec eventlog.Recorded) string {
	id, _ := call.IDOfStream(rec.Stream)
	return string(id)
}

// amounts returns the values that one end adds.
func amounts(data any) (model string, s sum) {
	switch e := data.(type) {
	case call.SucceededV1:
		return e.Model, sum{succeeded: 1, late: oneIf(e.Late), bytes: e.Answer.Size, charged: e.Charged}
	case call.FailedV1:
		return e.Model, sum{failed: 1, late: oneIf(e.Late), charged: e.Charged}
	case call.CanceledV1:
		return e.Model, sum{canceled: 1, charged: e.Charged}
	case call.OutcomeUnknownV1:
		return e.Model, sum{unknown: 1}
	case call.ReconciledV1:
		return e.Model, sum{charged: e.Charged}
	}
	return "", sum{}
}

func oneIf(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

func (s *sum) add(o sum) {
	s.succeeded += o.succeeded
	s.failed += o.failed
	s.canceled += o.canceled
	s.unknown += o.unknown
	s.late += o.late
	s.bytes += o.bytes
	s.charged += o.charged
}

const addUp = `insert into ` + Name + ` as u (account, model, day, succeeded, failed, canceled, unknown, late, answer_bytes, charged_micros)
	values ($1, $2, $3::date, $4, $5, $6, $7, $8, $9, $10)
	on conflict (account, model, day) do update set succeeded = u.succeeded + excluded.succeeded, failed = u.failed + excluded.failed,
		canceled = u.canceled + excluded.canceled, unknown = u.unknown + excluded.unknown, late = u.late + excluded.late,
		answer_bytes = u.answer_bytes + excluded.answer_bytes, charged_micros = u.charged_micros + excluded.charged_micros`

func store(ctx context.Context, tx pgx.Tx, order []key, sums map[key]*sum, versions map[string]int64) error {
	if len(order) == 0 {
		return nil
	}
	batch := &pgx.Batch{}
	for _, k := range order {
		s := sums[k]
		batch.Queue(addUp, k.account, k.model, k.day, s.succeeded, s.failed, s.canceled, s.unknown, s.late, s.bytes, s.charged)
	}
	var rows postgres.Columns
	for id, version := range versions {
		rows.Add(id, version)
	}
	batch.Queue(`insert into `+counted+` (id, version) select * from unnest($1::text[], $2::bigint[])
		on conflict (id) do update set version = excluded.version`, rows.Args()...)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("add up usage: %w", err)
	}
	return nil
}
