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
	g, err := graph.Parse(json.RawMessage(fmt.Sprintf(`{"1":{"class_type":"Text","inputs":{"text":%q}}}`, strings.Repeat("x", bytes))),
		graph.Limits{})
	require.NoError(t, err)
	return g
}

func TestHandoverGivesEachGraphOnce(t *testing.T) {
	t.Parallel()
	h, g := graph.NewHandover[int](), sized(t, 10)
	h.Put("a", g, 7)
	require.Nil(t, taken(h, "b"))
	got, with := h.Take("a")
	require.Same(t, g, got)
	require.Equal(t, 7, with)
	got, with = h.Take("a")
	require.Nil(t, got)
	require.Zero(t, with)

	var none *graph.Handover[int]
	none.Put("a", g, 7)
	require.Nil(t, taken(none, "a"))
}

func taken(h *graph.Handover[int], job string) *graph.Graph {
	g, _ := h.Take(job)
	return g
}

func TestHandoverKeepsTheLatestWithinItsSpace(t *testing.T) {
	t.Parallel()
	h := graph.NewHandover[int]()
	for i := range 100 {
		h.Put(fmt.Sprint(i), sized(t, 100<<10), 0)
	}
	require.Nil(t, taken(h, "0"))
	require.NotNil(t, taken(h, "99"))
	kept := 0
	for i := range 99 {
		if taken(h, fmt.Sprint(i)) != nil {
			kept++
		}
	}
	require.InDelta(t, 39, kept, 2, "4 MiB")
	h.Put("large", sized(t, 2<<20), 0)
	require.Nil(t, taken(h, "large"), "one graph does not take the space of all")
	for i := range 10_000 { // graphs that were taken leave nothing behind
		h.Put(fmt.Sprint(i), sized(t, 10), 0)
		require.NotNil(t, taken(h, fmt.Sprint(i)))
	}
}

func TestHandoverKeepsNoGraphWhoseAssetsWereResolved(t *testing.T) {
	t.Parallel()
	g, err := graph.Parse(json.RawMessage(`{"1":{"class_type":"LoadImage","inputs":{"image":{"__type":"core/ASSET","info":{"id":"x"}}}}}`),
		graph.Limits{})
	require.NoError(t, err)
	require.NoError(t, g.ReplaceAsset(g.AssetRefs()[0], "name.png"))
	h := graph.NewHandover[int]()
	h.Put("a", g, 0)
	require.Nil(t, taken(h, "a"), "the run looks at the assets anew")
}
