package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/bench/harness"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// loadTime is the time in which the simulated servers load a checkpoint, about that of a real server for this size.
const loadTime = 2 * time.Second

// affinity queues ten graphs that alternate between two checkpoints, on two servers that have both.
func (b *bench) affinity(ctx context.Context) error {
	checkpoints := []string{"one.safetensors", "two.safetensors"}
	all, err := startMachines(2, sim.Options{Checkpoints: checkpoints, Load: loadTime, Step: 10 * time.Millisecond})
	if err != nil {
		return err
	}
	defer all.close()
	return served(ctx, all.urls(), func(s *harness.Service) error {
		if err := allHealthy(ctx, s, len(all)); err != nil {
			return err
		}
		c, err := dial(ctx, s.Base)
		if err != nil {
			return err
		}
		defer c.close()
		var ids []string
		for i := range 10 {
			id, err := c.submit(ctx, onePicture(checkpoints[i%2], 64, 40))
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		for _, id := range ids {
			if err := c.await(ctx, id); err != nil {
				return err
			}
		}
		loads := slices.Concat(all[0].Loads(), all[1].Loads())
		once := len(loads) == 2 && loads[0] != loads[1]
		fmt.Printf("affinity:   ten graphs of two checkpoints, in turns, on two servers: loads %v; target each once %s\n", loads,
			b.verdict("affinity", once))
		return nil
	})
}

// allHealthy waits until the given number of servers answers.
func allHealthy(ctx context.Context, s *harness.Service, n int) error {
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer db.Close(context.WithoutCancel(ctx)) // it was read
	return until(ctx, "all servers answer", func() bool {
		healthy := 0
		err := db.QueryRow(ctx, `select count(*) from comfyui_servers where health = 'answers'`).Scan(&healthy)
		return err == nil && healthy >= n
	})
}
