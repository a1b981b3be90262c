package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/bench/harness"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

const (
	mostUnknown   = 3 * time.Second // until a broken connection is known to be a lost server
	mostElsewhere = 5 * time.Second // from then until the segment runs elsewhere
	failovers     = 10
)

// failover repeatedly kills the server that runs a segment, and measures the time until the log records the loss of the server and the time
// until another server runs the segment.
func (b *bench) failover(ctx context.Context) error {
	all, err := startMachines(2, sim.Options{Step: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	defer all.close()
	return served(ctx, all.urls(), func(s *harness.Service) error {
		db, err := pgx.Connect(ctx, s.DatabaseURL)
		if err != nil {
			return err
		}
		defer db.Close(context.WithoutCancel(ctx)) // it was read
		c, err := dial(ctx, s.Base)
		if err != nil {
			return err
		}
		defer c.close()
		var known, elsewhere []time.Duration
		for range failovers {
			k, e, err := oneFailover(ctx, s, db, c, all)
			if err != nil {
				return err
			}
			known, elsewhere = append(known, k), append(elsewhere, e)
		}
		k, e := harness.Quantile(known, 1), harness.Quantile(elsewhere, 1)
		fmt.Printf("failover:   %d servers killed in mid-run: loss known after p50 %s, max %s; target %s %s\n",
			failovers, round(harness.Quantile(known, 0.5)), round(k), mostUnknown, b.verdict("loss known", k <= mostUnknown))
		fmt.Printf("failover:   running elsewhere after that p50 %s, max %s; target %s %s\n",
			round(harness.Quantile(elsewhere, 0.5)), round(e), mostElsewhere, b.verdict("elsewhere", e <= mostElsewhere))
		return nil
	})
}

// oneFailover runs a segment of two seconds, kills its server in the middle, and starts the server again at the end.
func oneFailover(ctx context.Context, s *harness.Service, db *pgx.Conn, c *client,
	all machines,
) (known, elsewhere time.Duration, err error) {
	if err := allHealthy(ctx, s, len(all)); err != nil {
		return 0, 0, err
	}
	id, err := c.submit(ctx, onePicture(simulatedCheckpoint, 64, 100))
	if err != nil {
		return 0, 0, err
	}
	var victim, other *sim.Machine
	if err := until(ctx, "a prompt runs", func() bool {
		for i, m := range all {
			if running(m) {
				victim, other = m, all[1-i]
			}
		}
		return victim != nil
	}); err != nil {
		return 0, 0, err
	}
	killed := time.Now()
	victim.Kill()
	if err := c.await(ctx, id); err != nil {
		return 0, 0, err
	}
	var lost time.Time
	if err := db.QueryRow(ctx, `select min(recorded_at) from events where type = 'job.segment_ended.v1' and data ->> 'outcome' = 'given_up'
		and recorded_at >= $1`, killed).
		Scan(&lost); err != nil {
		return 0, 0, fmt.Errorf("the log does not say that the server was lost: %w", err)
	}
	runs := other.Runs()
	return lost.Sub(killed), runs[len(runs)-1].Began.Sub(lost), victim.Restart()
}

// running reports whether a machine is in the middle of a prompt.
func running(m *sim.Machine) bool {
	runs := m.Runs()
	return len(runs) > 0 && runs[len(runs)-1].Outcome == "running" && time.Since(runs[len(runs)-1].Began) > 200*time.Millisecond
}

// until waits for a condition.
func until(ctx context.Context, what string, condition func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*promptWithin)
	defer cancel()
	for !condition() {
		select {
		case <-ctx.Done():
			return errors.New("it did not come about that " + what)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}
