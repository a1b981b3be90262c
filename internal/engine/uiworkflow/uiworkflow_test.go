package uiworkflow_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/fault"
)

type classes map[string]*node.Class

func (c classes) Lookup(name string) (*node.Class, bool) { class, ok := c[name]; return class, ok }

// known holds the classes of the tests, with their inputs in ComfyUI's order.
var known = classes{
	"Loader": {DisplayName: "Load it", Inputs: []node.Input{{Name: "ckpt_name", Type: node.Combo}}},
	"Text":   {Inputs: []node.Input{{Name: "text", Type: node.String}, {Name: "clip", Type: "CLIP"}}},
	"Sampler": {Inputs: []node.Input{
		{Name: "model", Type: "MODEL"},
		{Name: "seed", Type: node.Int},
		{Name: "steps", Type: node.Int},
		{Name: "sampler_name", Type: node.Combo},
		{Name: "denoise", Type: node.Float, Section: node.Optional},
		{Name: "positive", Type: "CONDITIONING"},
		{Name: "forced", Type: node.Int, ForceInput: true},
	}},
	"Save": {Inputs: []node.Input{{Name: "images", Type: node.Image}, {Name: "filename_prefix", Type: node.String}}},
}

// saved is a workflow with a reroute, a note, a primitive, a bypassed and a muted node.
const saved = `{"last_node_id":9,"version":0.4,"nodes":[
	{"id":1,"type":"Loader","mode":0,"inputs":[],"outputs":[{"type":"MODEL"},{"type":"CLIP"}],"widgets_values":["sd15.safetensors"]},` +
	`
	{"id":2,"type":"Text","title":"What is wanted","mode":0,"inputs":[{"name":"clip","type":"CLIP","link":1}],` +
	`"outputs":[{"type":"CONDITIONING"}],` +
	`"widgets_values":["a mill"]},
	{"id":3,"type":"Sampler","mode":0,"inputs":[{"name":"model","type":"MODEL","link":2},{"name":"positive","type":"CONDITIONING",` +
	`"link":6},{"name":"seed","type":"INT","link":7}],"outputs":[{"type":"IMAGE"}],"widgets_values":[42,"randomize",20,"euler",` +
	`0.5]},
	{"id":4,"type":"Reroute","mode":0,"inputs":[{"name":"","type":"*","link":3}],"outputs":[{"type":"MODEL"}]},
	{"id":5,"type":"Text","mode":4,"inputs":[{"name":"clip","type":"CLIP","link":4},{"name":"in","type":"CONDITIONING","link":5}],` +
	`"outputs":[{"type":"CONDITIONING"}],"widgets_values":["bypassed"]},
	{"id":6,"type":"Note","mode":0,"widgets_values":["read me"]},
	{"id":7,"type":"PrimitiveNode","mode":0,"outputs":[{"type":"INT"}],"widgets_values":[42,"fixed"]},
	{"id":8,"type":"Save","mode":0,"inputs":[{"name":"images","type":"IMAGE","link":8}],"widgets_values":{"filename_prefix":"by ` +
	`name","other":1}},
	{"id":9,"type":"Save","mode":2,"inputs":[{"name":"images","type":"IMAGE","link":9}],"widgets_values":["muted"]}],
	"links":[[1,1,1,2,0,"CLIP"],[3,1,0,4,0,"MODEL"],[2,4,0,3,0,"MODEL"],[4,1,1,5,0,"CLIP"],[5,2,0,5,1,"CONDITIONING"],[6,` +
	`5,0,3,1,"CONDITIONING"],[7,7,0,3,2,"INT"],[8,3,0,8,0,"IMAGE"],[9,3,0,9,0,"IMAGE"]]}`

const prompt = `{
	"1":{"inputs":{"ckpt_name":"sd15.safetensors"},"class_type":"Loader","_meta":{"title":"Load it"}},
	"2":{"inputs":{"text":"a mill","clip":["1",1]},"class_type":"Text","_meta":{"title":"What is wanted"}},
	"3":{"inputs":{"model":["1",0],"seed":42,"steps":20,"sampler_name":"euler","denoise":0.5,"positive":["2",0]},"class_type":"Sampler",` +
	`"_meta":{"title":""}},
	"8":{"inputs":{"images":["3",0],"filename_prefix":"by name"},"class_type":"Save","_meta":{"title":""}}}`

