// Package compose_test runs docker-compose.yml. Images are built from the program of this tree; PostgreSQL and
// Temporal are the images in the file, or substitutes of the same names if the engine does not have them. A job runs
// through the composed service. The test checks that the settings and mounts of the file reach the processes. Without
// an engine, it is skipped with a message.
package compose_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
)

// engineEnv enables the test: building images takes minutes, and leaves them in the engine.
const engineEnv = "MILLRACE_TEST_COMPOSE"

// deployment is one project of the compose file.
type deployment struct {
	t       *testing.T
	compose []string // the command of Compose
	env     []string
	project string
	base    string
	token   string
}

// engine returns the command of Compose, or skips the test.
func engine(t *testing.T) []string {
	t.Helper()
	if os.Getenv(engineEnv) == "" {
		t.Skipf("the composed service is not run: make test/compose (%s=1) builds images and needs a container engine", engineEnv)
	}
	if out, err := exec.CommandContext(t.Context(), "docker", "info").CombinedOutput(); err != nil {
		t.Skipf("the composed service is not run, because no container engine answers: %v: %s", err, lastLine(out))
	}
	for _, command := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		if exec.CommandContext(t.Context(), command[0], append(command[1:], "version")...).Run() == nil {
			return command
		}
	}
	t.Skip("the composed service is not run: neither docker compose nor docker-compose is installed")
	return nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// newDeployment prepares a project with secrets, a catalog directory and settings of its own. It starts nothing.
func newDeployment(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{t: t, compose: engine(t), project: "millrace-" + uuid.NewString()[:8]}
	dir := t.TempDir()
	secrets, catalog := filepath.Join(dir, "secrets"), filepath.Join(dir, "catalog")
	require.NoError(t, os.Mkdir(catalog, 0o755)) // the containers' user reads it
	require.NoError(t, os.WriteFile(filepath.Join(catalog, "mine.yaml"), []byte(entry), 0o644))
	d.run("../../deploy/secrets.sh", secrets)
	token, err := os.ReadFile(filepath.Join(secrets, "token"))
	require.NoError(t, err)
	address, err := ports.Address()
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	d.base, d.token = "http://127.0.0.1:"+port, strings.TrimSpace(string(token))
	d.env = []string{
		"MILLRACE_IMAGE=" + buildImage(t), "MILLRACE_SECRETS=" + secrets, "MILLRACE_CATALOG_DIR=" + catalog, "MILLRACE_PORT=" + port,
		"MILLRACE_PUBLIC_URL=https://jobs.example.org", "MILLRACE_MAX_NODES=7", "RUNWARE_API_KEY=a-key-of-a-provider",
	}
	return d
}

// entry is a model of the operator whose credential is RUNWARE_API_KEY.
const entry = `provider: mine
base: https://models.example.org
auth: {kind: header, header: Authorization, scheme: Bearer, env: [RUNWARE_API_KEY]}
defaults: {charges_on_policy_rejection: no}
models:
  - model: echo
    title: Echo
    docs: https://models.example.org/docs
    protocol: sync
    submit: {url: /echo}
    price: {exact: '0.01', as_of: 2026-11-01}
    input: {type: object, required: [prompt], properties: {prompt: {type: string}}}
    output: {type: object}
    example: {prompt: hello}
`

// buildImage builds the image of this tree's program and substitutes for images that the engine does not have.
func buildImage(t *testing.T) string {
	t.Helper()
	const image = "millrace:compose-test"
	command(t, []string{"DOCKER_BUILDKIT=1"}, "standins/build.sh")
	command(t, []string{"DOCKER_BUILDKIT=1"}, "docker", "build", "-t", image, "--build-arg", "BINARIES=release", "--build-arg",
		"TARGETARCH="+runtime.GOARCH, "../..")
	return image
}

func command(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
	return string(out)
}

func (d *deployment) run(name string, args ...string) string {
	d.t.Helper()
	return command(d.t, d.env, name, args...)
}

// in runs Compose on the project.
func (d *deployment) in(args ...string) string {
	d.t.Helper()
	return d.run(d.compose[0], d.arguments(args...)...)
}

// arguments returns the arguments of Compose for the project.
func (d *deployment) arguments(args ...string) []string {
	return append(append(append([]string{}, d.compose[1:]...), "-p", d.project, "-f", "../../docker-compose.yml"), args...)
}

// start starts the roles and waits until the API reports that it is ready.
func (d *deployment) start() {
	d.t.Helper()
	d.t.Cleanup(d.stop)
	d.in("up", "-d", "--no-build", "api", "worker", "projector")
	d.await("readiness", func() bool {
		status, _ := d.get("/readyz")
		return status == http.StatusOK
	})
}

