//go:build unix

package localcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// oldest is the oldest supported major version, as in doctor.
const oldest = 15

// binaries are the programs of PostgreSQL on this machine.
type binaries struct {
	dir   string
	major int
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// findBinaries returns the programs for a data directory: those of its version if it exists, otherwise the newest
// ones.
func findBinaries(ctx context.Context, configured, data string) (binaries, error) {
	wanted, err := dataVersion(data)
	if err != nil {
		return binaries{}, err
	}
	var found []binaries
	for _, dir := range candidates(ctx, configured) {
		if b, ok := probe(ctx, dir); ok {
			found = append(found, b)
		}
	}
	if ctx.Err() != nil { // a program that did not answer in time exists nevertheless
		return binaries{}, fmt.Errorf("look for PostgreSQL's programs: %w", context.Cause(ctx))
	}
	if len(found) == 0 {
		return binaries{}, errMissing(configured)
	}
	return choose(found, wanted, data)
}

// choose selects one of the found programs, which are in order of preference.
func choose(found []binaries, wanted int, data string) (binaries, error) {
	i := slices.IndexFunc(found, func(b binaries) bool {
		return b.major == wanted || wanted == 0 && b.major >= oldest
	})
	switch {
	case i >= 0:
		return found[i], nil
	case wanted == 0:
		return binaries{}, fmt.Errorf("PostgreSQL %d in %s is too old: install version %d or later (%s)", found[0].major, found[0].dir, oldest,
			install(""))
	default:
		return binaries{}, fmt.Errorf("the data in %s is of PostgreSQL %d, but this machine has %d in %s: install version %d (%s) or upgrade "+
			"the data with pg_upgrade",
			data, wanted, found[0].major, found[0].dir, wanted, install(strconv.Itoa(wanted)))
	}
}

// dataVersion returns the major version of a data directory, or 0 if there is none yet.
func dataVersion(data string) (int, error) {
	b, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("PostgreSQL data: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("PostgreSQL data: %s/PG_VERSION is damaged: %w", data, err)
	}
	return major, nil
}

// candidates returns the directories to search, best first. If one is configured, it is the only candidate.
func candidates(ctx context.Context, configured string) []string {
	if configured != "" {
		return []string{configured}
	}
	dirs := newestFirst("/usr/lib/postgresql/*/bin")
	dirs = append(dirs, newestFirst("/usr/pgsql-*/bin")...)
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, brew := range []string{"/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew"} {
		dirs = append(dirs, newestFirst(brew+"/opt/postgresql@*/bin")...)
		dirs = append(dirs, brew+"/opt/postgresql/bin")
	}
	return dirs
}

// newestFirst lists the directories that match, by the version number in their path.
func newestFirst(pattern string) []string {
	dirs, err := filepath.Glob(pattern)
	if err != nil { // only for a malformed pattern
		return nil
	}
	slices.SortFunc(dirs, func(a, b string) int { return versionIn(b) - versionIn(a) })
	return dirs
}

func versionIn(dir string) int {
	name := filepath.Base(filepath.Dir(dir))
	name = name[strings.LastIndexAny(name, "-@")+1:]
	major, _, _ := strings.Cut(name, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}

// probe reports whether dir has the programs, and their version.
func probe(ctx context.Context, dir string) (binaries, bool) {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return binaries{}, false
	}
	server := filepath.Join(dir, "postgres")
	out, err := exec.CommandContext(ctx, server, "--version").Output() //nolint:gosec // the program is chosen by this process
	if err != nil {
		return binaries{}, false
	}
	major, ok := parseVersion(string(out))
	return binaries{dir, major}, ok
}

// parseVersion reads "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "… 17beta1".
func parseVersion(out string) (major int, ok bool) {
	_, rest, ok := strings.Cut(out, "(PostgreSQL) ")
	if !ok {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	major, err := strconv.Atoi(rest[:end])
	return major, err == nil
}

func errMissing(configured string) error {
	if configured != "" {
		return fmt.Errorf("no PostgreSQL in %s: it must contain initdb and postgres", configured)
	}
	return fmt.Errorf("PostgreSQL is not installed: %s, or set DATABASE_URL", install(""))
}

// install returns the command that installs PostgreSQL on this machine; version "" = the usual one.
func install(version string) string {
	if runtime.GOOS == "darwin" {
		version = cmp.Or(version, "16")
		return "brew install postgresql@" + version
	}
	if version != "" {
		version = "-" + version
	}
	return "apt-get install postgresql" + version
}
