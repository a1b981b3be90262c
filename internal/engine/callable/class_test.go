package callable_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
)

// masked is a graph that shows a picture through the mask of the file that it loads, and counts in a text that nobody reads.
const masked = `{"1":{"class_type":"LoadImage","inputs":{"image":"example.png"}},
	"2":{"class_type":"JoinImageWithAlpha","inputs":{"image":["1",0],"alpha":["1",1]}},
	"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"a"}},
	"4":{"class_type":"PrimitiveString","inputs":{"value":"a"}},
	"5":{"class_type":"PreviewAny","inputs":{"source":["4",0]}}}`

func TestAVersionStandsInThePlaceOfANode(t *testing.T) {
	t.Parallel()
	classes, err := standard.Registry(nil)
	require.NoError(t, err)
	schema := &callable.Schema{
		Inputs: []callable.Input{
			{Name: "image", Kind: callable.Image, Targets: []callable.Target{{Node: "1", Input: "image"}}},
			{Name: "text", Kind: callable.Text, Default: json.RawMessage(`"a"`), Targets: []callable.Target{{Node: "4", Input: "value"}}},
		},
		Outputs: []callable.Output{{Name: "picture", Kind: callable.Image, Node: "3"}, {Name: "shown", Kind: callable.Text, Node: "5"}},
	}
	for name, test := range map[string]struct{ inputs, reader, want string }{
		"a link to a picture": {
			`{"image":["8",0]}`, `["7",0]`,
			`{"8":{"class_type":"EmptyImage","inputs":{}},
			"7:1":{"class_type":"SolidMask","inputs":{"value":0,"width":64,"height":64},"_meta":{"title":"p@2: SolidMask"}},
			"7:2":{"class_type":"JoinImageWithAlpha","inputs":{"image":["8",0],"alpha":["7:1",0]},"_meta":{"title":"p@2: JoinImageWithAlpha"}},
			"9":{"class_type":"PreviewAny","inputs":{"source":["7:2",0]}}}`,
		},
		"a file": {
			`{"image":"b.png","text":["8",0]}`, `["7",0]`,
			`{"8":{"class_type":"EmptyImage","inputs":{}},
			"7:1":{"class_type":"LoadImage","inputs":{"image":"b.png"},"_meta":{"title":"p@2: LoadImage"}},
			"7:2":{"class_type":"JoinImageWithAlpha","inputs":{"image":["7:1",0],"alpha":["7:1",1]},"_meta":{"title":"p@2: JoinImageWithAlpha"}},
			"9":{"class_type":"PreviewAny","inputs":{"source":["7:2",0]}}}`,
		},
		"a text": {
			`{"image":"b.png","text":"c"}`, `["7",1]`,
			`{"8":{"class_type":"EmptyImage","inputs":{}},
			"7:4":{"class_type":"PrimitiveString","inputs":{"value":"c"},"_meta":{"title":"p@2: PrimitiveString"}},
			"9":{"class_type":"PreviewAny","inputs":{"source":["7:4",0]}}}`,
		},
	} {
		inner, err := graph.Parse(json.RawMessage(masked), graph.Limits{})
		require.NoError(t, err)
		outer, err := graph.Parse(json.RawMessage(`{"8":{"class_type":"EmptyImage","inputs":{}},
			"7":{"class_type":"Deployment.p","inputs":`+test.inputs+`},
			"9":{"class_type":"PreviewAny","inputs":{"source":`+test.reader+`}}}`), graph.Limits{})
		require.NoError(t, err)
		v := callable.Version{Deployment: "p", Number: 2, Nodes: inner.Nodes, Schema: schema}
		at, _ := outer.Node("7")
		nodes, err := v.Inline(outer.Nodes, at, classes)
		require.NoError(t, err, name)
		raw, err := callable.Encode(nodes)
		require.NoError(t, err, name)
		require.JSONEq(t, test.want, string(raw), name)
	}
}
