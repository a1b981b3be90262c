package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU returns the processor time that this process and all below it have used: the benchmark's own,
// the service's, Temporal's and PostgreSQL's. Unlike rates it hardly depends on what else the machine
// does. Processes that have ended are missed; 0 where it is not known.
func CPU() time.Duration {
	type process struct {
		parent int
		ticks  int64
	}
	all := map[int]process{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid …, of which utime and stime are the 12th and 13th behind the name.
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(fields) < 13 {
			continue
		}
		var p process
		var user, system int64
		if _, err := fmt.Sscan(fields[1]+" "+fields[11]+" "+fields[12], &p.parent, &user, &system); err != nil {
			continue
		}
		p.ticks = user + system
		all[pid] = p
	}
	var sum int64
	for pid := range all {
		for at, depth := pid, 0; at > 1 && depth < 64; at, depth = all[at].parent, depth+1 {
			if at == os.Getpid() {
				sum += all[pid].ticks
				break
			}
		}
	}
	return time.Duration(sum) * time.Second / ticksPerSecond
}

// ticksPerSecond is the unit of /proc, which Linux has fixed for programs.
const ticksPerSecond = 100