func read(file []byte, classes uiworkflow.Classes) (json.RawMessage, error) {
	text, err := uiworkflow.Text(file)
	if err != nil {
		return nil, err
	}
	return uiworkflow.Prompt(text, classes)
}

func TestASavedWorkflowBecomesItsPrompt(t *testing.T) {
	t.Parallel()
	for name, file := range map[string][]byte{
		"as saved":               []byte(saved),
		"in a picture":           picture(t, "tEXt", "workflow\x00"+saved),
		"packed in a picture":    picture(t, "zTXt", "workflow\x00\x00"+deflated(t, saved)),
		"as Unicode":             picture(t, "iTXt", "workflow\x00\x00\x00\x00\x00"+saved),
		"packed as Unicode":      picture(t, "iTXt", "workflow\x00\x01\x00en\x00x\x00"+deflated(t, saved)),
		"the prompt":             []byte(prompt),
		"a body with the prompt": []byte(`{"prompt":` + prompt + `,"client_id":"x"}`),
		"the prompt first":       picture(t, "tEXt", "prompt\x00"+prompt, "tEXt", "workflow\x00{}"),
		"other texts unread": picture(t, "zTXt", "parameters\x00\x00not packed", "tEXt", "prompt\x00"+prompt, "zTXt",
			"prompt\x00\x00not packed"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(file, known)
			require.NoError(t, err)
			require.JSONEq(t, prompt, string(got))
		})
	}
}

// TestValuesOfFieldsAreReadInTheirOrder reads fields that the editor saves with further values beside them.
func TestValuesOfFieldsAreReadInTheirOrder(t *testing.T) {
	t.Parallel()
	choices := []json.RawMessage{[]byte(`"COMFY_DYNAMICCOMBO_V3"`), []byte(`{"options":[
		{"key":"plain","inputs":{"required":{}}},
		{"key":"fine","inputs":{"required":{"seed":["INT",{"control_after_generate":true}],"step":["INT",{}]}}}]}`)}
	class := &node.Class{Remote: true, Inputs: []node.Input{
		{Name: "mode", Type: node.DynamicComboType, Section: node.Optional, Declared: choices},
		{Name: "chance", Type: node.Int, Declared: []json.RawMessage{[]byte(`"INT"`), []byte(`{"control_after_generate":true}`)}},
		{Name: "box", Type: node.BoundingBox},
		{Name: "view", Type: "LOAD_3D"},
		{Name: "width", Type: node.Int},
	}}
	for values, want := range map[string]string{
		`["fine",7,"randomize",2,9,"fixed",{"x":1},1,2,3,4,"upload3dmodel","uploadExtraResources","clear","v",512]`: `{` +
			`"mode":"fine","mode.seed":7,"mode.step":2,"chance":9,"box":{"x":1},"view":"v","width":512}`,
		`["plain",9,{"x":1},"v",512]`: `{"mode":"plain","chance":9,"box":{"x":1},"view":"v","width":512}`,
	} {
		got, err := read([]byte(`{"nodes":[{"id":1,"type":"Many","widgets_values":`+values+`}],"links":[]}`), classes{"Many": class})
		require.NoError(t, err)
		require.JSONEq(t, `{"1":{"inputs":`+want+`,"class_type":"Many","_meta":{"title":""}}}`, string(got))
	}
}

