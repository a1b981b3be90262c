package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/console"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

func draw(t *testing.T, prompt string, timeline inspect.Timeline) console.Drawing {
	t.Helper()
	g, err := graph.Parse(json.RawMessage(prompt), graph.Limits{})
	require.NoError(t, err)
	return console.Draw(g, timeline)
}

func TestDrawingPlacesNodesRightOfTheirInputs(t *testing.T) {
	t.Parallel()
	d := draw(t, `{
		"9":{"class_type":"Join","inputs":{"a":["5",0],"b":["1",0],"c":[1,2],"d":["no such",0]}},
		"5":{"class_type":"Scale","inputs":{"image":["1",0],"again":["1",1]}},
		"1":{"class_type":"Load","inputs":{}},
		"7":{"class_type":"Load","inputs":{}}}`, inspect.Timeline{State: job.Succeeded})
	at := map[string]console.DrawnNode{}
	for _, n := range d.Nodes {
		at[n.ID] = n
	}
	require.Less(t, at["1"].X, at["5"].X)
	require.Less(t, at["5"].X, at["9"].X)
	require.Equal(t, at["1"].X, at["7"].X)
	require.NotEqual(t, at["1"].Y, at["7"].Y)
	require.Len(t, d.Links, 3, "a link for each node that is read, however often")
	for _, n := range d.Nodes {
		require.Less(t, n.X, d.Width)
		require.Less(t, n.Y, d.Height)
	}
}

func TestNodesAreColouredByOutcome(t *testing.T) {
	t.Parallel()
	prompt := `{"1":{"class_type":"A","inputs":{}},"2":{"class_type":"B","inputs":{}},"3":{"class_type":"C","inputs":{}}}`
	spans := []inspect.NodeSpan{
		{Run: 1, Node: "1", State: inspect.NodeFailed},
		{Run: 2, Node: "1", State: inspect.NodeExecuted, Took: inspect.Millis(12 * time.Millisecond)},
		{Run: 2, Node: "2", State: inspect.NodeCached},
	}
	states := func(s job.State) (out []string) {
		for _, n := range draw(t, prompt, inspect.Timeline{State: s, Run: 2, Nodes: spans}).Nodes {
			out = append(out, strings.TrimSpace(n.State+" "+n.Took))
		}
		return out
	}
	require.Equal(t, []string{"executed 12 ms", "cached", "waiting"}, states(job.Running))
	require.Equal(t, []string{"executed 12 ms", "cached", "not run"}, states(job.Canceled))
}

func TestTooLargeGraphIsNotDrawn(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 301 {
		fmt.Fprintf(&b, `,"%d":{"class_type":"A","inputs":{}}`, i)
	}
	d := draw(t, "{"+b.String()[1:]+"}", inspect.Timeline{})
	require.True(t, d.TooLarge)
	require.Empty(t, d.Nodes)
}

func TestALongChainFitsAWindow(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"0":{"class_type":"A","inputs":{}}`)
	for i := range 126 {
		fmt.Fprintf(&b, `,"%d":{"class_type":"B","inputs":{"x":["%d",0]}}`, i+1, i)
	}
	d := draw(t, b.String()+"}", inspect.Timeline{})
	require.Len(t, d.Nodes, 127)
	require.Less(t, d.Width, 2000, "127 nodes in a row go on below")
	taken := map[[2]int]string{}
	for _, n := range d.Nodes {
		at := [2]int{n.X, n.Y}
		require.Empty(t, taken[at], "two boxes at one place")
		taken[at] = n.ID
	}
	require.Len(t, d.Links, 126)
	d.Show(map[string]string{"3": "asset"})
	require.Equal(t, "asset", d.Nodes[3].Thumb)
}
