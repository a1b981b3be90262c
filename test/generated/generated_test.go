// Package generated_test tests a complete service with requests that schemathesis, a program from PyPI, generates from
// the service's OpenAPI document.
package generated_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// generatedTime bounds the time in which requests are generated, in seconds.
const generatedTime = "110"

// tally is the output of testdata/hooks.py.
type tally struct {
	Answers map[string]map[string]int // by operation and kind of request with the status of its answer
	Refused map[string]string         // refusals that the document does not explain, with a request for each
}

// succeeded reports whether a request that the document allows succeeded; a redirect counts as success.
func (a tally) succeeded(operation string) bool {
	for answer := range a.Answers[operation] {
		if strings.HasPrefix(answer, "allowed 2") || strings.HasPrefix(answer, "allowed 3") {
			return true
		}
	}
	return false
}

// unsuccessful lists the operations of which no generated request succeeds, each with the reason.
var unsuccessful = map[string]string{
	"GET /ws":                         "a request that is no handshake of a WebSocket is refused",
	"GET /assets/remote-metadata":     "generated addresses lead to a host that does not exist",
	"GET /models/{folder}":            "there are no models without a ComfyUI server",
	"GET /experiment/models/{folder}": "there are no models without a ComfyUI server",
	"GET /global_subgraphs/{id}":      "there are no subgraphs",

	"GET /experiment/models/preview/{folder}/{index}/{name}": "there are no models without a ComfyUI server",
}

func whyUnsuccessful(operation string) string {
	if strings.Contains(operation, "{variant}") {
		return "no model of the catalog has variants"
	}
	return unsuccessful[operation]
}

// operations returns the operations of a document, with schemathesis's names.
func operations(t *testing.T, document []byte) []string {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]any
	}
	require.NoError(t, json.Unmarshal(document, &doc))
	var all []string
	for path, methods := range doc.Paths {
		for _, method := range []string{"get", "head", "post", "put", "patch", "delete", "options"} {
			if methods[method] != nil {
				all = append(all, strings.ToUpper(method)+" "+path)
			}
		}
	}
	return all
}

// Requests that are generated from the OpenAPI document, valid and invalid, are answered as the document says, and
// none causes an internal error. A request that the document allows is refused only for a reason in the document.
// MILLRACE_SCHEMATHESIS is the path of the program if it is not in the search path.
func TestGeneratedRequestsAreAnsweredAsDocumented(t *testing.T) {
	t.Parallel()
	program := os.Getenv("MILLRACE_SCHEMATHESIS")
	if program == "" {
		var err error
		if program, err = exec.LookPath("schemathesis"); err != nil {
			t.Skip("schemathesis is not installed (make test/generated installs it): no requests are generated")
		}
	}
	s, dir := start(t), t.TempDir()
	hooks, err := filepath.Abs("testdata")
	require.NoError(t, err)
	known, err := json.Marshal(s.known())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "known.json"), known, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := exec.CommandContext(ctx, program, "run", s.Base+"/openapi.json", "--seed", "1", "--max-time", generatedTime,
		"--phases", "coverage,fuzzing", "--mode", "all", "--workers", "2", "--request-timeout", "30", "--continue-on-failure",
		"--suppress-health-check", "all", "--no-color",
		"--no-shrink", "--max-examples", "25", "--checks",
		"refused_as_documented,not_a_server_error,status_code_conformance,content_type_conformance")
	run.Dir = dir
	run.Env = append(os.Environ(), "SCHEMATHESIS_HOOKS=hooks", "PYTHONPATH="+hooks, "PYTHONDONTWRITEBYTECODE=1",
		"MILLRACE_KNOWN="+filepath.Join(dir, "known.json"), "MILLRACE_TALLY="+filepath.Join(dir, "tally.json"))
	out, failed := run.CombinedOutput()
	raw, err := os.ReadFile(filepath.Join(dir, "tally.json"))
	require.NoError(t, err, "%s", out)
	var got tally
	require.NoError(t, json.Unmarshal(raw, &got))
	require.Empty(t, got.Refused, "requests that the document allows are refused for reasons that it does not name")
	if failed != nil { // its output has lines that are too long for require
		t.Fatalf("schemathesis: %s\n%s", failed, out)
	}
	all := operations(t, s.get("/openapi.json"))
	require.NotEmpty(t, all)
	var wrong, unasked []string
	for _, operation := range all {
		if len(got.Answers[operation]) == 0 {
			unasked = append(unasked, operation)
			continue
		}
		if operation == "POST /api/v2/webhooks/{id}/deliveries/{delivery}/replay" {
			continue // it succeeds once a delivery to a host that does not exist has been given up
		}
		if reason := whyUnsuccessful(operation); (reason == "") != got.succeeded(operation) {
			wrong = append(wrong, fmt.Sprintf("%s (%s): %v", operation, reason, got.Answers[operation]))
		}
	}
	require.Empty(t, wrong, "no allowed request of these succeeded, or one did of which it was not expected")
	require.Less(t, len(unasked), len(all)/10, "operations that were not asked in time: %v", unasked)
	t.Logf("%d operations, %d of them not asked in time: %v", len(all), len(unasked), unasked)
}
