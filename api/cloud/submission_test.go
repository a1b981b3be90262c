package cloud_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
)

func TestCredentialIsRedactedEverywhereInASubmission(t *testing.T) { // W-21, X-37
	t.Parallel()
	const ofPartner, ofCaller = `comfyui-0123456789/"ab&<>`, "caller-key-0123456789"
	for name, quoted := range map[string]string{
		"as written by Go":         `"comfyui-0123456789/\"ab\u0026\u003c\u003e"`,
		"as written by browsers":   `"comfyui-0123456789/\"ab&<>"`,
		"with an escaped solidus":  `"comfyui-0123456789\/\"ab&<>"`,
		"with every way to escape": `"\u0063omfyui-0123456789/\u0022ab\u0026<\u003E"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireRedacted(t, ofPartner, ofCaller, quoted)
		})
	}
}

// requireRedacted submits a graph with the quoted credential of a partner and that of the caller in many places.
func requireRedacted(t *testing.T, ofPartner, ofCaller, quoted string) {
	t.Helper()
	graph := `{"1":{"class_type":"X","inputs":{"key":` + quoted + `,"other":"` + ofCaller + `"}}}`
	h := apitest.Start(t, apitest.Options{})
	for path, body := range map[string]string{
		"/api/prompt": `{"prompt":` + graph + `,"extra_data":{"api_key_service":` + quoted + `,
			"extra_pnginfo":{"workflow":{"extra":{"key":` + quoted + `}}},"my_own_name":"` + ofCaller + `"}}`,
		"/api/v2/jobs": `{"workflow":` + graph + `,"metadata":{"a":` + quoted + `,"b":"` + ofCaller + `"},
			"extra_data":{"api_key_comfy_org":` + quoted + `,"extra_pnginfo":{"k":` + quoted + `}}}`,
	} {
		require.Less(t, h.Do(t, "POST", path, body, "X-API-Key", ofCaller).Status, 300)
		sub := h.Jobs.Last()
		require.Equal(t, ofPartner, sub.Credential)
		for _, credential := range sub.ComfyOrg {
			require.Equal(t, ofPartner, credential)
		}
		sub.Credential, sub.ComfyOrg = "", nil // they are sealed, or dropped
		kept, err := json.Marshal(sub)
		require.NoError(t, err)
		require.NotContains(t, string(kept), quoted[1:len(quoted)-1])
		require.NotContains(t, decoded(t, kept), ofPartner)
		require.NotContains(t, decoded(t, sub.Prompt), ofPartner)
		require.NotContains(t, string(kept), ofCaller)
		require.Contains(t, string(sub.Prompt), `"key":"withheld"`)
	}
}

// decoded returns the values of a JSON document as text.
func decoded(t *testing.T, document []byte) string {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal(document, &value))
	return fmt.Sprint(value)
}

// What every event, view and message of a job repeats is short, and what takes time for each is few.
func TestSubmissionsAreBoundedWhereTheyAreRepeated(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	for name, body := range map[string]string{
		"a long client_id": `{"prompt":{},"client_id":"` + strings.Repeat("c", 129) + `"}`,
		"many targets":     `{"prompt":{},"partial_execution_targets":["x"` + strings.Repeat(`,"x"`, 10_000) + `]}`,
	} {
		got := h.Do(t, "POST", "/api/prompt", body)
		require.Equal(t, 400, got.Status, name)
		require.Contains(t, got.Body, `"type":"invalid_request"`, name)
	}
}

func TestKeyInInvalidUTF8IsRefused(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	require.Equal(t, 400, h.Do(t, "POST", "/api/v2/jobs", `{"workflow":{}}`, "Idempotency-Key", "k\xff").Status)
}
