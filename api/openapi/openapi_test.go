package openapi_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/openapi"
)

func TestTheDocumentIsValid(t *testing.T) {
	t.Parallel()
	raw, err := openapi.Document("/below")
	require.NoError(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	require.Equal(t, "/below", doc.Servers[0].URL)
	require.Equal(t, "/below/api", doc.Paths.Value("/prompt").Servers[0].URL)
	require.Equal(t, "/below", doc.Paths.Value("/prompt").Servers[1].URL)
}

// The statuses of an upload are a closed set.
func TestAnUploadDeclaresNoOtherStatus(t *testing.T) {
	t.Parallel()
	raw, err := openapi.Document("")
	require.NoError(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	require.NoError(t, err)
	declared := slices.Sorted(maps.Keys(doc.Paths.Value("/api/v2/assets").Post.Responses.Map()))
	require.Equal(t, []string{"200", "201", "401", "403", "409", "413", "422", "500"}, declared)
}

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
