package stand

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// The lines of a process's status that count its resident memory.
const (
	peakResident = "VmHWM"
	resident     = "VmRSS"
)

// memoryOf reads one of those, in MiB; 0 where it is not known.
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
	return figures[len(figures)/2]
}
