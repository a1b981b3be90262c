package apitest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apirouter "github.com/millrace-dev/millrace/api/router"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/router"
)

// Refusing answers every call with one refusal.
type Refusing struct {
	apirouter.Calls
	Refusal *call.Refusal
}

// Run refuses.
func (r Refusing) Run(context.Context, call.Invocation) (*call.Result, error) { return nil, r.Refusal }

// Enqueue refuses.
func (r Refusing) Enqueue(context.Context, call.Invocation) (call.Enqueued, error) {
	return call.Enqueued{}, r.Refusal
}

// StartRouter starts the API with the model router over the catalog of the binary and calls.
func StartRouter(t *testing.T, opts Options, calls apirouter.Calls) *Harness {
	models, err := catalog.Load(catalog.Options{Simulator: "http://127.0.0.1:1"})
	require.NoError(t, err)
	return StartWith(t, opts, func(d *Deps) {
		d.Router = &ModelRouter{
			Models:  &router.Offers{Catalog: models, Lookup: func(string) (string, bool) { return "", false }},
			Calls:   calls,
			Cursors: catalog.NewCursors(make([]byte, 32), time.Now),
		}
	})
}
