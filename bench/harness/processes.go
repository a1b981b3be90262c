package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// process is a line of the process table.
type process struct {
	parent int
	ticks  int64 // of processor time
}

// processes reads the process table; a process that ends meanwhile is left out.
func processes() map[int]process {
	all := map[int]process{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// pid (name) state ppid …, of which utime and stime are the 12th and 13th behind the name.
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
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
	return all
}

// below reports whether a process is the ancestor or descends from it.
func below(all map[int]process, pid, ancestor int) bool {
	for depth := 0; pid > 1 && depth < 64; pid, depth = all[pid].parent, depth+1 {
		if pid == ancestor {
			return true
		}
	}
	return false
}

// cpuByPart returns the milliseconds of processor time that each part of the service has used. PostgreSQL's are divided
// by database; what serves all of them, such as its checkpointer, is "pg shared".
func (s *Service) cpuByPart() map[string]float64 {
	postgres, engine := s.PIDs()
	service := 0
	if s.service != nil {
		service = s.service.PID()
	}
	all := processes()
	out := map[string]float64{}
	for pid, p := range all {
		part := ""
		switch {
		case service != 0 && below(all, pid, service):
			part = "millrace"
		case below(all, pid, engine):
			part = "temporal"
		case below(all, pid, postgres):
			part = postgresPart(pid)
		default:
			continue
		}
		out[part] += float64(p.ticks) * float64(time.Second/ticksPerSecond) / float64(time.Millisecond)
	}
	return out
}

// postgresPart names what a process of PostgreSQL works for, from its title: "postgres: USER DATABASE [local] STATE" is
// a connection's.
func postgresPart(pid int) string {
	title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	fields := strings.Fields(string(bytes.TrimRight(title, "\x00")))
	if err != nil || len(fields) < 4 || fields[0] != "postgres:" || !strings.HasPrefix(fields[3], "[") {
		return "pg shared"
	}
	if fields[2] == adminDatabase {
		return "pg meter"
	}
	return "pg " + fields[2]
}
