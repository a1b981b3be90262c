package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config"
)

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// Every secret may come from a file, as orchestrators mount it. A trailing newline is not part of the secret.
func TestSecretsAreReadFromFiles(t *testing.T) {
	t.Parallel()
	for _, name := range config.Secrets() {
		want, err := config.Load(env(map[string]string{name: "from-a-file"}))
		require.NoError(t, err)
		got, err := config.Load(env(map[string]string{name + "_FILE": write(t, "from-a-file\n")}))
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
		require.NotEqual(t, config.Default(), got, name)
	}
}

func TestASecretFileThatIsWrongNamesTheRemedy(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for want, values := range map[string]map[string]string{
		"unset one":        {"MILLRACE_TOKEN": "a", "MILLRACE_TOKEN_FILE": write(t, "b")},
		"mount the file":   {"MILLRACE_TOKEN_FILE": missing},
		"write the value":  {"MILLRACE_TOKEN_FILE": write(t, " \n")},
		"DATABASE_URL_FIL": {"DATABASE_URL_FILE": missing},
	} {
		_, err := config.Load(env(values))
		require.ErrorContains(t, err, want)
	}
}

// If the file with a provider's key changes, the next request uses the new key.
func TestCredentialsOfProvidersFollowTheirFiles(t *testing.T) {
	t.Parallel()
	path := write(t, "first\n")
	values := env(map[string]string{"OPENAI_API_KEY_FILE": path, "FAL_KEY": "plain"})
	lookup := config.Credentials(values)
	value, set := lookup("OPENAI_API_KEY")
	require.True(t, set)
	require.Equal(t, "first", value)
	require.NoError(t, os.WriteFile(path, []byte("second"), 0o600))
	value, _ = lookup("OPENAI_API_KEY")
	require.Equal(t, "second", value)
	value, _ = lookup("FAL_KEY")
	require.Equal(t, "plain", value)

	require.NoError(t, config.CheckCredentials(values, []string{"OPENAI_API_KEY", "FAL_KEY", "BFL_API_KEY"}))
	require.NoError(t, os.Remove(path))
	_, set = lookup("OPENAI_API_KEY")
	require.False(t, set)
	require.ErrorContains(t, config.CheckCredentials(values, []string{"OPENAI_API_KEY"}), "OPENAI_API_KEY_FILE")
}
