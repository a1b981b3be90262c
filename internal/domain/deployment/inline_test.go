package deployment_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
)

func TestAGraphThatCallsNoDeploymentStaysAsItIs(t *testing.T) {
	t.Parallel()
	prompt := `{"1": {"class_type": "PrimitiveString", "inputs": {"value": "Deployment.portrait"}, "_meta": {"title": "a", "colour": "red"}}}`
	got, err := deployment.NewService(deployment.Deps{}).Inline(t.Context(), job.Submission{Account: "acme", Prompt: []byte(prompt)})
	require.NoError(t, err)
	require.Equal(t, prompt, string(got))
}
