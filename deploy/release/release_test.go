package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// small is a release of a program that needs no minutes to build, under the names of the real ones.
func small(t *testing.T, out string) Release {
	t.Helper()
	return Release{
		Version: "v1.2.3", Out: out, Root: "../..", Time: time.Unix(1_800_000_000, 0).UTC(),
		Targets: []Target{{"linux", "amd64"}, {"darwin", "arm64"}},
		Programs: []Program{
			{Name: "millrace", Dir: ".", Package: "./testdata/hello", Flags: "-s -w"},
			{Name: "millrace-temporal", Dir: ".", Package: "./testdata/hello", Flags: "-s -w"},
		},
		Log: func(string) {},
	}
}

func TestAReleaseHasEverythingAndIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	out, again := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	require.NoError(t, small(t, out).Make())
	require.NoError(t, small(t, again).Make())
	sums, err := os.ReadFile(filepath.Join(out, "checksums.txt"))
	require.NoError(t, err)
	same, err := os.ReadFile(filepath.Join(again, "checksums.txt"))
	require.NoError(t, err)
	require.Equal(t, string(same), string(sums), "the same sources make the same bytes")

	var names []string
	for lines := bufio.NewScanner(bytes.NewReader(sums)); lines.Scan(); {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		require.True(t, ok, lines.Text())
		got, err := sumOf(filepath.Join(out, name))
		require.NoError(t, err)
		require.Equal(t, sum, got, name)
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{
		"millrace_1.2.3_linux_amd64.tar.gz", "millrace_1.2.3_linux_amd64.deb", "millrace_1.2.3_linux_amd64.rpm",
		"millrace_1.2.3_linux_amd64.sbom.json",
		"millrace_1.2.3_darwin_arm64.tar.gz", "millrace_1.2.3_darwin_arm64.sbom.json",
	}, names)
	require.Equal(t, []string{"millrace", "millrace-temporal", "LICENSE", "README.md"},
		archived(t, filepath.Join(out, "millrace_1.2.3_linux_amd64.tar.gz")))
	require.FileExists(t, filepath.Join(out, "image", "amd64", "millrace"))

	var bom struct {
		BOMFormat  string `json:"bomFormat"`
		Components []struct {
			PackageURL string `json:"purl"`
		} `json:"components"`
	}
	raw, err := os.ReadFile(filepath.Join(out, "millrace_1.2.3_linux_amd64.sbom.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &bom))
	require.Equal(t, "CycloneDX", bom.BOMFormat)
	var modules []string
	for _, c := range bom.Components {
		modules = append(modules, c.PackageURL)
	}
	require.Contains(t, strings.Join(modules, "\n"), "pkg:golang/github.com/CycloneDX/cyclonedx-go@v")
	require.Contains(t, strings.Join(modules, "\n"), "pkg:golang/std@1.")
}

// A profile that the compiler reads is of the program for which it is used: its functions are there.
func TestProgramsAreOptimisedByTheirProfiles(t *testing.T) {
	t.Parallel()
	for i, function := range []string{"github.com/millrace-dev/millrace/internal/domain/", "go.temporal.io/server/service/history"} {
		p := programs("../..", "v1.2.3", "dev")[i]
		top, err := exec.Command("go", "tool", "pprof", "-top", "-cum", "-nodecount=500", p.Profile).Output()
		require.NoError(t, err)
		require.Contains(t, string(top), function, p.Profile)

		to := filepath.Join(t.TempDir(), p.Name)
		p.Dir, p.Package, p.Flags = ".", "./testdata/hello", ""
		require.NoError(t, Release{}.build(Target{"linux", "amd64"}, p, to))
		info, err := buildinfo.ReadFile(to)
		require.NoError(t, err)
		require.Contains(t, info.Settings, debug.BuildSetting{Key: "-pgo", Value: p.Name + ".pgo"})
	}
}

// TestThePackageIsOneForDebian asks Debian's own tool, where it is installed.
func TestThePackageIsOneForDebian(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("dpkg-deb")
	if err != nil {
		t.Skip("SKIPPED: dpkg-deb is not installed")
	}
	r := small(t, filepath.Join(t.TempDir(), "out"))
	r.Targets = r.Targets[:1]
	require.NoError(t, r.Make())
	file := filepath.Join(r.Out, "millrace_1.2.3_linux_amd64.deb")
	fields, err := exec.Command(tool, "--field", file, "Package", "Version", "Architecture").Output()
	require.NoError(t, err)
	require.Equal(t, "Package: millrace\nVersion: 1.2.3\nArchitecture: amd64\n", string(fields))
	contents, err := exec.Command(tool, "--contents", file).Output()
	require.NoError(t, err)
	require.Regexp(t, `-rwxr-xr-x root/root .* \./usr/bin/millrace\n`, string(contents))
	require.Regexp(t, `-rwxr-xr-x root/root .* \./usr/bin/millrace-temporal\n`, string(contents))
	require.Regexp(t, `-rw-r----- root/root .* \./etc/millrace/millrace\.env\n`, string(contents), "it may have secrets")
	for _, path := range []string{
		"/usr/lib/systemd/system/millrace.service", "/usr/lib/sysusers.d/millrace.conf", "/usr/share/man/man1/millrace.1",
		"/usr/share/bash-completion/completions/millrace", "/usr/share/zsh/vendor-completions/_millrace",
		"/usr/share/fish/vendor_completions.d/millrace.fish",
	} {
		require.Regexp(t, `-rw-r--r-- root/root .* \.`+regexp.QuoteMeta(path)+`\n`, string(contents))
	}
	needs, err := exec.Command(tool, "--field", file, "Depends").Output()
	require.NoError(t, err)
	require.Equal(t, "postgresql\n", string(needs), "the service starts a PostgreSQL of its own")
	control := t.TempDir()
	require.NoError(t, exec.Command(tool, "--control", file, control).Run())
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		require.NoError(t, exec.Command("sh", "-n", filepath.Join(control, script)).Run(), script)
	}
	settings, err := os.ReadFile(filepath.Join(control, "conffiles"))
	require.NoError(t, err)
	require.Equal(t, "/etc/millrace/millrace.env\n", string(settings), "an upgrade keeps what the operator has written")
}

