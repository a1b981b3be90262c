package upkeep

import (
	"context"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/pool"
)

// MachineKeeper carries out what pools of machines want; machines.Keeper implements it.
type MachineKeeper interface {
	Next(ctx context.Context, name string, inFlight []string) (orders pool.Orders, over bool, err error)
	Start(ctx context.Context, name, machine string) error
	Stop(ctx context.Context, name, machine string) error
}

// Machines holds the activities of the RunPool workflow.
type Machines struct{ Keeper MachineKeeper }

// NextParams are the parameters of AwaitOrders.
type NextParams struct {
	Pool     string
	InFlight []string // machines whose commands run
}

// MachineOrders are the commands that a pool wants to run.
type MachineOrders struct {
	Start, Stop []string
	Over        bool // the pool was removed and has no machines
}

// AwaitOrders waits for a while until a pool wants a command to run, and returns it.
func (m *Machines) AwaitOrders(ctx context.Context, p NextParams) (MachineOrders, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go attempt.Heartbeat(ctx)
	orders, over, err := m.Keeper.Next(ctx, p.Pool, p.InFlight)
	return MachineOrders{Start: orders.Start, Stop: orders.Stop, Over: over}, attempt.Error(err)
}

// MachineParams are the parameters of StartMachine and StopMachine.
type MachineParams struct{ Pool, Machine string }

// StartMachine starts a machine.
func (m *Machines) StartMachine(ctx context.Context, p MachineParams) error {
	return commanded(ctx, p, m.Keeper.Start)
}

// StopMachine stops a machine.
func (m *Machines) StopMachine(ctx context.Context, p MachineParams) error {
	return commanded(ctx, p, m.Keeper.Stop)
}

func commanded(ctx context.Context, p MachineParams, run func(ctx context.Context, name, machine string) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go attempt.Heartbeat(ctx)
	return attempt.Error(run(ctx, p.Pool, p.Machine))
}
