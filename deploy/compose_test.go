// Package deploy_test checks the files for deployments that are shipped with the program.
package deploy_test

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/millrace-dev/millrace/internal/config"
)

// Compose refuses a whole file in which a dollar sign is neither doubled nor the start of a variable.
func TestComposeFileInterpolates(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	dollars := regexp.MustCompile(`\$(\$|[_a-zA-Z][_a-zA-Z0-9]*|\{[_a-zA-Z][_a-zA-Z0-9]*(:?[-?+][^}]*)?\}|.?)`)
	good := regexp.MustCompile(`^\$(\$|[_a-zA-Z]\w*|\{.+\})$`)
	found := dollars.FindAllString(string(raw), -1)
	require.NotEmpty(t, found)
	for _, use := range found {
		require.Regexp(t, good, use)
	}
}

// composed is what the tests read of the file.
type composed struct {
	Services map[string]struct {
		Image, Build any
		Command      []string
		Environment  map[string]*string
		Depends      map[string]struct{ Condition string } `yaml:"depends_on"`
		HealthCheck  struct{ Test []string }
		Ports        []string
		Volumes      []string
		Secrets      []string
		Grace        string `yaml:"stop_grace_period"`
	}
	Secrets map[string]struct{ File string }
}

func readCompose(t *testing.T) (composed, string) {
	t.Helper()
	raw, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	var file composed
	require.NoError(t, yaml.Unmarshal(raw, &file))
	return file, string(raw)
}

// A setting that the file does not name never reaches a container, however it is set outside; a role that lacks one
// differs from the others.
func TestComposePassesEverySettingToEveryRole(t *testing.T) {
	t.Parallel()
	file, raw := readCompose(t)
	const begin, end = "    # settings: begin\n", "    # settings: end\n"
	head, rest, found := strings.Cut(raw, begin)
	_, tail, ended := strings.Cut(rest, end)
	require.True(t, found && ended, "docker-compose.yml has lost the marks of its settings")
	var block strings.Builder
	for _, name := range settings(t) {
		if !strings.Contains(head, "\n    "+name+": ") {
			block.WriteString("    " + name + ":\n")
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("../docker-compose.yml", []byte(head+begin+block.String()+end+tail), 0o644))
		file, _ = readCompose(t)
	}
	for _, role := range []string{"api", "worker", "projector"} {
		var passed []string
		for name := range file.Services[role].Environment {
			passed = append(passed, name)
		}
		require.ElementsMatch(t, settings(t), passed, "%s: run go test ./deploy -update", role)
	}
}

// Roles that read a file must be given it: its variable is of no use otherwise.
func TestComposeMountsWhatItsSettingsName(t *testing.T) {
	t.Parallel()
	file, _ := readCompose(t)
	for _, role := range []string{"api", "worker", "projector"} {
		s := file.Services[role]
		for name, value := range s.Environment {
			if value == nil || !strings.HasSuffix(name, config.FileSuffix) {
				continue
			}
			secret := strings.TrimPrefix(*value, "/run/secrets/")
			require.Contains(t, s.Secrets, secret, "%s of %s", name, role)
			require.NotEmpty(t, file.Secrets[secret].File, name)
		}
		mounts := strings.Join(s.Volumes, "\n")
		require.Contains(t, *s.Environment["MILLRACE_CATALOG"], ":-/etc/millrace/catalog}")
		for _, target := range []string{":/etc/millrace/catalog:ro", ":/usr/share/millrace/editor:ro", "data:/var/lib/millrace"} {
			require.Contains(t, mounts, target, role)
		}
	}
}

// A worker is given the time that it asks for: calls of partner models take minutes.
func TestComposeLetsWorkersFinish(t *testing.T) {
	t.Parallel()
	file, _ := readCompose(t)
	worker := file.Services["worker"]
	grace, err := time.ParseDuration(worker.Grace)
	require.NoError(t, err)
	asked := regexp.MustCompile(`:-(.+)}`).FindStringSubmatch(*worker.Environment["MILLRACE_STOP_AFTER"])
	require.Len(t, asked, 2)
	stop, err := time.ParseDuration(asked[1])
	require.NoError(t, err)
	require.GreaterOrEqual(t, stop, 5*time.Minute)
	require.Greater(t, grace, stop)
}

// PostgreSQL, Temporal with its UI, and the three roles, each of which starts when what it needs is healthy. X-26.
func TestComposeHasTheWholeTopology(t *testing.T) {
	t.Parallel()
	file, _ := readCompose(t)
	for name, image := range map[string]string{
		"postgres": "^postgres:", "temporal": "^temporalio/auto-setup:",
		"temporal-ui": "^temporalio/ui:",
	} {
		require.Regexp(t, image, file.Services[name].Image)
	}
	require.Equal(t, "service_healthy", file.Services["temporal"].Depends["postgres"].Condition)
	require.Equal(t, "service_healthy", file.Services["temporal-ui"].Depends["temporal"].Condition)
	for _, role := range []string{"api", "worker", "projector"} {
		s := file.Services[role]
		require.Equal(t, []string{"serve", "--roles", role}, s.Command[:3])
		require.NotEmpty(t, s.HealthCheck.Test, role)
		for _, needed := range []string{"postgres", "temporal"} {
			require.Equal(t, "service_healthy", s.Depends[needed].Condition, "%s before %s", needed, role)
		}
	}
	for name, s := range file.Services {
		for _, port := range s.Ports {
			require.Regexp(t, `^127\.0\.0\.1:`, port, "%s is not open to the network by default", name)
		}
	}
}

// A secret with a default is the same in every deployment in which nobody changed it: secrets come from files, which
// the script makes at random.
func TestComposeSetsNoDefaultPassword(t *testing.T) {
	t.Parallel()
	file, raw := readCompose(t)
	secret := regexp.MustCompile(`\$\{(\w*(?:PASSWORD|PWD|SECRET_KEY|TOKEN)\w*)(:?[-?+][^}]*)?\}`)
	require.Empty(t, secret.FindAllString(raw, -1), "secrets come from files")
	require.Len(t, file.Secrets, 4)

	first, second := t.TempDir()+"/a", t.TempDir()+"/b"
	for _, dir := range []string{first, second, first} { // again: what is there is kept
		out, err := exec.CommandContext(t.Context(), "./secrets.sh", dir).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	for name, s := range file.Secrets {
		base := path.Base(s.File)
		one, err := os.ReadFile(path.Join(first, base))
		require.NoError(t, err, name)
		two, err := os.ReadFile(path.Join(second, base))
		require.NoError(t, err)
		require.Greater(t, len(one), 32, name)
		require.NotEqual(t, one, two, name)
	}
	url, err := os.ReadFile(path.Join(first, "database-url"))
	require.NoError(t, err)
	password, err := os.ReadFile(path.Join(first, "postgres-password"))
	require.NoError(t, err)
	require.Contains(t, string(url), ":"+strings.TrimSpace(string(password))+"@")
	info, err := os.Stat(first)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}
