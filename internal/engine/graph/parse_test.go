package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestParseKeepsDocumentOrder(t *testing.T) {
	t.Parallel()
	g := parse(t, `{"9":{"class_type":"B","inputs":{"z":1,"a":[1.5,"x"]}},"1":{"class_type":"A","_meta":{"title":"T"}},"10":{}}`)
	require.Len(t, g.Nodes, 3)
	require.Equal(t, []string{"9", "1", "10"}, []string{g.Nodes[0].ID, g.Nodes[1].ID, g.Nodes[2].ID})
	require.Equal(t, "z", g.Nodes[0].Inputs[0].Name)
	require.Equal(t, json.Number("1"), g.Nodes[0].Inputs[0].Value)
	require.True(t, g.Nodes[0].HasInputs)
	require.False(t, g.Nodes[1].HasInputs)
	require.Equal(t, "T", g.Nodes[1].Title)
	n, ok := g.Node("1")
	require.True(t, ok)
	require.Equal(t, "A", n.Class)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prompt string
		code   fault.Code
		says   string
	}{
		"nothing":                {"", fault.CodeInvalidWorkflow, "not valid JSON: unexpected end"},
		"a list":                 {"[]", fault.CodeInvalidWorkflow, "must be a JSON object"},
		"null":                   {"null", fault.CodeInvalidWorkflow, "must be a JSON object"},
		"half an object":         {`{"1":{"class_type":"A"`, fault.CodeInvalidWorkflow, "not valid JSON"},
		"broken node":            {`{"1":{"inputs":{"a":}}}`, fault.CodeInvalidWorkflow, "not valid JSON"},
		"trailing data":          {`{} {}`, fault.CodeInvalidWorkflow, "after top-level value"},
		"trailing garbage":       {`{}x`, fault.CodeInvalidWorkflow, "after top-level value"},
		"repeated node":          {`{"1":{},"1":{}}`, fault.CodeInvalidWorkflow, `"1" appears twice`},
		"repeated node, escaped": {`{"1":{},"\u0031":{}}`, fault.CodeInvalidWorkflow, `"1" appears twice`},
		"repeated field":         {`{"1":{"class_type":"A","class_type":"B"}}`, fault.CodeInvalidWorkflow, "appears twice"},
		"repeated input":         {`{"1":{"class_type":"A","inputs":{"a":1,"a":2}}}`, fault.CodeInvalidWorkflow, "appears twice"},
		"repeated key in a value": {
			`{"1":{"class_type":"A","inputs":{"a":{"__value__":[{"b":{"x":1,"x":2}}]}}}}`, fault.CodeInvalidWorkflow,
			`"x" appears twice`,
		},
		"repeated among many": {
			`{"1":{"inputs":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"\u0061":1}}}`, fault.CodeInvalidWorkflow,
			`"a" appears twice`,
		},
		"not a number":     {`{"1":{"inputs":{"a":NaN}}}`, fault.CodeInvalidWorkflow, "not valid JSON"},
		"no id":            {`{"":{"class_type":"A"}}`, fault.CodeInvalidWorkflow, "id of a node must not be empty"},
		"id with a NUL":    {`{"a\u0000":{"class_type":"A"}}`, fault.CodeInvalidWorkflow, "contains a NUL"},
		"class with a NUL": {`{"1":{"class_type":"A\u0000"}}`, fault.CodeInvalidWorkflow, "contains a NUL"},
		"long id": {
			`{"` + strings.Repeat("i", 257) + `":{"class_type":"A"}}`, fault.CodeInvalidWorkflow,
			"longer than 256 bytes",
		},
		"editor's save format": {`{"last_node_id":3,"nodes":[{"id":1}],"links":[]}`, fault.CodeWorkflowFormatUI, "API format"},
		"too deep": {
			`{"1":{"inputs":{"a":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `}}}`, fault.CodeInvalidWorkflow,
			"deeper than 64",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := graph.Parse(json.RawMessage(tt.prompt), graph.Limits{})
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			require.Equal(t, tt.code, fault.CodeOf(err))
			require.ErrorContains(t, err, tt.says)
		})
	}
}

func TestNodesNamedLikeTheSaveFormatAreNodes(t *testing.T) {
	t.Parallel()
	g := parse(t, `{"nodes":{"class_type":"A"},"links":{"class_type":"B"}}`)
	require.Len(t, g.Nodes, 2)
}

func TestLimitsAreInclusive(t *testing.T) {
	t.Parallel()
	nodes := func(n int) json.RawMessage {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(`"%d":{}`, i)
		}
		return json.RawMessage("{" + strings.Join(parts, ",") + "}")
	}
	_, err := graph.Parse(nodes(5000), graph.Limits{})
	require.NoError(t, err)
	_, err = graph.Parse(nodes(5001), graph.Limits{})
	require.ErrorContains(t, err, "5001 nodes")
	_, err = graph.Parse(nodes(3), graph.Limits{MaxNodes: 2})
	require.Error(t, err)
	inputs := json.RawMessage(`{"1":{"inputs":{"a":1,"b":2}},"2":{"inputs":{"a":["1",0]}}}`)
	_, err = graph.Parse(inputs, graph.Limits{MaxInputs: 3})
	require.NoError(t, err)
	_, err = graph.Parse(inputs, graph.Limits{MaxInputs: 2})
	require.ErrorContains(t, err, "too many inputs")
	_, err = graph.Parse(nodes(1), graph.Limits{MaxBytes: len(nodes(1))})
	require.NoError(t, err)
	_, err = graph.Parse(nodes(1), graph.Limits{MaxBytes: len(nodes(1)) - 1})
	require.Error(t, err)
	deep := json.RawMessage(`{"1":{"inputs":{"a\"[":[]}}}`)
	_, err = graph.Parse(deep, graph.Limits{MaxDepth: 4})
	require.NoError(t, err)
	_, err = graph.Parse(deep, graph.Limits{MaxDepth: 3})
	require.Error(t, err)
}

func TestLongestNamesAreAccepted(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 256)
	g := parse(t, `{"`+name+`":{"class_type":"`+name+`"}}`)
	require.Equal(t, name, g.Nodes[0].ID)
	require.Equal(t, name, g.Nodes[0].Class)
}

func TestValuesAreReadExactly(t *testing.T) {
	t.Parallel()
	g := parse(t, " {\r\n\t\"1\" : { \"inputs\" : { \"n\" : -0.50e+1 ,\"s\":\"a\\\"}\\\\\", \"t\":true,\"f\" : false , \"z\":null ,"+
		"\"l\":[ ] , \"o\": {\"k\" : [1,[\"x\"] , {}]}, \"u\":\"\\u00e9\\ud83d\\ude00é\", \"\\u006b\":\"\" } } }\n")
	want := map[string]any{
		"n": json.Number("-0.50e+1"), "s": `a"}\`, "t": true, "f": false, "z": nil, "l": []any{}, "k": "",
		"o": map[string]any{"k": []any{json.Number("1"), []any{"x"}, map[string]any{}}}, "u": "é😀é",
	}
	require.Len(t, g.Nodes[0].Inputs, len(want))
	for _, in := range g.Nodes[0].Inputs {
		require.Equal(t, want[in.Name], in.Value, in.Name)
	}
}

