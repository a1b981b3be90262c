package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// sized parses a graph whose prompt has about the given number of bytes.
func sized(t *testing.T, bytes int) *graph.Graph {
	t.Helper()
	g, err := graph.Parse(json.RawMessage(fmt.Sprintf(`{"1":{"class_type":"Text","inputs":{"text":%q}}}`, strings.Repeat("x", bytes))), graph.Limits{})
	require.NoError(t, err)
	return g
}

func TestHandoverGivesEachGraphOnce(t *testing.T) {
	t.Parallel()
	h, g := graph.NewHandover(), sized(t, 10)
	h.Put("a", g)
	require.Nil(t, h.Take("b"))
	require.Same(t, g, h.Take("a"))
	require.Nil(t, h.Take("a"))

	var none *graph.Handover
	none.Put("a", g)
	require.Nil(t, none.Take("a"))
}

func TestHandoverKeepsTheLatestWithinItsSpace(t *testing.T) {
	t.Parallel()
	h := graph.NewHandover()
	for i := range 100 {
		h.Put(fmt.Sprint(i), sized(t, 100<<10))
	}
	require.Nil(t, h.Take("0"))
	require.NotNil(t, h.Take("99"))
	kept := 0
	for i := range 99 {
		if h.Take(fmt.Sprint(i)) != nil {
			kept++
		}
	}
	require.InDelta(t, 39, kept, 2, "4 MiB")
	h.Put("large", sized(t, 2<<20))
	require.Nil(t, h.Take("large"), "one graph does not take the space of all")
	for i := range 10_000 { // graphs that were taken leave nothing behind
		h.Put(fmt.Sprint(i), sized(t, 10))
		require.NotNil(t, h.Take(fmt.Sprint(i)))
	}
}

func TestHandoverKeepsNoGraphWhoseAssetsWereResolved(t *testing.T) {
	t.Parallel()
	g, err := graph.Parse(json.RawMessage(`{"1":{"class_type":"LoadImage","inputs":{"image":{"__type":"core/ASSET","info":{"id":"x"}}}}}`), graph.Limits{})
	require.NoError(t, err)
	require.NoError(t, g.ReplaceAsset(g.AssetRefs()[0], "name.png"))
	h := graph.NewHandover()
	h.Put("a", g)
	require.Nil(t, h.Take("a"), "the run looks at the assets anew")
}
