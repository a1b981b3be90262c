package job_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

func TestSecretsAreReadAsTheyWereSealed(t *testing.T) {
	t.Parallel()
	for _, s := range []job.Secrets{
		{},
		{Credential: "a key"},
		{Credential: `{"credential":"x"}`},
		{ComfyOrg: map[string]string{"api_key_comfy_org": "k"}},
		{Credential: "a", ComfyOrg: map[string]string{"auth_token_comfy_org": "t"}},
	} {
		read, err := job.ParseSecrets(s.Text())
		require.NoError(t, err)
		require.Equal(t, s, read)
	}
	require.Equal(t, "a key", job.Secrets{Credential: "a key"}.Text(), "a credential alone is sealed as before")
	_, err := job.ParseSecrets("\x00{")
	require.Error(t, err)
}
