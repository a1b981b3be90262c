package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

func builtin(t *testing.T) *catalog.Snapshot {
	t.Helper()
	c, err := load(t, nil)
	require.NoError(t, err)
	return c.Snapshot()
}

func document(t *testing.T, m *catalog.Model, v catalog.Version) (map[string]any, catalog.Document) {
	t.Helper()
	d, err := m.Document(v, "https://millrace.example")
	require.NoError(t, err)
	var decoded map[string]any
	require.NoError(t, json.Unmarshal(d.Content, &decoded))
	return decoded, d
}

func dig(t *testing.T, document any, path ...string) any {
	t.Helper()
	for _, step := range path {
		object, ok := document.(map[string]any)
		require.True(t, ok, "%s of %v", step, path)
		document = object[step]
	}
	return document
}

func TestSchemaDocumentHasInputOutputAndFlags(t *testing.T) {
	t.Parallel()
	for _, m := range builtin(t).Models() {
		v2, d2 := document(t, m, catalog.V2)
		require.Equal(t, "3.0.2", v2["openapi"])
		require.Equal(t, m.InputAuthored(), v2["x-service-input-schema-authored"])
		require.Equal(t, m.InputAuthored(), v2["x-comfy-input-schema-authored"])
		post := dig(t, v2, "paths", "/v2/models/"+m.ID, "post")
		require.Equal(t, "object", dig(t, post, "requestBody", "content", "application/json", "schema", "type"), m.ID)
		content := dig(t, post, "responses", "200", "content").(map[string]any)
		require.Len(t, content, 1)
		switch {
		case m.ContentType != "":
			require.Contains(t, content, m.ContentType)
		case m.OutputAuthored():
			require.Contains(t, content, "application/json")
		default:
			require.Contains(t, content, "*/*")
		}
		v1, d1 := document(t, m, catalog.V1)
		require.Nil(t, dig(t, v1, "paths", "/v1/models/"+m.ID, "post", "responses", "200").(map[string]any)["content"],
			"v1 describes the input only")
		require.NotEqual(t, d1.ETag, d2.ETag)
		requireDialect(t, m.ID, post)
	}
}

// requireDialect fails the test for any keyword that OpenAPI 3.0 does not have.
func requireDialect(t *testing.T, id string, node any) {
	t.Helper()
	switch v := node.(type) {
	case map[string]any:
		for name, inner := range v {
			require.NotContains(t, []string{"const", "$defs", "examples", "prefixItems"}, name, id)
			if _, isList := inner.([]any); name == "type" {
				require.False(t, isList, "%s: a list of types", id)
			}
			if _, isNumber := inner.(float64); strings.HasPrefix(name, "exclusive") {
				require.False(t, isNumber, "%s: a numeric exclusive bound", id)
			}
			requireDialect(t, id, inner)
		}
	case []any:
		for _, inner := range v {
			requireDialect(t, id, inner)
		}
	}
}

func TestEqualCatalogsServeEqualDocuments(t *testing.T) {
	t.Parallel()
	a, b := builtin(t), builtin(t)
	for i, m := range a.Models() {
		_, da := document(t, m, catalog.V2)
		_, db := document(t, b.Models()[i], catalog.V2)
		require.Equal(t, da, db)
		require.Regexp(t, `^"[A-Za-z0-9_-]+"$`, da.ETag)
	}
}

func TestTheDialectIsTranslated(t *testing.T) {
	t.Parallel()
	v2, _ := document(t, acmeModel(t), catalog.V2)
	strength := dig(t, v2, "paths", "/v2/models/acme/thing-1", "post", "requestBody", "content", "application/json", "schema", "properties",
		"strength")
	require.Equal(t, map[string]any{"type": "number", "nullable": true, "minimum": 0.0, "exclusiveMinimum": true, "maximum": 1.0}, strength)
	_, err := load(t, map[string]string{"a.yaml": header +
		"  - model: a\n    submit: {url: /a}\n    price: {exact: \"1\", as_of: 2026-01-01}\n    input: {type: object, patternProperties: {x: " +
		"{type: string}}}\n"})
	require.ErrorContains(t, err, "a.yaml:8: models[0].input.patternProperties: the keyword patternProperties has no equivalent")
}

