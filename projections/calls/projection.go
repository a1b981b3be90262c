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
	"github.com/millrace-dev/millrace/projections/folded"
)

// Name is the view, its only table and its checkpoint, with the version of its fold.
const Name = "calls_v1"

// NewProjection returns the projection, which folds the streams of calls into calls_v1; registry knows the event types of calls.
func NewProjection(registry *eventlog.Registry) *folded.Projection[call.Call] {
	view := folded.New(registry, folded.Kind[call.Call]{
		Name: Name, Noun: "call", First: "accepted", Fold: call.Fold,
		Of: func(c call.Call) (string, int64) { return string(c.ID), c.Version },
	})
	return &folded.Projection[call.Call]{View: view, Store: store}
}

// upsert writes rows from one array for each column; the columns besides call are for searches.
const upsert = `insert into ` + Name + ` (id, account, state, model, accepted, version, call)
	select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::json[])
	on conflict (id) do update set state = excluded.state, version = excluded.version, call = excluded.call`

func store(ctx context.Context, tx pgx.Tx, b folded.Batch[call.Call]) error {
	var keys, accounts, states, models, calls []string
	var accepted, versions []int64
	for _, r := range b.Changed() {
		state, err := json.Marshal(r.State)
		if err != nil {
			return fmt.Errorf("encode call %s: %w", r.ID, err)
		}
		keys, accounts, states = append(keys, r.ID), append(accounts, r.State.Account), append(states, string(r.State.State))
		models, calls = append(models, r.State.Model), append(calls, string(state))
		accepted, versions = append(accepted, r.First), append(versions, r.Version)
	}
	if len(keys) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, upsert, keys, accounts, states, models, accepted, versions, calls); err != nil {
		return fmt.Errorf("write the rows of a batch: %w", err)
	}
	return nil
}