// TestThePackageIsOneForRPM installs it below a directory with rpm's own tool, where that is installed.
func TestThePackageIsOneForRPM(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("rpm")
	if err != nil {
		t.Skip("SKIPPED: rpm is not installed")
	}
	r := small(t, filepath.Join(t.TempDir(), "out"))
	r.Targets = r.Targets[:1]
	require.NoError(t, r.Make())
	file, root := filepath.Join(r.Out, "millrace_1.2.3_linux_amd64.rpm"), t.TempDir()
	ask := func(args ...string) string {
		out, err := exec.Command(tool, args...).Output()
		require.NoError(t, err, args)
		return string(out)
	}
	require.Contains(t, ask("-qp", "--requires", file), "postgresql-server\n", "the service starts a PostgreSQL of its own")
	require.Equal(t, "/etc/millrace/millrace.env\n", ask("-qpc", file), "an upgrade keeps what the operator has written")
	for _, script := range []string{"%{POSTIN}", "%{PREUN}", "%{POSTUN}"} {
		check := exec.Command("sh", "-n")
		check.Stdin = strings.NewReader(ask("-qp", "--qf", script, file))
		require.NoError(t, check.Run(), script)
	}
	ask("--root", root, "--initdb")
	ask("--root", root, "-i", "--nodeps", "--noscripts", file)
	for _, path := range []string{
		"usr/bin/millrace", "usr/lib/systemd/system/millrace.service", "usr/lib/sysusers.d/millrace.conf",
		"usr/share/zsh/site-functions/_millrace", "usr/share/man/man1/millrace.1",
	} {
		require.FileExists(t, filepath.Join(root, path))
	}
	ask("--root", root, "-e", "--nodeps", "--noscripts", "millrace")
	for _, path := range []string{"usr/bin/millrace", "usr/share/doc/millrace", "etc/millrace"} {
		require.NoDirExists(t, filepath.Join(root, path))
		require.NoFileExists(t, filepath.Join(root, path))
	}
}

func TestBadTargetsAndVersionsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := parseTargets("linux/amd64,plan9/386")
	require.ErrorContains(t, err, `no release is made for "plan9/386"`)
	all, err := parseTargets("")
	require.NoError(t, err)
	require.Equal(t, Targets, all)
	require.ErrorContains(t, run("", "", t.TempDir(), "../..", ""), "-version names the release")
}

func archived(t *testing.T, path string) (names []string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	require.NoError(t, err)
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		require.NoError(t, err)
		names = append(names, h.Name)
	}
}