func TestSuggestionsAreCloseVisibleAndAtMostThree(t *testing.T) {
	t.Parallel()
	s := builtin(t)
	all := func(*catalog.Model) bool { return true }
	require.Equal(t, []string{"bfl/flux-2-pro", "bfl/flux-2-max", "fal/flux-2-pro"}, s.Suggest("bfl/flux-2-por", all))
	require.Equal(t, "bfl/flux-2-pro", s.Suggest("BFL/Flux-2-Pro", all)[0])
	require.Contains(t, s.Suggest("black-forest-labs/flux-2-pro", all), "bfl/flux-2-pro")
	require.LessOrEqual(t, len(s.Suggest("fal/flux", all)), 3)
	require.Empty(t, s.Suggest("something/else-entirely", all))
	require.Empty(t, s.Suggest(strings.Repeat("x", 10_000), all))
	require.Empty(t, s.Suggest("bfl/flux-2-por", func(m *catalog.Model) bool { return m.ID != "bfl/flux-2-pro" && m.Provider == "sim" }))
}

func TestPagingListsEveryModelOnce(t *testing.T) {
	t.Parallel()
	s := builtin(t)
	all := func(*catalog.Model) bool { return true }
	var seen []string
	last, more := "", true
	for more {
		var page []*catalog.Model
		page, more = s.After(last, 3, all)
		for _, m := range page {
			seen = append(seen, m.ID)
		}
		last = seen[len(seen)-1]
	}
	var want []string
	for _, m := range s.Models() {
		want = append(want, m.ID)
	}
	require.Equal(t, want, seen)
	page, more := s.After("bfl/flux-2-pro-that-was-removed", 1, all)
	require.True(t, more)
	require.Equal(t, "bfl/flux-3-video", page[0].ID, "a cursor after a model that is gone continues at the next one")
}

func TestCursorIsSignedAndExpires(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	cursors := catalog.NewCursors([]byte("key"), func() time.Time { return now })
	cursor := cursors.Make("bfl/flux-2-pro")
	require.Regexp(t, `^[A-Za-z0-9._~+/=-]{1,512}$`, cursor)
	require.NotContains(t, cursor, "flux")
	id, err := cursors.Read(cursor)
	require.NoError(t, err)
	require.Equal(t, "bfl/flux-2-pro", id)

	others := catalog.NewCursors([]byte("other"), func() time.Time { return now })
	for _, bad := range []string{
		"", "x", cursor + "A", "A" + cursor[1:], strings.Repeat("A", 513), "not a cursor",
		others.Make("bfl/flux-2-pro"),
	} {
		_, err := cursors.Read(bad)
		require.True(t, fault.Is(err, fault.Invalid), bad)
		require.Equal(t, fault.CodeInvalidInput, fault.CodeOf(err))
	}
	now = now.Add(catalog.CursorLifetime)
	_, err = cursors.Read(cursor)
	require.Error(t, err)
}

func BenchmarkDocument(b *testing.B) {
	c, err := catalog.Load(catalog.Options{Simulator: "http://127.0.0.1:9"})
	require.NoError(b, err)
	m := c.Snapshot().Models()[0]
	for b.Loop() {
		if _, err := m.Document(catalog.V2, "https://millrace.example"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadOfAThousandModels(b *testing.B) {
	dir := b.TempDir()
	var file strings.Builder
	file.WriteString(header)
	for i := range 1000 {
		fmt.Fprintf(&file, "  - {model: m-%d, submit: {url: /a}, price: {exact: \"1\", as_of: 2026-01-01}}\n", i)
	}
	writeFile(b, dir, file.String())
	for b.Loop() {
		if _, err := catalog.Load(catalog.Options{Dirs: []string{dir}}); err != nil {
			b.Fatal(err)
		}
	}
}
