// Package calls is the view of model calls for operators and listings: the folded state of each. The API's answers
// about one call are folded from the log (internal/domain/call), because a call has few events; this view is for
// lists of calls. It promises the same rows after every rebuild.
package calls

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Name is the view, its only table and its checkpoint, with the version of its fold.
const Name = "calls_v1"

// Projection folds the streams of calls into calls_v1.
type Projection struct{ registry *eventlog.Registry }

// NewProjection returns the projection; registry knows the event types of calls.
func NewProjection(registry *eventlog.Registry) *Projection { return &Projection{registry: registry} }

// Name implements projections.Projection.
func (p *Projection) Name() string { return Name }

// Tables implements projections.Projection.
func (p *Projection) Tables() []string { return []string{Name} }

// row is a row of the view.
type row struct {
	call     call.Call
	accepted int64
	moved    bool
}

// Wants implements projections.Selective.
func (p *Projection) Wants(e eventlog.Recorded) bool {
	_, ok := call.IDOfStream(e.Stream)
	return ok
}

// Apply implements projections.Projection: it reads the rows that the batch concerns, folds, and
// writes those that changed, in two statements.
func (p *Projection) Apply(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
	rows := map[string]*row{}
	var ids []string
	for _, rec := range batch {
		id, ok := call.IDOfStream(rec.Stream)
		if ok && rows[string(id)] == nil {
			rows[string(id)] = &row{}
			ids = append(ids, string(id))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := load(ctx, tx, ids, rows); err != nil {
		return err
	}
	for _, rec := range batch {
		id, ok := call.IDOfStream(rec.Stream)
		if !ok {
			continue
		}
		if err := p.fold(rows[string(id)], rec); err != nil {
			return err
		}
	}
	return store(ctx, tx, ids, rows)
}

// fold applies one event to a row. An event whose predecessor the row has not folded is an error, because the view
// would miss an event.
func (p *Projection) fold(r *row, rec eventlog.Recorded) error {
	if rec.Version <= r.call.Version {
		return nil
	}
	if rec.Version != r.call.Version+1 {
		return fmt.Errorf("%s: event %d follows version %d", rec.Stream, rec.Version, r.call.Version)
	}
	data, err := p.registry.DecodeKnown(rec)
	if err != nil {
		return err
	}
	r.call, r.moved = call.Fold(r.call, rec, data), true
	if rec.Version == 1 {
		r.accepted = rec.Position
	}
	return nil
}

func load(ctx context.Context, tx pgx.Tx, ids []string, rows map[string]*row) error {
	found, err := tx.Query(ctx, `select id, accepted, call from `+Name+` where id = any($1)`, ids)
	if err != nil {
		return fmt.Errorf("read the rows of a batch: %w", err)
	}
	var id string
	var accepted int64
	var state []byte
	_, err = pgx.ForEachRow(found, []any{&id, &accepted, &state}, func() error {
		rows[id].accepted = accepted
		return json.Unmarshal(state, &rows[id].call)
	})
	if err != nil {
		return fmt.Errorf("read the rows of a batch: %w", err)
	}
	return nil
}

// upsert writes rows from one array for each column; the columns besides call are for searches.
const upsert = `insert into ` + Name + ` (id, account, state, model, accepted, version, call)
	select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::json[])
	on conflict (id) do update set state = excluded.state, version = excluded.version, call = excluded.call`

func store(ctx context.Context, tx pgx.Tx, ids []string, rows map[string]*row) error {
	var keys, accounts, states, models, calls []string
	var accepted, versions []int64
	for _, id := range ids {
		r := rows[id]
		if !r.moved {
			continue
		}
		state, err := json.Marshal(r.call)
		if err != nil {
			return fmt.Errorf("encode call %s: %w", id, err)
		}
		keys, accounts, states = append(keys, id), append(accounts, r.call.Account), append(states, string(r.call.State))
		models, calls = append(models, r.call.Model), append(calls, string(state))
		accepted, versions = append(accepted, r.accepted), append(versions, r.call.Version)
	}
	if len(keys) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, upsert, keys, accounts, states, models, accepted, versions, calls); err != nil {
		return fmt.Errorf("write the rows of a batch: %w", err)
	}
	return nil
}