// FuzzParse compares the values of Parse with those of encoding/json.
func FuzzParse(f *testing.F) {
	f.Add(`{"1":{"class_type":"A","inputs":{"a":[1,"\u00e9",{"b":null}],"c":-1.5e3}}}`)
	f.Add("{\"1\":{\"inputs\":{\"a\":\"\xff\\ud800\"}}}")
	f.Fuzz(func(t *testing.T, prompt string) {
		g, err := graph.Parse(json.RawMessage(prompt), graph.Limits{})
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		d := json.NewDecoder(strings.NewReader(prompt))
		d.UseNumber()
		var want map[string]any
		require.NoError(t, d.Decode(&want))
		require.Len(t, g.Nodes, len(want))
		for _, n := range g.Nodes {
			object, _ := want[n.ID].(map[string]any)
			inputs, isObject := object["inputs"].(map[string]any)
			require.Equal(t, isObject, n.HasInputs)
			require.Len(t, n.Inputs, len(inputs))
			for _, in := range n.Inputs {
				require.Equal(t, inputs[in.Name], in.Value)
			}
		}
	})
}

func TestAssetReferencesAreListedAndReplaced(t *testing.T) {
	t.Parallel()
	g := parse(t, `{"1":{"class_type":"Load","inputs":{"image":{"__type":"core/ASSET","info":{"id":"abc","hash":"h"}},"n":1}},
		"2":{"class_type":"Load","inputs":{"image":{"__type":"core/ASSET"}}},
		"3":{"class_type":"Load","inputs":{"image":{"__type":"core/ASSET","info":{"id":7}},"other":{"__type":"x","info":{"id":"y"}}}}}`)
	refs := g.AssetRefs()
	require.Equal(t, []graph.AssetRef{
		{Node: "1", Input: "image", ID: "abc"}, {Node: "2", Input: "image"}, {Node: "3", Input: "image"},
	}, refs)
	require.NoError(t, g.ReplaceAsset(refs[0], "a.png [input]"))
	value, _ := g.Nodes[0].Input("image")
	require.Equal(t, "a.png [input]", value)
	require.Len(t, g.AssetRefs(), 2)
	require.Error(t, g.ReplaceAsset(graph.AssetRef{Node: "nope"}, "x"))
}

