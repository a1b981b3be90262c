package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Target is a system for which a release is made.
type Target struct{ OS, Arch string }

// Targets are all targets.
var Targets = []Target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// parseTargets reads targets as in linux/amd64,darwin/arm64; "" means all.
func parseTargets(list string) ([]Target, error) {
	if list == "" {
		return Targets, nil
	}
	var some []Target
	for text := range strings.SplitSeq(list, ",") {
		system, arch, _ := strings.Cut(strings.TrimSpace(text), "/")
		t := Target{system, arch}
		if !slices.Contains(Targets, t) {
			return nil, fmt.Errorf("no release is made for %q: linux or darwin, with amd64 or arm64, as in linux/amd64", text)
		}
		some = append(some, t)
	}
	return some, nil
}

// Program is a program of the release.
type Program struct {
	Name, Dir, Package string
	Flags              string // for the linker
	Profile            string // file of a CPU profile by which the compiler optimises; "" = none
}

// Release lists the files of a release.
type Release struct {
	Version  string
	Out      string // directory
	Root     string // of the sources
	Time     time.Time
	Targets  []Target
	Programs []Program
	Log      func(string)
}

// Make makes all files again.
func (r Release) Make() error {
	if err := os.RemoveAll(r.Out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	if err := r.writeManual(); err != nil {
		return err
	}
	for i, t := range r.Targets {
		r.Log(fmt.Sprintf("%d/%d %s/%s", i+1, len(r.Targets), t.OS, t.Arch))
		if err := r.target(t); err != nil {
			return fmt.Errorf("%s/%s: %w", t.OS, t.Arch, err)
		}
	}
	return r.checksums()
}

func (r Release) target(t Target) error {
	dir := filepath.Join(r.Out, "build", t.OS+"-"+t.Arch)
	for _, p := range r.Programs {
		if err := r.build(t, p, filepath.Join(dir, p.Name)); err != nil {
			return err
		}
	}
	if err := r.archive(t, dir); err != nil {
		return err
	}
	if err := r.materials(t, dir); err != nil {
		return err
	}
	if t.OS != "linux" {
		return nil
	}
	if err := r.packages(t, dir); err != nil {
		return err
	}
	return r.image(t, dir)
}

func (r Release) build(t Target, p Program, to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	profile := "off"
	if p.Profile != "" {
		if profile, err = filepath.Abs(p.Profile); err != nil {
			return err
		}
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-pgo", profile, "-ldflags", p.Flags, "-o", to, p.Package)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GOOS="+t.OS, "GOARCH="+t.Arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", p.Name, err, text)
	}
	return nil
}

// name is the prefix of the files of a target.
func (r Release) name(t Target) string {
	return fmt.Sprintf("millrace_%s_%s_%s", strings.TrimPrefix(r.Version, "v"), t.OS, t.Arch)
}

// archive writes the programs, the licence and the README as one compressed archive.
func (r Release) archive(t Target, dir string) (err error) {
	f, err := os.Create(filepath.Join(r.Out, r.name(t)+".tar.gz"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	packed := gzip.NewWriter(f)
	w := tar.NewWriter(packed)
	for _, p := range r.Programs {
		if err := r.add(w, filepath.Join(dir, p.Name), p.Name, 0o755); err != nil {
			return err
		}
	}
	for _, name := range []string{"LICENSE", "README.md"} {
		if err := r.add(w, filepath.Join(r.Root, name), name, 0o644); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), packed.Close())
}

func (r Release) add(w *tar.Writer, path, name string, mode int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: info.Size(), ModTime: r.Time, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// image copies the service to the path from which the Dockerfile copies it.
func (r Release) image(t Target, dir string) error {
	to := filepath.Join(r.Out, "image", t.Arch)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return os.Link(filepath.Join(dir, r.Programs[0].Name), filepath.Join(to, r.Programs[0].Name))
}

// checksums writes the SHA-256 of every file of the release.
func (r Release) checksums() error {
	entries, err := os.ReadDir(r.Out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		sum, err := sumOf(filepath.Join(r.Out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, e.Name())
	}
	return os.WriteFile(filepath.Join(r.Out, "checksums.txt"), []byte(lines.String()), 0o644)
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
