package harness

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The lines of a process's status that count its resident memory.
const (
	peakResident = "VmHWM"
	resident     = "VmRSS"
)

// memoryOf reads one of these lines, in MiB; 0 = not known.
func memoryOf(pid int, line string) int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kb int64
		if n, _ := fmt.Sscanf(strings.TrimSpace(lines.Text()), line+": %d kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	return 0
}

// Quantile returns the q-quantile of samples, which it sorts.
func Quantile(samples []time.Duration, q float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	slices.Sort(samples)
	return samples[min(len(samples)-1, int(q*float64(len(samples))))]
}

// Median returns the middle of some figures, which it sorts.
func Median(figures []float64) float64 {
	slices.Sort(figures)
	return (figures[(len(figures)-1)/2] + figures[len(figures)/2]) / 2
}

// Spread returns the median of figures with their range, as text. It sorts them.
func Spread(figures []float64) string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", Median(figures), figures[0], figures[len(figures)-1])
}

// CPUOf returns the processor time that a process has used; 0 = not known. Unlike wall time, it can be compared on a
// busy machine.
func CPUOf(pid int) time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // after the name, which may contain any characters
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, userErr := strconv.ParseInt(fields[11], 10, 64)
	system, systemErr := strconv.ParseInt(fields[12], 10, 64)
	if userErr != nil || systemErr != nil {
		return 0
	}
	return time.Duration(user+system) * time.Second / ticksPerSecond
}

// PeakMemory returns the peak resident memory of each part, in MiB. For PostgreSQL, it is that of the first process, which has the shared
// memory.
func (s *Service) PeakMemory() (postgres, engine, service int64) {
	p, t := s.PIDs()
	return memoryOf(p, peakResident), memoryOf(t, peakResident), s.ServiceMemory()
}