// stop removes the project. After a failure it prints the logs.
func (d *deployment) stop() {
	for _, args := range [][]string{{"logs", "--tail", "40"}, {"down", "-v", "-t", "5"}} {
		if args[0] == "logs" && !d.t.Failed() {
			continue
		}
		cmd := exec.Command(d.compose[0], d.arguments(args...)...) //nolint:noctx // the test's context has ended
		cmd.Env = append(os.Environ(), d.env...)
		if out, err := cmd.CombinedOutput(); err != nil || args[0] == "logs" {
			d.t.Logf("%v: %v\n%s", args, err, out)
		}
	}
}

// longest bounds every wait: three roles, PostgreSQL and Temporal start on one machine.
const longest = 3 * time.Minute

func (d *deployment) await(what string, done func() bool) {
	d.t.Helper()
	require.Eventually(d.t, done, longest, 250*time.Millisecond, what)
}

func (d *deployment) get(path string) (int, []byte) {
	d.t.Helper()
	return d.ask(http.MethodGet, path, nil)
}

// ask sends a request. If the API does not answer, the status is 0.
func (d *deployment) ask(method, path string, body any) (int, []byte) {
	d.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(d.t, err)
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.base+path, bytes.NewReader(raw))
	require.NoError(d.t, err)
	req.Header.Set("Authorization", "Bearer "+d.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}
	return resp.StatusCode, answer
}

// job submits a graph of the given number of nodes.
func (d *deployment) job(nodes int) (status int, answer string) {
	d.t.Helper()
	graph := map[string]any{"1": node("EmptyImage", map[string]any{"width": 64, "height": 64, "batch_size": 1, "color": 3368601})}
	for n := 2; n < nodes; n++ {
		graph[fmt.Sprint(n)] = node("ImageInvert", map[string]any{"image": []any{fmt.Sprint(n - 1), 0}})
	}
	graph[fmt.Sprint(nodes)] = node("SaveImage", map[string]any{"images": []any{fmt.Sprint(nodes - 1), 0}, "filename_prefix": "composed"})
	status, body := d.ask(http.MethodPost, "/api/prompt", map[string]any{"prompt": graph})
	return status, string(body)
}

func node(class string, inputs map[string]any) map[string]any {
	return map[string]any{"class_type": class, "inputs": inputs}
}

// A job runs through the composed service, and settings and mounts are in force in every role.
func TestComposedServiceRunsAJobWithItsSettings(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.start()
	d.runsAJob()
	d.refusesAWrongToken()
	for _, role := range []string{"api", "worker", "projector"} {
		described := d.in("exec", "-T", role, "millrace", "models", "mine/echo")
		require.Regexp(t, `enabled +yes`, described, "%s: the catalog that is mounted, and the key of its model", role)
		require.Contains(t, d.in("exec", "-T", role, "printenv", "MILLRACE_PUBLIC_URL", "MILLRACE_AUTH"), "https://jobs.example.org\ntoken", role)
	}
	d.await("a service in which doctor finds nothing to mend", func() bool {
		cmd := exec.CommandContext(t.Context(), d.compose[0], d.arguments("exec", "-T", "worker", "millrace", "doctor")...)
		cmd.Env = append(os.Environ(), d.env...)
		return cmd.Run() == nil
	})
}

func (d *deployment) runsAJob() {
	d.t.Helper()
	status, answer := d.job(3)
	require.Equal(d.t, http.StatusOK, status, answer)
	var accepted struct {
		ID string `json:"prompt_id"`
	}
	require.NoError(d.t, json.Unmarshal([]byte(answer), &accepted))
	var raw []byte
	d.await("the end of the job", func() bool {
		_, raw = d.get("/api/v2/jobs/" + accepted.ID)
		return bytes.Contains(raw, []byte(`"completed_at":"`))
	})
	require.Contains(d.t, string(raw), "https://jobs.example.org/", "MILLRACE_PUBLIC_URL")
	require.Contains(d.t, string(raw), "composed_00001_.png")

	status, answer = d.job(8)
	require.Equal(d.t, http.StatusBadRequest, status, "MILLRACE_MAX_NODES: %s", answer)
}

func (d *deployment) refusesAWrongToken() {
	d.t.Helper()
	good := d.token
	defer func() { d.token = good }()
	d.token = "wrong"
	status, _ := d.get("/api/v2/jobs")
	require.Equal(d.t, http.StatusUnauthorized, status, "MILLRACE_TOKEN_FILE")
}
