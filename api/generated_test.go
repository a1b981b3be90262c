package api_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
)

// generatedTime bounds the run of generated requests.
const generatedTime = 2 * time.Minute

// Requests that are generated from the OpenAPI document, valid and invalid ones, are answered as the document says, and
// none with a failure of ours. They are made by schemathesis, a program from PyPI; MILLRACE_SCHEMATHESIS names it where
// it is not in the path. Routes whose parts this service does not have are left out.
func TestGeneratedRequestsAreAnsweredAsDocumented(t *testing.T) {
	t.Parallel()
	program := os.Getenv("MILLRACE_SCHEMATHESIS")
	if program == "" {
		var err error
		if program, err = exec.LookPath("schemathesis"); err != nil {
			t.Skip("schemathesis is not installed (pip install schemathesis): no requests are generated")
		}
	}
	h := startFiles(t, api.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), generatedTime+time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, program, "run", h.url+"/openapi.json", "--header", "X-API-Key: key-a", "--seed", "1", "--max-time", "60",
		"--phases", "coverage,fuzzing", "--checks", "not_a_server_error", "--mode", "all", "--request-timeout", "10",
		"--exclude-path-regex", "/ws$|/events$|/logs$|^/v[12]/|/webhooks|/object_info|/tasks/|/assets/exports?|/history", "--continue-on-failure", "--suppress-health-check", "all", "--no-color")
	run.Dir = t.TempDir()
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
