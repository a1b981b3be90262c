package harness

import (
	"os"
	"time"
)

// CPU returns the processor time that this process and all below it have used: the benchmark's own, the service's,
// Temporal's and PostgreSQL's. Unlike rates it hardly depends on what else the machine does. Ended processes are not
// counted. It returns 0 if the time is not known.
func CPU() time.Duration {
	all := processes()
	var sum int64
	for pid, p := range all {
		if below(all, pid, os.Getpid()) {
			sum += p.ticks
		}
	}
	return time.Duration(sum) * time.Second / ticksPerSecond
}

// ticksPerSecond is the unit of /proc, which Linux has fixed for programs.
const ticksPerSecond = 100
