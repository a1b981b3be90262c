// Command release makes the files of a release: an archive with both programs for linux and darwin on amd64 and arm64, Debian and RPM
// packages for linux, a bill of materials for each, and the checksums of all. The same sources give the same bytes, because all times are
// those of the commit.
//
//	go run . -version v1.2.3 -out ../../dist
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "version of the release, as in v1.2.3")
	out := flag.String("out", "dist", "directory for what is made; it is emptied first")
	root := flag.String("root", "../..", "directory of the sources")
	only := flag.String("only", "", "targets to make, as in linux/amd64,darwin/arm64; default: all")
	temporal := flag.String("temporal", "dev", "version of millrace-temporal, by which make knows it again")
	flag.Parse()
	if err := run(*version, *temporal, *out, *root, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(version, temporal, out, root, only string) error {
	if version == "" {
		return fmt.Errorf("-version names the release, as in v1.2.3")
	}
	targets, err := parseTargets(only)
	if err != nil {
		return err
	}
	at, err := commitTime(root)
	if err != nil {
		return err
	}
	r := Release{
		Version: version, Out: out, Root: root, Time: at, Targets: targets, Programs: programs(root, version, temporal),
		Log: func(text string) { fmt.Fprintln(os.Stderr, text) },
	}
	return r.Make()
}

// programs returns the programs of every release, from the sources below root.
func programs(root, version, temporal string) []Program {
	profiles := filepath.Join(root, "deploy", "release", "profiles")
	return []Program{
		{
			Name: "millrace", Dir: root, Package: "./cmd/millrace", Profile: filepath.Join(profiles, "millrace.pgo"),
			Flags: "-s -w -X github.com/millrace-dev/millrace/internal/config/version.Version=" + version,
		},
		{
			Name: "millrace-temporal", Dir: filepath.Join(root, "localtemporal"), Package: ".",
			Profile: filepath.Join(profiles, "millrace-temporal.pgo"),
			Flags:   "-s -w -X main.version=" + temporal,
		},
	}
}

// commitTime returns the time of the commit that is checked out, so that a release can be made again.
func commitTime(root string) (time.Time, error) {
	text, err := exec.Command("git", "-C", root, "log", "-1", "--format=%ct").Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time of the commit: %w", err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}