// FuzzValidate checks that no prompt causes a panic, that an accepted prompt can be planned, and that verdicts and
// plans are the same each time.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{
		`{"1":{"class_type":"Image","inputs":{}},"2":{"class_type":"Save","inputs":{"images":["1",0]}}}`,
		`{"1":{"class_type":"Through","inputs":{"in":["1",0]}},"2":{"class_type":"Show","inputs":{"source":["1",0]}}}`,
		`{"1":{"class_type":"Set","inputs":{"int":"5","float":1e400,"flag":[],"box":{"__value__":[1,{"a":2.0}]}}}}`,
		`{"1":{"class_type":"Switch","inputs":{"on":true,"yes":["2",0]}},"2":{"class_type":"Text","inputs":{"value":null}},` +
			`"3":{"class_type":"Show","inputs":{"source":["1",0]}}}`,
		`{"1":{"class_type":"Load","inputs":{"image":{"__type":"core/ASSET","info":{"id":"abc"}}}}}`,
		`{"nodes":[],"links":[]}`, `{"1":{"class_type":"Set","inputs":{"int":1e99,"pick":"a"}}}`,
	} {
		f.Add(seed)
	}
	registry := classes(f)
	f.Fuzz(func(t *testing.T, prompt string) {
		g, err := graph.Parse(json.RawMessage(prompt), graph.Limits{MaxNodes: 50})
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		require.True(t, json.Valid([]byte(prompt)), "only JSON is accepted")
		v := graph.Validator{Classes: registry}
		accepted, err := v.Validate(t.Context(), g, shelf{names: []string{"a.png"}}, nil)
		again, againErr := v.Validate(t.Context(), g, shelf{names: []string{"a.png"}}, nil)
		require.Equal(t, toJSON(t, err), toJSON(t, againErr))
		if err != nil {
			return
		}
		require.Equal(t, toJSON(t, accepted.NodeErrors), toJSON(t, again.NodeErrors))
		plan, err := graph.BuildPlan(g, registry, accepted.Outputs, nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(plan.Nodes), accepted.NodeCount())
		other, err := graph.BuildPlan(g, registry, accepted.Outputs, nil)
		require.NoError(t, err)
		require.Equal(t, toJSON(t, plan), toJSON(t, other))
		for u, unit := range plan.Shape().Units {
			for _, d := range unit.Deps {
				require.Less(t, d, u)
			}
		}
	})
}