// nested has a subgraph that contains another one and occurs twice: once with values of its own, once bypassed.
const nested = `{"nodes":[
	{"id":1,"type":"Loader","mode":0,"inputs":[],"outputs":[{"type":"MODEL"},{"type":"CLIP"}],"widgets_values":["sd15.safetensors"]},` +
	`
	{"id":2,"type":"outer","mode":0,"inputs":[{"name":"model","type":"MODEL","link":1},{"name":"clip","type":"CLIP","link":2},` +
	`{"name":"text","type":"STRING","widget":{"name":"text"},"link":null}],
		"outputs":[{"type":"IMAGE"},{"type":"MODEL"}],"widgets_values":["a windmill"]},
	{"id":3,"type":"Save","mode":0,"inputs":[{"name":"images","type":"IMAGE","link":3}],"widgets_values":["x"]},
	{"id":4,"type":"outer","mode":4,"inputs":[{"name":"model","type":"MODEL","link":4}],"outputs":[{"type":"IMAGE"},{"type":"MODEL"}]},` +
	`
	{"id":5,"type":"Sampler","mode":0,"inputs":[{"name":"model","type":"MODEL","link":5}],"outputs":[{"type":"IMAGE"}],"widgets_values":[1,` +
	`"fixed",2,"euler",1]}],
	"links":[[1,1,0,2,0,"MODEL"],[2,1,1,2,1,"CLIP"],[3,2,0,3,0,"IMAGE"],[4,2,1,4,0,"MODEL"],[5,4,1,5,0,"MODEL"]],
	"definitions":{"subgraphs":[
	{"id":"outer","name":"Draw","nodes":[
		{"id":1,"type":"inner","mode":0,"inputs":[{"name":"clip","type":"CLIP","link":1},{"name":"text","type":"STRING",` +
	`"widget":{"name":"text"},` +
	`"link":2}],"outputs":[{"type":"CONDITIONING"}],"widgets_values":[]},
		{"id":7,"type":"Sampler","mode":0,"inputs":[{"name":"model","type":"MODEL","link":3},{"name":"positive","type":"CONDITIONING",` +
	`"link":4}],"outputs":[{"type":"IMAGE"}],"widgets_values":[7,"fixed",20,"euler",0.5]}],
		"links":[{"id":1,"origin_id":-10,"origin_slot":1,"target_id":1,"target_slot":0,"type":"CLIP"},{"id":2,"origin_id":-10,` +
	`"origin_slot":2,"target_id":1,"target_slot":1,"type":"STRING"},
			{"id":3,"origin_id":-10,"origin_slot":0,"target_id":7,"target_slot":0,"type":"MODEL"},{"id":4,"origin_id":1,"origin_slot":0,` +
	`"target_id":7,"target_slot":1,"type":"CONDITIONING"},
			{"id":5,"origin_id":7,"origin_slot":0,"target_id":-20,"target_slot":0,"type":"IMAGE"},{"id":6,"origin_id":-10,"origin_slot":0,` +
	`"target_id":-20,"target_slot":1,"type":"MODEL"}]},
	{"id":"inner","name":"Say","nodes":[
		{"id":3,"type":"Text","mode":0,"inputs":[{"name":"clip","type":"CLIP","link":9},{"name":"text","type":"STRING",` +
	`"widget":{"name":"text"},` +
	`"link":8}],"outputs":[{"type":"CONDITIONING"}],"widgets_values":["a mill"]}],
		"links":[{"id":9,"origin_id":-10,"origin_slot":0,"target_id":3,"target_slot":0,"type":"CLIP"},{"id":8,"origin_id":-10,` +
	`"origin_slot":1,"target_id":3,"target_slot":1,"type":"STRING"},
			{"id":7,"origin_id":3,"origin_slot":0,"target_id":-20,"target_slot":0,"type":"CONDITIONING"}]}]}}`

const unfolded = `{
	"1":{"inputs":{"ckpt_name":"sd15.safetensors"},"class_type":"Loader","_meta":{"title":"Load it"}},
	"2:1:3":{"inputs":{"text":"a windmill","clip":["1",1]},"class_type":"Text","_meta":{"title":""}},
	"2:7":{"inputs":{"model":["1",0],"seed":7,"steps":20,"sampler_name":"euler","denoise":0.5,"positive":["2:1:3",0]},` +
	`"class_type":"Sampler",` +
	`"_meta":{"title":""}},
	"3":{"inputs":{"images":["2:7",0],"filename_prefix":"x"},"class_type":"Save","_meta":{"title":""}},
	"5":{"inputs":{"model":["1",0],"seed":1,"steps":2,"sampler_name":"euler","denoise":1},"class_type":"Sampler","_meta":{"title":""}}}`

func TestSubgraphsAreUnfolded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text string }{
		"values of the node that stands for it": {nested, "a windmill"},
		"values within":                         {strings.Replace(nested, `"widgets_values":["a windmill"]`, `"widgets_values":[]`, 1), "a mill"},
		"values by name, of an input that is left out": {strings.NewReplacer(
			`,{"name":"text","type":"STRING","widget":{"name":"text"},"link":null}],
		"outputs"`, `],"widgets_values_named":{"text":"a windmill"},"outputs"`,
			`"name":"Draw",`, `"inputs":[{"name":"model"},{"name":"clip"},{"name":"text"}],`).Replace(nested), "a windmill"},
		"a field by proxy of its own": {strings.Replace(nested, `"widgets_values":["a windmill"]`,
			`"widgets_values":["a windmill"],"properties":{"proxyWidgets":[["-1","text"]]}`, 1), "a windmill"},
		"a field by proxy of a node within": {strings.Replace(nested, `"widgets_values":["a windmill"]`,
			`"widgets_values":["a windmill"],"properties":{"proxyWidgets":[["1","text"]]}`, 1), "a windmill"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read([]byte(c.file), known)
			require.NoError(t, err)
			require.JSONEq(t, strings.Replace(unfolded, "a windmill", c.text, 1), string(got))
		})
	}
}

