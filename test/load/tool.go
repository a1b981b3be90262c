package load

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// PostgresTool returns the path of a program that comes with PostgreSQL.
func PostgresTool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is valid
	if len(found) == 0 {
		return "", fmt.Errorf("%s comes with PostgreSQL: %w", name, err)
	}
	return found[len(found)-1], nil
}
