// Package deploy_test checks what is shipped beside the program.
package deploy_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

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

// A setting that the file does not name never reaches a container, however it is set outside.
func TestComposePassesEverySettingOn(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	var file struct {
		Services map[string]struct {
			Command     []string
			Environment map[string]*string
			HealthCheck struct{ Test []string }
		}
	}
	require.NoError(t, yaml.Unmarshal(raw, &file))
	// These are the container's own: roles and addresses by flags, the directory by the image.
	own := []string{"MILLRACE_ROLES", "MILLRACE_ADDR", "MILLRACE_INTERNAL_ADDR", "MILLRACE_ADVERTISE_URL", "MILLRACE_DATA"}
	front := []string{"MILLRACE_AUTH", "MILLRACE_TOKEN", "MILLRACE_PUBLIC_URL"} // of the api only
	for _, role := range []string{"api", "worker", "projector"} {
		service := file.Services[role]
		require.Contains(t, service.Command, role)
		for _, name := range config.Variables() {
			if slices.Contains(own, name) || role != "api" && slices.Contains(front, name) {
				continue
			}
			_, named := service.Environment[name]
			require.True(t, named, "add the line %q to the environment of docker-compose.yml", name+":")
		}
		require.Contains(t, service.Environment, "OPENAI_API_KEY", role)
	}
	for _, name := range []string{"postgres", "temporal", "api", "worker", "projector"} {
		require.NotEmpty(t, file.Services[name].HealthCheck.Test, name)
	}
	require.Contains(t, file.Services, "temporal-ui")
}

// PostgreSQL, Temporal with its UI, and the three roles, each of which starts when what it needs is healthy. X-26.
func TestComposeHasTheWholeTopology(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	var file struct {
		Services map[string]struct {
			Image, Build any
			Command      []string
			Depends      map[string]struct{ Condition string } `yaml:"depends_on"`
			HealthCheck  struct{ Test []string }
			Ports        []string
		}
	}
	require.NoError(t, yaml.Unmarshal(raw, &file))
	for name, image := range map[string]string{"postgres": "^postgres:", "temporal": "^temporalio/auto-setup:", "temporal-ui": "^temporalio/ui:"} {
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

// A secret with a default is the same in every deployment that was not told to change it.
func TestComposeSetsNoDefaultPassword(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	secret := regexp.MustCompile(`\$\{(\w*(?:PASSWORD|PWD|SECRET|TOKEN)\w*)(:?[-?+][^}]*)?\}`)
	uses := secret.FindAllStringSubmatch(string(raw), -1)
	require.NotEmpty(t, uses)
	for _, use := range uses {
		require.NotRegexp(t, `^:?-.+`, use[2], "%s has a default", use[1])
	}
}
