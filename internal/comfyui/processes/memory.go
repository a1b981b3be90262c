package processes

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memory returns the bytes that the processes of a group have in memory and share with nobody, or 0 where the system does not say,
// which is so on other systems than Linux. Files that are mapped, such as checkpoints, do not count: the kernel drops them.
func memory(group int) (total int64) {
	files, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return 0
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil { // it has ended
			continue
		}
		if status := string(raw); field(status, "NSpgid:") == group {
			total += int64(field(status, "RssAnon:")) << 10 // the kernel counts in KiB
		}
	}
	return total
}

// field returns the first number of a line of a status, or 0.
func field(status, name string) int {
	_, rest, ok := strings.Cut(status, "\n"+name)
	if !ok {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	words := strings.Fields(line)
	if len(words) == 0 {
		return 0
	}
	n, err := strconv.Atoi(words[0])
	if err != nil {
		return 0
	}
	return n
}
