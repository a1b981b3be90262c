package callable_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

// drawing is a drawing with a subgraph, a primitive and a muted node. app is its extra.linearData.
func drawing(app string) string {
	return `{"id":"aaaa-root","nodes":[
	{"id":1,"type":"Load","title":"The person","mode":0,"inputs":[],"outputs":[{"type":"IMAGE"},{"type":"MASK"}],
		"widgets_values":["p.png","image"]},
	{"id":2,"type":"group","mode":0,"inputs":[{"name":"image","type":"IMAGE","link":1},
		{"name":"text","label":"Prompt","type":"STRING","widget":{"name":"text"},"link":null},
		{"name":"steps","type":"INT","widget":{"name":"steps"},"link":3}],
		"outputs":[{"type":"IMAGE"}],"widgets_values":["a windmill",12]},
	{"id":3,"type":"Save","mode":0,"inputs":[{"name":"images","type":"IMAGE","link":2}],"widgets_values":["out/mill"]},
	{"id":4,"type":"Save","mode":2,"inputs":[{"name":"images","type":"IMAGE","link":2}],"widgets_values":["muted"]},
	{"id":5,"type":"PrimitiveNode","title":"How many","mode":0,"outputs":[{"type":"INT","links":[3]}],"widgets_values":[15,"fixed"]}],
	"links":[[1,1,0,2,0,"IMAGE"],[2,2,0,3,0,"IMAGE"],[3,5,0,2,2,"INT"]],
	"extra":{"linearData":` + app + `},
	"definitions":{"subgraphs":[{"id":"group","name":"Draw",
		"inputs":[{"name":"image"},{"name":"text","label":"Prompt"},{"name":"steps"}],
		"nodes":[
		{"id":7,"type":"Text","title":"Wanted","mode":0,"inputs":[{"name":"text","type":"STRING","widget":{"name":"text"},"link":1}],
			"outputs":[{"type":"CONDITIONING"}],"widgets_values":["a mill"]},
		{"id":8,"type":"Sample","mode":0,"inputs":[{"name":"positive","type":"CONDITIONING","link":2},{"name":"image","type":"IMAGE","link":3},
			{"name":"steps","type":"INT","widget":{"name":"steps"},"link":4}],"outputs":[{"type":"IMAGE"}],
			"widgets_values":[7,"randomize",20,8.5,"heun","a.safetensors",true,{"points":[]},0.5,3,"fine",1.5]}],
		"links":[{"id":1,"origin_id":-10,"origin_slot":1,"target_id":7,"target_slot":0,"type":"STRING"},
			{"id":2,"origin_id":7,"origin_slot":0,"target_id":8,"target_slot":0,"type":"CONDITIONING"},
			{"id":3,"origin_id":-10,"origin_slot":0,"target_id":8,"target_slot":1,"type":"IMAGE"},
			{"id":4,"origin_id":-10,"origin_slot":2,"target_id":8,"target_slot":2,"type":"INT"},
			{"id":5,"origin_id":8,"origin_slot":0,"target_id":-20,"target_slot":0,"type":"IMAGE"}]}]}}`
}

func TestInputsOfAppModeAreDerived(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		app             string
		inputs, outputs map[string]string
		warnings        int
	}{
		"plain ids, as numbers and texts": {
			`{"inputs":[[1,"image"],["5","value",{"height":3}]],"outputs":[3]}`,
			map[string]string{"the_person": "image 1.image", "how_many": "integer 2:8.steps"},
			map[string]string{"image": "image 3"},
			0,
		},
		"ids of nodes within a subgraph": {
			`{"inputs":[["7","text"],["8","cfg"],["8","mode.strength"]],"outputs":["3"]}`,
			map[string]string{"prompt": "text 2:7.text", "cfg": "number 2:8.cfg", "mode_strength": "number 2:8.mode.strength"},
			map[string]string{"image": "image 3"},
			0,
		},
		"graph, node and widget": {
			`{"inputs":[["aaaa-root:2:text","text"],["group:8:seed","seed"],["aaaa-root:1:image","image"]],"outputs":["3"]}`,
			map[string]string{"prompt": "text 2:7.text", "seed": "integer 2:8.seed", "the_person": "image 1.image"},
			map[string]string{"image": "image 3"},
			0,
		},
		"entries whose node is gone": {
			`{"inputs":[["99","text"],["7","text"],["7","gone"],["8","positive"],"odd",[1]],"outputs":["98","4","3","3"]}`,
			map[string]string{"prompt": "text 2:7.text"},
			map[string]string{"image": "image 3"},
			5,
		},
		"a field twice": {
			`{"inputs":[["7","text"],["2","text"]],"outputs":[]}`,
			map[string]string{"prompt": "text 2:7.text"},
			map[string]string{"image": "image 3"},
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := derive(t, drawing(c.app), callable.Named{})
			require.Equal(t, callable.FromApp, d.Source)
			require.Equal(t, c.inputs, inputs(d.Schema))
			require.Equal(t, c.outputs, outputs(d.Schema))
			require.Len(t, d.Warnings, c.warnings, "%q", d.Warnings)
		})
	}
}

func TestWarningsNameWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	d := derive(t, drawing(`{"inputs":[["99","text"],["7","text"],["7","gone"]],"outputs":["98"]}`), callable.Named{})
	require.Equal(t, []string{
		"Output 98 is left out: the drawing has no node 98 that runs.",
		"Input 99.text is left out: the drawing has no node 99 that runs.",
		`Input 7.gone is left out: node 7 has no field "gone" that takes a value.`,
	}, d.Warnings)
}

func TestInputsOfTheOnlySubgraphAreDerived(t *testing.T) {
	t.Parallel()
	d := derive(t, drawing(`null`), callable.Named{})
	require.Equal(t, callable.FromSubgraph, d.Source)
	require.Equal(t, map[string]string{
		"image": "image 1.image", "prompt": "text 2:7.text", "steps": "integer 2:8.steps",
	}, inputs(d.Schema))
	prompt, ok := d.Schema.Input("prompt")
	require.True(t, ok)
	require.JSONEq(t, `"a windmill"`, string(prompt.Default), "the value that the subgraph's node shows")
	require.Equal(t, "Prompt", prompt.Title)
}

func TestInputsOfACommandAreDerived(t *testing.T) {
	t.Parallel()
	d := derive(t, plain, every)
	require.Equal(t, callable.FromNames, d.Source)
	require.Equal(t, map[string]string{
		"picture": "image 1.image", "prompt": "text 2.text", "seed": "integer 3.seed", "steps": "integer 3.steps", "cfg": "number 3.cfg",
		"sampler": "choice 3.sampler_name", "weights": "choice 3.weights", "tiled": "boolean 3.tiled", "curve": "any 3.curve",
		"free": "number 3.free", "count": "integer 3.count", "mode": "choice 3.mode",
	}, inputs(d.Schema))
	require.Equal(t, map[string]string{"result": "image 4"}, outputs(d.Schema))
	require.JSONEq(t, `{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false, "required": ["picture"],
		"properties": {
			"picture": {"title": "image", "type": "string", "minLength": 1, "x-kind": "image", "x-choices": ["none"], "description":
				"A file (image): the id or hash of an asset, the name of an uploaded file, a data: URL or an https: URL, or none."},
			"prompt": {"title": "Positive", "description": "What to draw.", "type": "string", "default": "a mill", "x-multiline": true},
			"seed": {"title": "seed", "type": "integer", "minimum": 0, "maximum": 18446744073709551615, "default": 7},
			"steps": {"title": "steps", "type": "integer", "minimum": 1, "maximum": 100, "default": 20, "x-step": 1},
			"cfg": {"title": "cfg", "type": "number", "minimum": 0, "maximum": 30, "default": 8, "x-step": 0.1},
			"sampler": {"title": "sampler_name", "type": "string", "enum": ["euler", "heun"], "default": "euler"},
			"weights": {"title": "weights", "type": "string", "enum": ["gone.safetensors", "a.safetensors"], "default": "gone.safetensors"},
			"tiled": {"title": "tiled", "type": "boolean", "default": false},
			"curve": {"title": "curve", "default": [1, 2]},
			"free": {"title": "free", "type": "number", "minimum": -1.7976931348623157e+308, "maximum": 1.7976931348623157e+308, "default": 0.5},
			"count": {"title": "count", "type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807, "default": 3},
			"mode": {"title": "mode", "type": "string", "enum": ["plain", "fine"], "default": "fine"}
		}}`, string(d.Schema.JSONSchema()))
}

func TestNamesOfAFileAreRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"name: portrait\ninputs: {Prompt Text: 2.text, seed: 3.seed}\noutputs:\n  result: 4\n",
		`{"inputs": ["Prompt Text=2.text", "3.seed"], "outputs": ["result=4"]}`,
	} {
		named, err := callable.ParseNamed([]byte(text))
		require.NoError(t, err)
		d := derive(t, plain, named)
		require.Equal(t, map[string]string{"prompt_text": "text 2.text", "seed": "integer 3.seed"}, inputs(d.Schema))
		require.Equal(t, map[string]string{"result": "image 4"}, outputs(d.Schema))
	}
	_, err := callable.ParseNamed([]byte("inputs: {a: [1]}"))
	require.True(t, fault.Is(err, fault.Invalid))
}

// volumes is a graph whose two volumes have nodes with these titles.
func volumes(first, second string) string {
	return fmt.Sprintf(`{"1":{"class_type":"LoadSound","inputs":{"audio":"a.wav"}},
		"2":{"class_type":"Volume","inputs":{"audio":["1",0],"volume":1},"_meta":{"title":%q}},
		"3":{"class_type":"Volume","inputs":{"audio":["2",0],"volume":2},"_meta":{"title":%q}},
		"4":{"class_type":"SaveSound","inputs":{"audio":["3",0],"filename_prefix":"x"}}}`, first, second)
}

