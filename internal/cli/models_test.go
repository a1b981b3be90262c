package cli_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli"
)

func TestModelsListRequiredVariables(t *testing.T) {
	t.Parallel()
	out, err := run(t, "models")
	require.NoError(t, err)
	require.Regexp(t, `bfl/flux-2-pro +submit-poll +FLUX\.2 \[pro\] +set BFL_API_KEY`, out)
	require.Regexp(t, `sim/echo +sync +Echo +yes`, out)
	out, err = run(t, "models", "minimax/hailuo-02")
	require.NoError(t, err)
	require.Contains(t, out, "/file/download_url, for 12h0m0s")
	_, err = run(t, "models", "bfl/flux-2-por")
	require.ErrorContains(t, err, "perhaps bfl/flux-2-pro")
}

func TestCatalogFilesAreChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "acme.yaml")
	const head = "provider: acme\nbase: https://a.example\nauth: {kind: none}\nmodels:\n  - model: x\n    submit: {url: /a}\n"
	require.NoError(t, os.WriteFile(file, []byte(head+"    price: {exact: '1'}\n"), 0o600))
	_, err := run(t, "models", "check", dir)
	require.ErrorContains(t, err, "acme.yaml:7: models[0].price: needs as_of")
	require.NoError(t, os.WriteFile(file, []byte(head+"    price: {exact: '1', as_of: 2026-11-01}\n"), 0o600))
	out, err := run(t, "models", "check", dir)
	require.NoError(t, err)
	require.Contains(t, out, "no mistakes: ")
}

func TestTheSimulatorIsServedUntilItIsStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	cmd := cli.Command(write, io.Discard, func(string) (string, bool) { return "", false })
	cmd.SetArgs([]string{"sim", "--addr", "127.0.0.1:0"})
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	line, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	base := regexp.MustCompile(`http://\S+`).FindString(line)
	resp, err := http.Get(base + "/charges") // a test
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode)
	stop()
	require.NoError(t, <-done)
}
