package router_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/router"
)

// BenchmarkCatalogRoutes asks the handler for pages and documents of a catalog of 1,000 models.
func BenchmarkCatalogRoutes(b *testing.B) {
	dir := b.TempDir()
	var file strings.Builder
	file.WriteString("provider: many\ntitle: Many\nbase: https://many.example\nauth: {kind: none}\ndefaults: {protocol: sync, " +
		"charges_on_policy_rejection: no, price: {exact: \"0\", as_of: 2026-11-01}}\nmodels:\n")
	for i := range 1000 {
		fmt.Fprintf(&file, "  - {model: m%04d, title: M, submit: {url: /m}, input: {type: object, properties: {prompt: {type: string}}}}\n", i)
	}
	require.NoError(b, os.WriteFile(filepath.Join(dir, "many.yaml"), []byte(file.String()), 0o600))
	models, err := catalog.Load(catalog.Options{Dirs: []string{dir}})
	require.NoError(b, err)
	var handler http.Handler
	apitest.StartWith(b, apitest.Options{}, func(d *apitest.Deps) {
		d.Router = &apitest.ModelRouter{
			Models: &router.Offers{Catalog: models, Lookup: os.LookupEnv}, Calls: apitest.Refusing{},
			Cursors: catalog.NewCursors(make([]byte, 32), time.Now),
		}
		handler, err = apitest.New(*d, apitest.Options{})
	})
	require.NoError(b, err)
	for _, path := range []string{"/v2/models?limit=100", "/v2/models/many/m0500", "/v2/models/many/m0500/openapi.json"} {
		ask := func(tag string) *httptest.ResponseRecorder {
			req := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
			req.Header.Set("If-None-Match", tag)
			res := httptest.NewRecorder()
			handler.ServeHTTP(res, req)
			return res
		}
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				require.Equal(b, http.StatusOK, ask("").Code)
			}
		})
		if tag := ask("").Header().Get("ETag"); tag != "" {
			b.Run(path+" unchanged", func(b *testing.B) {
				for b.Loop() {
					require.Equal(b, http.StatusNotModified, ask(tag).Code)
				}
			})
		}
	}
}