func TestEqualNamesAreToldApart(t *testing.T) {
	t.Parallel()
	named := callable.Named{Inputs: []string{"2.volume", "3.volume", "1.audio"}}
	for name, c := range map[string]struct {
		graph string
		want  []string
	}{
		"by titles":              {volumes("Voice", "Music"), []string{"voice", "music", "audio"}},
		"by titles and fields":   {volumes("", "Music"), []string{"volume", "music", "audio"}},
		"in letters of a script": {volumes("Громкость", "音量"), []string{"громкость", "音量", "audio"}},
		"with spaces and signs":  {volumes("  The: Voice! ", "the voice 2"), []string{"the_voice", "the_voice_2", "audio"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, in := range derive(t, c.graph, named).Schema.Inputs {
				got = append(got, in.Name)
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestDocumentsThatCannotBeCalledAreRefused(t *testing.T) {
	t.Parallel()
	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprintf("in%d=3.steps", i)
	}
	for name, c := range map[string]struct {
		document string
		named    callable.Named
		message  string
	}{
		"nothing names inputs": {plain, callable.Named{}, "The drawing shows no inputs: it has neither inputs of App Mode nor exactly one " +
			"subgraph. Name them, for instance --input text=2.text; there are: 1.image (Load Image), 2.text (Positive), "},
		"no entry of App Mode is there": {
			drawing(`{"inputs":[["98","a"],["99","b"]],"outputs":[]}`),
			callable.Named{},
			"None of the inputs that the drawing shows is there: Input 98.a is left out: the drawing has no node 98 that runs.",
		},
		"an input that feeds nothing": {
			plain,
			callable.Named{Inputs: []string{"5.text"}},
			"Input 5.text: no output depends on it; there are: ",
		},
		"a link": {
			plain,
			callable.Named{Inputs: []string{"3.positive"}},
			"Input 3.positive: the output of another node is its value",
		},
		"a field that is not there": {
			plain,
			callable.Named{Inputs: []string{"3.odd"}},
			`Input 3.odd: node 3 has no field "odd"`,
		},
		"a node that is not there": {
			plain,
			callable.Named{Inputs: []string{"x=9.text"}},
			"Input 9.text: the drawing has no node 9 that runs",
		},
		"a name that cannot be read": {
			plain,
			callable.Named{Inputs: []string{"prompt"}},
			`Input "prompt" cannot be read; write it as prompt=6.text.`,
		},
		"a name without a letter": {
			plain,
			callable.Named{Inputs: []string{"!=2.text"}},
			`Input "!=2.text" cannot be read`,
		},
		"two inputs of one field": {
			plain,
			callable.Named{Inputs: []string{"a=2.text", "b=2.text"}},
			"it sets the same value as 2.text",
		},
		"equal after folding": {
			plain,
			callable.Named{Inputs: []string{"My Text=2.text", "my_text=3.seed"}},
			`2.text, 3.seed would all be called "my_text"; name them apart, for instance --input my_text_1=2.text.`,
		},
		"equal titles": {
			volumes("Voice", "voice"),
			callable.Named{Inputs: []string{"2.volume", "3.volume"}},
			`2.volume, 3.volume would all be called "voice"`,
		},
		"an output that is not there": {
			plain,
			callable.Named{Inputs: []string{"2.text"}, Outputs: []string{"x=9"}},
			"Output 9: it is not one node of the drawing.",
		},
		"500 inputs": {
			plain,
			callable.Named{Inputs: many},
			"There are 500 inputs; at most 200 are allowed.",
		},
		"a graph without an output": {
			`{"1":{"class_type":"Load","inputs":{"image":"x"}}}`,
			callable.Named{Inputs: []string{"1.image"}},
			"The graph has no output",
		},
		"an unknown class in a drawing": {
			`{"nodes":[{"id":1,"type":"Odd","widgets_values":[1]}],"links":[]}`,
			callable.Named{},
			`Node 1 is of class "Odd", which this installation cannot run.`,
		},
		"no graph": {`[]`, callable.Named{}, "neither a workflow in JSON nor a PNG"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := callable.Derive([]byte(c.document), graph.Limits{}, registry(t, definitions), c.named)
			require.ErrorContains(t, err, c.message)
			require.True(t, fault.Is(err, fault.Invalid))
			require.Less(t, len(err.Error()), 4000)
		})
	}
}

func TestAGraphOfUnknownClassesIsDerivedFromItsValues(t *testing.T) {
	t.Parallel()
	d := derive(t, `{"1":{"class_type":"Odd","inputs":{"text":"x","n":1,"f":1.5,"b":true,"list":{"__value__":[1]}}}}`,
		callable.Named{Inputs: []string{"1.text", "1.n", "1.f", "1.b", "1.list"}})
	require.Equal(t, map[string]string{
		"text": "text 1.text", "n": "integer 1.n", "f": "number 1.f", "b": "boolean 1.b", "list": "any 1.list",
	}, inputs(d.Schema))
	require.Equal(t, map[string]string{"file": "file 1"}, outputs(d.Schema))
	require.Equal(t, []string{"Odd"}, d.Lacks)
}

func TestALargeGraphIsDerived(t *testing.T) {
	t.Parallel()
	nodes := []string{`"0":{"class_type":"Text","inputs":{"text":"a","clip":["0",0]}}`}
	for i := 1; i < 5000; i++ {
		nodes = append(nodes, fmt.Sprintf(`"%d":{"class_type":"Save","inputs":{"images":["%d",0],"filename_prefix":"p%d"}}`, i, i-1, i))
	}
	document := []byte("{" + strings.Join(nodes, ",") + "}")
	_, err := callable.Derive(document, graph.Limits{}, registry(t, definitions), callable.Named{})
	require.ErrorContains(t, err, "and 4980 more.")
	d := derive(t, string(document), callable.Named{Inputs: []string{"0.text"}, Outputs: []string{"last=4999"}})
	require.Equal(t, map[string]string{"text": "text 0.text"}, inputs(d.Schema))
	larger := []byte("{" + strings.Join(append(nodes, `"x":{}`), ",") + "}")
	_, err = callable.Derive(larger, graph.Limits{}, registry(t, definitions), callable.Named{})
	require.ErrorContains(t, err, "at most 5000 are allowed")
	_, err = callable.Derive(document, graph.Limits{MaxNodes: 100}, registry(t, definitions), callable.Named{})
	require.ErrorContains(t, err, "at most 100 are allowed")
}

func TestCandidatesAreTheFieldsThatTakeAValue(t *testing.T) {
	t.Parallel()
	all, outputs, err := callable.Candidates([]byte(plain), graph.Limits{}, registry(t, definitions))
	require.NoError(t, err)
	var names []string
	for _, c := range all {
		names = append(names, c.Node+"."+c.Input)
	}
	require.Equal(t, []string{
		"1.image", "2.text", "3.seed", "3.steps", "3.cfg", "3.sampler_name", "3.weights", "3.tiled", "3.curve", "3.free", "3.count", "3.mode",
		"3.mode.strength", "4.filename_prefix",
	}, names)
	require.NotEmpty(t, outputs)
	require.Equal(t, callable.Image, outputs[0].Kind)
}

func TestTheDerivedGraphIsValid(t *testing.T) {
	t.Parallel()
	d := derive(t, drawing(`null`), callable.Named{})
	g, err := graph.Parse(d.Graph, graph.Limits{})
	require.NoError(t, err)
	n, ok := g.Node("2:8")
	require.True(t, ok)
	for field, want := range map[string]string{"seed": "7", "cfg": "8.5", "mode": `"fine"`, "mode.strength": "1.5", "count": "3"} {
		value, _ := n.Input(field)
		got, err := json.Marshal(value)
		require.NoError(t, err)
		require.Equal(t, want, string(got), field)
	}
}
