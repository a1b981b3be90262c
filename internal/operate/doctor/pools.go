package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres/poolstore"
)

// lateStop is how old a machine that is to be stopped may become.
const lateStop = 15 * time.Minute

// pools reports pools whose machines fail to start, and machines that are not stopped.
func (d databaseDoctor) pools(ctx context.Context) (Finding, error) {
	all, err := poolstore.New(d.pool, nil).Pools(ctx)
	if err != nil {
		return Finding{}, err
	}
	var troubles []string
	running := 0
	for _, p := range all {
		if p.Failures > 0 {
			troubles = append(troubles, fmt.Sprintf("%s: %d starts failed, the last one: %s", p.Name, p.Failures, terminal.Clean(p.Problem)))
		}
		for _, m := range p.Machines {
			running++
			if m.Phase == pool.Lost && time.Since(m.RequestedAt) > p.Spec.Join+lateStop {
				troubles = append(troubles, fmt.Sprintf("%s: machine %s is lost and not stopped", p.Name, m.ID))
			}
		}
	}
	if len(troubles) > 0 {
		return Finding{
			Status: Warning, Detail: list(troubles),
			Remedy: "run the commands of the pool by hand; millrace pool show NAME has the machines, and the log of the workers says what failed",
		}, nil
	}
	return Finding{Status: Healthy, Detail: fmt.Sprintf("%d pools, %d machines, no start failed", len(all), running)}, nil
}
