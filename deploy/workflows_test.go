package deploy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// What a change is checked by elsewhere is what it is checked by here: the whole check, and the composed service.
func TestWorkflowRunsTheWholeCheck(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../.github/workflows/check.yml")
	require.NoError(t, err)
	var workflow struct {
		Jobs map[string]struct{ Steps []struct{ Run, Uses string } }
	}
	require.NoError(t, yaml.Unmarshal(raw, &workflow))
	var runs []string
	for _, job := range workflow.Jobs {
		require.Regexp(t, `^actions/checkout@`, job.Steps[0].Uses)
		for _, step := range job.Steps {
			runs = append(runs, step.Run)
		}
	}
	require.Contains(t, runs, "bash .ci/run")
	require.Contains(t, runs, "make test/compose")
	_, err = os.Stat("../.ci/run")
	require.NoError(t, err)
}

// A tag makes a release with the same commands that anybody has.
func TestATagMakesARelease(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../.github/workflows/release.yml")
	require.NoError(t, err)
	var workflow struct {
		On struct {
			Push struct{ Tags []string }
		}
		Jobs map[string]struct{ Steps []struct{ Run string } }
	}
	require.NoError(t, yaml.Unmarshal(raw, &workflow))
	require.Equal(t, []string{"v*"}, workflow.On.Push.Tags)
	var runs strings.Builder
	for _, step := range workflow.Jobs["release"].Steps {
		runs.WriteString(step.Run + "\n")
	}
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	for _, target := range []string{"release", "images"} {
		require.Contains(t, runs.String(), "make "+target+" ")
		require.Contains(t, string(makefile), "\n"+target+": ## ")
	}
}
