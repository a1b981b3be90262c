// Package queues implements the operators' commands on queues of jobs. A change is in force in every process when the
// command returns, and is recorded with its actor and reason.
package queues

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
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

// Actions are what operators do to queues.
var Actions = action.Group[Service]{
	Use:   "queue",
	Short: "Pause, drain, stop and resume queues of jobs",
	Long: `Pause, drain, stop and resume the queue of one account or, without --account, of all. Running
jobs always continue. A change is in force at once in every process, survives restarts, and is
recorded with its actor and reason. If an account has a mode of its own, the stricter one applies.

  paused    accepts jobs and keeps them waiting
  draining  refuses new jobs and runs the waiting ones
  stopped   refuses new jobs and keeps the waiting ones`,
	Example: `  millrace queue pause --account acme --reason "investigating outputs"
  millrace queue drain --reason "maintenance at 20:00"
  millrace queue resume --reason "done"
  millrace queue status`,
	Actions: []action.For[Service]{Set, status},
}

// Resolve implements action.Resolver: a queue is named by the name or the id of its account; "" = all queues.
func (q Service) Resolve(ctx context.Context, _, text string) (string, error) {
	if text == "" || text == gate.All {
		return gate.All, nil
	}
	a, err := operate.Account(ctx, q.pool, text)
	return a.ID, err
}

// Max bounds a listing of queues.
const Max = 1000

// States returns the state of all queues together, followed by that of each queue that is not open or has jobs.
func (q Service) States(ctx context.Context) ([]gate.State, error) { return q.gates.States(ctx, Max) }
