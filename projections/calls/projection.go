// Package calls is the view of model calls for operators and listings: the folded state of each. The API's answers
// about one call are folded from the log (internal/domain/call), because a call has few events; this view is for
// lists of calls. It promises the same rows after every rebuild.
package calls

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/folded"
)

// Name is the view, its only table and its checkpoint, with the version of its fold.
const Name = "calls_v1"

// NewProjection returns the projection, which folds the streams of calls into calls_v1; registry knows the event types of calls.
func NewProjection(registry *eventlog.Registry) projections.Projection {
	view := folded.New(registry, folded.Kind[call.Call]{
		Name: Name, Noun: "call", First: "accepted", Fold: call.Fold,
		Of: func(c call.Call) (string, int64) { return string(c.ID), c.Version },
	})
	return view.Projection(func(ctx context.Context, tx pgx.Tx, b folded.Batch[call.Call]) error {
		return b.Write(ctx, tx, Name, upsert, func(r folded.Row[call.Call], state string) ([]any, error) {
			return []any{r.ID, r.State.Account, string(r.State.State), r.State.Model, r.First, r.Version, state}, nil
		})
	})
}

// upsert writes rows from one array for each column; the columns besides call are for searches.
const upsert = `insert into ` + Name + ` (id, account, state, model, accepted, version, call)
	select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::json[])
	on conflict (id) do update set state = excluded.state, version = excluded.version, call = excluded.call`
