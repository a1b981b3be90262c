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

// processes reads the process table. It leaves out processes that end meanwhile.
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

// cpuByPart returns the milliseconds of processor time that each part of the service has used. The time of PostgreSQL
// is divided by database; processes that serve all databases, such as the checkpointer, count as "pg shared".
func (s *Service) cpuByPart() map[string]float64 {
	out := map[string]float64{}
	s.eachProcess(func(part string, _ int, p process) {
		out[part] += float64(p.ticks) * float64(time.Second/ticksPerSecond) / float64(time.Millisecond)
	})
	return out
}

// Memory returns the memory of each part of the service, in MB: the own pages of its processes, and their share of shared pages.
func (s *Service) Memory() map[string]float64 {
	out := map[string]float64{}
	s.eachProcess(func(part string, pid int, _ process) {
		if strings.HasPrefix(part, "pg ") {
			part = "postgresql"
		}
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil { // the process has ended
			return
		}
		for line := range strings.Lines(string(raw)) {
			var kb float64
			if n, _ := fmt.Sscanf(line, "Pss: %f kB", &kb); n == 1 {
				out[part] += kb * 1024 / 1e6
			}
		}
	})
	return out
}

// eachProcess calls do for each process of the service.
func (s *Service) eachProcess(do func(part string, pid int, p process)) {
	postgres, engine := s.PIDs()
	service := 0
	if s.service != nil {
		service = s.service.PID()
	}
	all := processes()
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
		do(part, pid, p)
	}
}

// postgresPart returns the part to which a process of PostgreSQL belongs, from its title; that of a connection is
// "postgres: USER DATABASE [local] STATE".
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