func TestNonWorkflowIsRefused(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"no JSON":          "GIF89a",
		"an unknown class": `{"nodes":[{"id":1,"type":"Odd","mode":0,"widgets_values":[1]}],"links":[]}`,
		"subgraphs that hold one another": `{"nodes":[{"id":1,"type":"x"}],"links":[],"definitions":{"subgraphs":[{"id":"x","nodes":[{"id":1,` +
			`"type":"x"},{"id":2,"type":"x"}]}]}}`,
		"a subgraph within itself": `{"nodes":[{"id":1,"type":"x"}],"links":[],"definitions":{"subgraphs":[{"id":"x","nodes":[{"id":1,` +
			`"type":"x"}]}]}}`,
		"values without fields": `{"nodes":[{"id":1,"type":"x","widgets_values":[1]}],"links":[],` +
			`"definitions":{"subgraphs":[{"id":"x","nodes":[]}]}}`,
		"an odd proxy": `{"nodes":[{"id":1,"type":"x","widgets_values":[1],"properties":{"proxyWidgets":[["-1","none"]]}}],` +
			`"links":[],"definitions":{"subgraphs":[{"id":"x","nodes":[]}]}}`,
		"links that are none": `{"nodes":[],"links":[[1,2]]}`,
		"a link of names":     `{"nodes":[],"links":[["a","b","c","d","e","f"]]}`,
		"values that are odd": `{"nodes":[{"id":1,"type":"Save","mode":0,"widgets_values":"x"}],"links":[]}`,
		"an empty picture":    string(picture(t)),
		"half a picture":      string(picture(t, "tEXt", "workflow\x00"+saved)[:900]),
		"a broken text":       string(picture(t, "zTXt", "workflow\x00\x00not packed")),
		"a text too large":    string(picture(t, "zTXt", "workflow\x00\x00"+deflated(t, strings.Repeat(" ", 32<<20+1)))),
		"nested pictures":     string(picture(t, "tEXt", "workflow\x00"+string(picture(t)))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read([]byte(file), known)
			require.True(t, fault.Is(err, fault.Invalid), "%v", err)
		})
	}
}

// TestCyclicLinksEnd converts a workflow with reroutes that read one another.
func TestCyclicLinksEnd(t *testing.T) {
	t.Parallel()
	got, err := read([]byte(`{"nodes":[
		{"id":1,"type":"Reroute","mode":0,"inputs":[{"name":"","type":"*","link":1}]},{"id":2,"type":"Reroute","mode":0,"inputs":[{"name":"",`+
		`"type":"*","link":2}]},
		{"id":3,"type":"Save","mode":0,"inputs":[{"name":"images","type":"IMAGE","link":3}]}],
		"links":[[1,2,0,1,0,"*"],[2,1,0,2,0,"*"],[3,1,0,3,0,"*"]]}`), known)
	require.NoError(t, err)
	require.JSONEq(t, `{"3":{"inputs":{},"class_type":"Save","_meta":{"title":""}}}`, string(got))
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(saved))
	f.Add([]byte(prompt))
	f.Add([]byte(nested))
	f.Add(picture(f, "tEXt", "workflow\x00"+saved))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := read(data, known)
		if err == nil && !json.Valid(got) {
			t.Fatalf("no JSON: %q", got)
		}
	})
}

// picture returns a PNG with further chunks, given as kind and content.
func picture(t testing.TB, chunks ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))))
	whole := b.Bytes()
	head, tail := whole[:33], whole[33:] // the signature and IHDR
	out := bytes.Clone(head)
	for i := 0; i < len(chunks); i += 2 {
		body := chunks[i] + chunks[i+1]
		out = binary.BigEndian.AppendUint32(out, uint32(len(chunks[i+1])))
		out = append(out, body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE([]byte(body)))
	}
	return append(out, tail...)
}

func deflated(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}
