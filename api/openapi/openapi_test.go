package openapi_test

import (
	"encoding/json"
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
