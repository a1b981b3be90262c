package records

import (
	"cmp"
	"context"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Kind is a kind of aggregate, with the workflows that run it.
type Kind[S any] struct {
	inspect.Kind[S]
	Workflows func(S) []histories.Execution
}

var (
	Calls = Kind[call.Call]{Kind: inspect.Calls, Workflows: func(c call.Call) []histories.Execution {
		var all []histories.Execution
		for run := 1; run <= max(1, c.Run); run++ {
			all = append(all, histories.Execution{Run: run, Workflow: c.ID.WorkflowID(run)})
		}
		return all
	}}
	Assets = Kind[asset.Asset]{Kind: inspect.Assets, Workflows: func(a asset.Asset) []histories.Execution {
		if a.Producer != nil {
			return nil // the workflow of its job has saved and hashed the asset
		}
		return []histories.Execution{{Run: 1, Workflow: cmp.Or(a.VerifiedBy, a.ID.WorkflowID())}}
	}}
)

// History reads the events of the one call or asset whose id begins with text.
func (k Kind[S]) History(ctx context.Context, pool *postgres.Pool, text string) (inspect.StreamHistory[S], error) {
	var none inspect.StreamHistory[S]
	types, err := eventtypes.Registry()
	if err != nil {
		return none, err
	}
	stream, err := FindStream(ctx, pool, k.Noun, text)
	if err != nil {
		return none, err
	}
	recorded, err := eventlog.Collect(eventlog.Read(ctx, eventstore.StreamsOf(pool), stream, 0))
	if err != nil {
		return none, err
	}
	return inspect.ReadStream(k.Kind, types, recorded)
}

// At returns the history up to a version or a time; "" means now.
func (k Kind[S]) At(ctx context.Context, pool *postgres.Pool, text, at string) (inspect.StreamHistory[S], error) {
	t, err := k.History(ctx, pool, text)
	if err != nil || at == "" {
		return t, err
	}
	p, err := inspect.ParsePoint(at)
	if err != nil {
		return t, err
	}
	return t.At(p)
}

// Phases returns the phases of one call or asset.
func (k Kind[S]) Phases(ctx context.Context, pool *postgres.Pool, text string) (inspect.Phases, error) {
	t, err := k.History(ctx, pool, text)
	if err != nil {
		return inspect.Phases{}, err
	}
	now, err := operate.Now(ctx, pool)
	if err != nil {
		return inspect.Phases{}, err
	}
	return t.Phases(now), nil
}

// Compare returns the differences between two calls or two assets.
func (k Kind[S]) Compare(ctx context.Context, pool *postgres.Pool, a, b string) (inspect.StreamComparison, error) {
	one, err := k.History(ctx, pool, a)
	if err != nil {
		return inspect.StreamComparison{}, err
	}
	other, err := k.History(ctx, pool, b)
	if err != nil {
		return inspect.StreamComparison{}, err
	}
	now, err := operate.Now(ctx, pool)
	if err != nil {
		return inspect.StreamComparison{}, err
	}
	return inspect.Compare(one, other, now)
}

// LimitOf checks the limit of a listing.
func LimitOf(limit, most int) error {
	if limit < 1 || limit > most {
		return fault.New(fault.Invalid, "", "--limit must be between 1 and %d, not %d", most, limit)
	}
	return nil
}
