package documents_test

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/openapi"
)

var update = flag.Bool("update", false, "add to testdata/v2.txt what the document has besides")

// promised lists what the document of the v2 API has promised once.
const promised = "testdata/v2.txt"

// Changes of the v2 API are additions: what a client could send, and what it could read, stays.
func TestTheV2APIOnlyGrows(t *testing.T) {
	t.Parallel()
	raw, err := openapi.Document("")
	require.NoError(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	require.NoError(t, err)
	now := surface(doc)
	before, err := os.ReadFile(promised)
	if !*update {
		require.NoError(t, err)
	}
	for line := range strings.Lines(string(before)) {
		if line = strings.TrimSpace(line); line != "" {
			require.Contains(t, now, line, "clients rely on it")
			delete(now, line)
		}
	}
	if *update {
		all := append(slices.Collect(strings.Lines(string(before))), lines(now)...)
		slices.Sort(all)
		require.NoError(t, os.WriteFile(promised, []byte(strings.Join(all, "")), 0o600))
		return
	}
	require.Empty(t, slices.Sorted(maps.Keys(now)), "new: keep it with go -C test test ./documents -run TestTheV2APIOnlyGrows -update")
}

func lines(set map[string]bool) []string {
	var out []string
	for _, line := range slices.Sorted(maps.Keys(set)) {
		out = append(out, line+"\n")
	}
	return out
}

// surface lists operations, their parameters and statuses, and the members of what is sent and answered.
func surface(doc *openapi3.T) map[string]bool {
	all := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		if !strings.HasPrefix(path, "/api/v2/") {
			continue
		}
		for method, o := range item.Operations() {
			at := method + " " + path
			all[at] = true
			for _, p := range append(slices.Clone(item.Parameters), o.Parameters...) {
				all[at+" takes "+p.Value.In+" "+p.Value.Name] = true
			}
			if o.RequestBody != nil {
				content(all, at+" takes", o.RequestBody.Value.Content)
			}
			for status, r := range o.Responses.Map() {
				all[at+" answers "+status] = true
				content(all, at+" answers "+status, r.Value.Content)
			}
		}
	}
	return all
}

func content(all map[string]bool, at string, types openapi3.Content) {
	for kind, media := range types {
		all[at+" "+kind] = true
		if media.Schema != nil {
			members(all, at+" "+kind+" ", media.Schema, 6)
		}
	}
}

// members lists the members of a schema, so many levels deep.
func members(all map[string]bool, at string, schema *openapi3.SchemaRef, deep int) {
	s := schema.Value
	if deep == 0 || s == nil {
		return
	}
	for name, p := range s.Properties {
		all[at+"."+name] = true
		members(all, at+"."+name, p, deep-1)
	}
	if s.Items != nil {
		members(all, at+"[]", s.Items, deep-1)
	}
	for _, list := range []openapi3.SchemaRefs{s.AllOf, s.AnyOf, s.OneOf} {
		for _, part := range list {
			members(all, at, part, deep-1)
		}
	}
}
