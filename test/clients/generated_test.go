package clients_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// generated are the installed programs that make clients of OpenAPI documents.
type generated struct{ python, modules string }

// generators installs the programs.
func generators(t *testing.T) generated {
	t.Helper()
	return generated{
		python:  pythonClient(t, "openapi-python-client", "python/generated-requirements.txt"),
		modules: npmClient(t, "openapi-typescript", "generated"),
	}
}

// calls makes clients in Python and TypeScript of the document of a deployment, and returns commands that call it with them.
func (g generated) calls(t *testing.T, address, key string) []*exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/openapi.json", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("X-API-Key", key)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	document, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "openapi.json"), document, 0o600))
	copyFile(t, "python/drive_generated.py", filepath.Join(dir, "drive.py"))
	for _, name := range []string{"package.json", "call.ts"} {
		copyFile(t, filepath.Join("generated", name), filepath.Join(dir, name))
	}
	require.NoError(t, os.Symlink(g.modules, filepath.Join(dir, "node_modules")))
	python, bin := filepath.Join(g.python, "bin"), filepath.Join(g.modules, ".bin")
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+python+":"+os.Getenv("PATH"))
		return cmd
	}
	for _, cmd := range []*exec.Cmd{
		command(filepath.Join(python, "openapi-python-client"), "generate", "--path", "openapi.json", "--output-path", "portrait",
			"--meta", "none"),
		command(filepath.Join(bin, "openapi-typescript"), "openapi.json", "--default-non-nullable=false", "--output", "portrait.d.ts"),
		command(filepath.Join(bin, "tsc"), "--strict", "--noUncheckedIndexedAccess", "--skipLibCheck", "--module", "nodenext",
			"--target", "es2022", "--lib", "es2022,dom,dom.iterable", "call.ts"),
	} {
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", cmd.Path, out)
		require.NotContains(t, string(out), "WARNING", "a part of the document has no client")
	}
	return []*exec.Cmd{command(filepath.Join(python, "python"), "drive.py", address, key), command("node", "call.js", address, key)}
}
