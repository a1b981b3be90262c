package overview

import (
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// Concern is something that a person should look at, with the page that shows it.
type Concern struct {
	Text, Link, Path string // Path is below the base of the pages
}

const (
	longWait   = 5 * time.Minute // of a job, from which it is a concern
	someFailed = 10              // percent of the jobs that ended, from which failures are a concern
	fewEnded   = 5               // jobs, below which a percentage says nothing
)

// concerns returns what is wrong now, most urgent first.
func (p *OverviewPage) concerns(now time.Time) []Concern {
	var all []Concern
	states := map[server.State]int{}
	for _, s := range p.Servers {
		states[s.State()]++
	}
	for _, state := range []server.State{server.Away, server.Refused, server.Stuck, server.Resting} {
		if n := states[state]; n > 0 {
			all = append(all, Concern{fmt.Sprintf("%d of %d ComfyUI servers %s %s.", n, len(p.Servers), are(n), state), "Servers", "/servers"})
		}
	}
	if p.Now.Oldest != nil && now.Sub(*p.Now.Oldest) > longWait {
		waited := now.Sub(*p.Now.Oldest).Round(time.Second)
		all = append(all, Concern{fmt.Sprintf("%d jobs wait, the oldest for %s.", p.Now.Queued, waited), "Waiting jobs", "?status=queued"})
	}
	var ended, failed int64
	for _, total := range p.Ended {
		ended += total.N
		if total.Key == string(job.Failed) {
			failed = total.N
		}
	}
	if ended >= fewEnded && 100*failed >= someFailed*ended {
		all = append(all, Concern{fmt.Sprintf("%d of %d jobs failed in the last %s.", failed, ended, p.Range), "Causes", "?group=cause"})
	}
	return all
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
