package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli"
)

// run executes a command line that needs no server.
func run(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := cli.Command(&out, &errs, func(string) (string, bool) { return "", false })
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestTheReferenceOfNodesIsCurrent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := run(t, "nodes", "--markdown", dir)
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(dir, "nodes", "*.md"))
	require.NoError(t, err)
	require.Len(t, pages, 5, "a page for each family")
	for _, page := range append(pages, filepath.Join(dir, "nodes.md")) {
		name, err := filepath.Rel(dir, page)
		require.NoError(t, err)
		current, err := os.ReadFile(page)
		require.NoError(t, err)
		committed, err := os.ReadFile(filepath.Join("../../docs", name))
		require.NoError(t, err)
		require.Equal(t, string(current), string(committed), "%s: run: make generate", name)
	}
}

// Without ffmpeg, the classes of sound and video are not available, and the list does not contain them.
func TestNodesListsWhatIsServed(t *testing.T) {
	t.Parallel()
	nodes := func(ffmpeg string, args ...string) string {
		var out, errs bytes.Buffer
		cmd := cli.Command(&out, &errs, func(name string) (string, bool) {
			return map[string]string{"MILLRACE_FFMPEG": ffmpeg, "MILLRACE_DATA": t.TempDir()}[name],
				name == "MILLRACE_FFMPEG" || name == "MILLRACE_DATA"
		})
		cmd.SetArgs(append([]string{"nodes"}, args...))
		require.NoError(t, cmd.ExecuteContext(t.Context()))
		require.Empty(t, errs.String())
		return out.String()
	}
	without := nodes("none")
	require.Contains(t, without, "\nSaveImage ")
	require.NotContains(t, without, "\nSaveAudio ")
	require.Regexp(t, `\d+ more are not available: ffmpeg is missing`, without)
	require.Contains(t, nodes("none", "--all"), "\nSaveAudio ")
	require.Contains(t, nodes("none", "SaveAudio"), "Not available: ffmpeg is missing")
	require.NotContains(t, nodes("none", "SaveImage"), "Not available")
}

func TestReferenceCommands(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"one class":          {[]string{"nodes", "ImageScale"}, "upscale_method"},
		"all classes":        {[]string{"nodes"}, "SaveImage"},
		"help of dev":        {[]string{"dev", "--help"}, "Ctrl-C stops everything"},
		"help of serve":      {[]string{"serve", "--help"}, "--roles"},
		"help of rebuilding": {[]string{"views", "rebuild", "--help"}, "--check"},
		"version":            {[]string{"version"}, "millrace "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, tc.args...)
			require.NoError(t, err)
			require.Contains(t, out, tc.want)
		})
	}
}

func TestUsageErrorsTakeASingleLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"unknown class":             {[]string{"nodes", "Nope"}, "millrace nodes"},
		"serve without servers":     {[]string{"serve"}, "DATABASE_URL"},
		"unknown role":              {[]string{"serve", "--roles", "cook"}, "api, worker, projector"},
		"wide without a credential": {[]string{"dev", "--addr", "0.0.0.0:0"}, "--auth"},
		"unknown view":              {[]string{"views", "rebuild", "nope"}, "jobs_v1"},
		"no database":               {[]string{"views", "list", "--data", "/nonexistent"}, "DATABASE_URL"},
		"no histories":              {[]string{"histories", "replay", "."}, "no histories"},
		"unknown log level":         {[]string{"dev", "--log", "loud"}, "debug, info, warn or error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := run(t, tc.args...)
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}
