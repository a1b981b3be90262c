package openapi_test

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/openapi"
)

func TestEveryOperationIsTaggedAndNamedOnce(t *testing.T) {
	t.Parallel()
	raw, err := openapi.Document("")
	require.NoError(t, err)
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	seen := map[string]string{}
	for path, item := range doc.Paths {
		for method, raw := range item {
			if method == "parameters" || method == "servers" {
				continue
			}
			var op struct {
				Tags        []string
				OperationID string
				Responses   map[string]any
			}
			require.NoError(t, json.Unmarshal(raw, &op))
			at := strings.ToUpper(method) + " " + path
			require.NotEmpty(t, op.Tags, at)
			require.NotEmpty(t, op.OperationID, at)
			require.NotEmpty(t, op.Responses, at)
			require.Empty(t, seen[op.OperationID], "%s and %s share an id", at, seen[op.OperationID])
			seen[op.OperationID] = at
		}
	}
}

// TestThePageBeginsWithARequestAndHasAnExampleOfEachOperation reads the examples as a shell's: the bodies are JSON.
func TestThePageBeginsWithARequestAndHasAnExampleOfEachOperation(t *testing.T) {
	t.Parallel()
	raw, err := openapi.Page("/mr")
	require.NoError(t, err)
	page := html.UnescapeString(string(raw))
	begin := page[strings.Index(page, "<main"):strings.Index(page, "<details")]
	for _, part := range []string{
		"MILLRACE=" + openapi.Base, "millrace keys create", `ID=$(curl -s "$MILLRACE/api/v2/jobs"`, `"class_type":"EmptyImage"`,
		`curl -s "$MILLRACE/api/v2/jobs/$ID" -H "X-API-Key: $KEY"`,
	} {
		require.Contains(t, begin, part)
	}
	operations := regexp.MustCompile(`(?s)<details id="([^"]+)">\n<summary><span class="method">.*?</details>`).FindAllStringSubmatch(page, -1)
	require.Greater(t, len(operations), 90)
	bodies := 0
	for _, o := range operations {
		example := regexp.MustCompile(`(?s)<p>Example</p><pre>(curl -s.*?)</pre>`).FindStringSubmatch(o[0])
		require.NotNil(t, example, "%s has no example", o[1])
		require.NotContains(t, example[1], "{id}", o[1])
		require.NotContains(t, example[1], "/mr/", "%s: the base address has the path of the service", o[1])
		if _, body, ok := strings.Cut(example[1], "-d '"); ok {
			bodies++
			require.True(t, json.Valid([]byte(strings.TrimSuffix(body, "'"))), "%s: %s", o[1], body)
		}
	}
	require.Greater(t, bodies, 15)
	require.Contains(t, page, `curl -s -X PATCH "$MILLRACE/uploads/$ID" -H "X-API-Key: $KEY" -H "Tus-Resumable: 1.0.0" `+
		`-H "Upload-Offset: $UPLOAD_OFFSET" -H 'Content-Type: application/offset+octet-stream' --data-binary @FILE`)
}
