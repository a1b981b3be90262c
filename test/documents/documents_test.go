// Package documents_test validates the OpenAPI documents that Millrace serves: those of the service, and one for each model of the catalog.
// It also checks that the document of the v2 API only grows.
package documents_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/openapi"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
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

func TestTheDocumentOfEveryModelIsValid(t *testing.T) {
	t.Parallel()
	models, err := catalog.Load(catalog.Options{Dirs: []string{t.TempDir()}, Simulator: "http://127.0.0.1:9"})
	require.NoError(t, err)
	for _, m := range models.Snapshot().Models() {
		for _, version := range []catalog.Version{catalog.V1, catalog.V2} {
			d, err := m.Document(version, "https://millrace.example")
			require.NoError(t, err)
			parsed, err := openapi3.NewLoader().LoadFromData(d.Content)
			require.NoError(t, err, m.ID)
			require.NoError(t, parsed.Validate(t.Context()), m.ID)
		}
	}
}
