// Package queues implements the operators' commands on queues of jobs. A change is in force in every process when the
// command returns, and is recorded with its actor and reason.
package queues

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Service reads and changes queues for operators.
type Service struct {
	pool  *postgres.Pool
	gates *accountstore.Gates
}

// New returns the service over a database.
func New(pool *postgres.Pool, events *eventstore.Store) Service {
	return Service{pool: pool, gates: accountstore.NewGates(pool, events)}
}

// Scope returns the id of the account with that name or id, and gate.All for "".
func (q Service) Scope(ctx context.Context, text string) (string, error) {
	if text == "" {
		return gate.All, nil
	}
	a, err := operate.Account(ctx, q.pool, text)
	return a.ID, err
}

// Set changes the mode of a queue and returns its state. An account that does not exist is NotFound.
func (q Service) Set(ctx context.Context, c gate.Change) (gate.State, error) {
	return q.gates.Set(ctx, c)
}

// Max bounds a listing of queues.
const Max = 1000

// States returns the state of all queues together, followed by that of each queue that is not open or has jobs.
func (q Service) States(ctx context.Context) ([]gate.State, error) { return q.gates.States(ctx, Max) }

// State returns the state of one queue.
func (q Service) State(ctx context.Context, scope string) (gate.State, error) {
	return q.gates.State(ctx, scope)
}
