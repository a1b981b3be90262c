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
)

// Name is the view and its checkpoint, with the version of its fold.
const Name = "usage_v1"

// counted is the table of the version up to which each call is counted.
const counted = "usage_calls_v1"

// Projection adds up the ends of calls in usage_v1.
type Projection struct{ registry *eventlog.Registry }

// NewProjection returns the projection; registry knows the event types of calls.
func NewProjection(registry *eventlog.Registry) *Projection { return &Projection{registry: registry} }

// Name implements projections.Projection.
func (p *Projection) Name() string { return Name }

// Linger implements projections.Patient: usage is read by people.
func (p *Projection) Linger() time.Duration { return 250 * time.Millisecond }

// Tables implements projections.Projection.
func (p *Projection) Tables() []string { return []string{Name, counted} }

// key identifies a row, and sum contains the values to add to it.
type (
	key struct{ account, model, day string }
	sum struct{ succeeded, failed, canceled, unknown, late, bytes, charged int64 }
)

// Wants implements projections.Selective.
func (p *Projection) Wants(e eventlog.Recorded) bool {
	_, ok := call.IDOfStream(e.Stream)
	return ok
}

// Apply implements projections.Projection.
func (p *Projection) Apply(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
	ends, ids := p.endEvents(batch)
	if len(ends) == 0 {
		return nil
	}
	versions, err := load(ctx, tx, ids)
	if err != nil {
		return err
	}
	sums := map[key]*sum{}
	var order []key
	for _, rec := range ends {
		id, _ := call.IDOfStream(rec.Stream)
		if rec.Version <= versions[string(id)] {
			continue // the event was counted before
		}
		versions[string(id)] = rec.Version
		data, err := p.registry.DecodeKnown(rec)
		if err != nil {
			return err
		}
		if data == nil {
			continue
		}
		model, added := amounts(data)
		k := key{rec.Account, model, rec.RecordedAt.UTC().Format(time.DateOnly)}
		if sums[k] == nil {
			sums[k] = &sum{}
			order = append(order, k)
		}
		sums[k].add(added)
	}
	return store(ctx, tx, order, sums, ids, versions)
}

// endEvents returns the events that end or settle calls, and the ids of their calls.
func (p *Projection) endEvents(batch []eventlog.Recorded) ([]eventlog.Recorded, []string) {
	var ends []eventlog.Recorded
	var ids []string
	seen := map[string]bool{}
	for _, rec := range batch {
		id, ok := call.IDOfStream(rec.Stream)
		if !ok || !counts(rec.Type) {
			continue
		}
		ends = append(ends, rec)
		if !seen[string(id)] {
			seen[string(id)] = true
			ids = append(ids, string(id))
		}
	}
	return ends, ids
}

func counts(eventType string) bool {
	switch eventType {
	case call.TypeSucceeded, call.TypeFailed, call.TypeCanceled, call.TypeOutcomeUnknown, call.TypeReconciled:
		return true
	default:
		return false
	}
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

func load(ctx context.Context, tx pgx.Tx, ids []string) (map[string]int64, error) {
	rows, err := tx.Query(ctx, `select id, version from `+counted+` where id = any($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("read the counted calls: %w", err)
	}
	versions := make(map[string]int64, len(ids))
	var id string
	var version int64
	_, err = pgx.ForEachRow(rows, []any{&id, &version}, func() error {
		versions[id] = version
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the counted calls: %w", err)
	}
	return versions, nil
}

const addUp = `insert into ` + Name + ` as u (account, model, day, succeeded, failed, canceled, unknown, late, answer_bytes, charged_micros)
	values ($1, $2, $3::date, $4, $5, $6, $7, $8, $9, $10)
	on conflict (account, model, day) do update set succeeded = u.succeeded + excluded.succeeded, failed = u.failed + excluded.failed,
		canceled = u.canceled + excluded.canceled, unknown = u.unknown + excluded.unknown, late = u.late + excluded.late,
		answer_bytes = u.answer_bytes + excluded.answer_bytes, charged_micros = u.charged_micros + excluded.charged_micros`

func store(ctx context.Context, tx pgx.Tx, order []key, sums map[key]*sum, ids []string, versions map[string]int64) error {
	if len(order) == 0 {
		return nil
	}
	batch := &pgx.Batch{}
	for _, k := range order {
		s := sums[k]
		batch.Queue(addUp, k.account, k.model, k.day, s.succeeded, s.failed, s.canceled, s.unknown, s.late, s.bytes, s.charged)
	}
	at := make([]int64, len(ids))
	for i, id := range ids {
		at[i] = versions[id]
	}
	batch.Queue(`insert into `+counted+` (id, version) select * from unnest($1::text[], $2::bigint[])
		on conflict (id) do update set version = excluded.version`, ids, at)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("add up usage: %w", err)
	}
	return nil
}
