package deploy_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A dashboard that Grafana imports as it is: every panel has an id of its own, a place within the 24 columns that no other
// takes, the data source that the reader chooses, and queries with letters of their own.
func TestTheDashboardIsOneForGrafana(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("grafana/millrace.json")
	require.NoError(t, err)
	var board struct {
		UID, Title    string
		SchemaVersion int
		Templating    struct {
			List []struct{ Name, Type, Query string }
		}
		Panels []struct {
			ID         int
			Type       string
			Title      string
			GridPos    struct{ X, Y, W, H int }
			Datasource struct{ Type, UID string }
			Targets    []struct{ RefID, Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &board))
	require.NotEmpty(t, board.UID)
	require.GreaterOrEqual(t, board.SchemaVersion, 36, "older ones are converted at each import")
	sources := map[string]string{}
	for _, v := range board.Templating.List {
		sources["${"+v.Name+"}"] = v.Query
	}
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		require.False(t, p.ID == 0 || ids[p.ID], "id %d of %q", p.ID, p.Title)
		ids[p.ID] = true
		require.NotEmpty(t, p.Type, p.Title)
		require.Equal(t, "prometheus", p.Datasource.Type, p.Title)
		require.Equal(t, "prometheus", sources[p.Datasource.UID], p.Title)
		letters := map[string]bool{}
		for _, q := range p.Targets {
			require.False(t, q.RefID == "" || letters[q.RefID], "query %q of %q", q.RefID, p.Title)
			letters[q.RefID] = true
		}
		g := p.GridPos
		require.True(t, g.W > 0 && g.H > 0 && g.X >= 0 && g.X+g.W <= 24, "%q is not within 24 columns", p.Title)
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%q is over another", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}
