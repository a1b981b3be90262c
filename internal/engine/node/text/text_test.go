package text_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestPrimitivesAndConcatenation(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"PrimitiveString", "PrimitiveStringMultiline"} {
		res, err := run(t, name, node.Args{"value": "a\nb"})
		require.NoError(t, err)
		require.Equal(t, []node.Value{"a\nb"}, res.Outputs)
		require.Equal(t, name == "PrimitiveStringMultiline", class(t, name).Inputs[0].Multiline)
	}
	res, err := run(t, "StringConcatenate", node.Args{"string_a": "a", "string_b": "b", "delimiter": "-"})
	require.NoError(t, err)
	require.Equal(t, []node.Value{"a-b"}, res.Outputs)
}

func TestPreviewShowsAnything(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage8(1, 2, 3, 3, make([]uint8, 18))
	require.NoError(t, err)
	sound, err := media.Silence(44100, 2, 3)
	require.NoError(t, err)
	mask, err := raster.NewMask(1, 1, 2, []float32{0.25, 1})
	require.NoError(t, err)
	const black = "tensor([[[[0., 0., 0.],\n          [0., 0., 0.],\n          [0., 0., 0.]],\n\n" +
		"         [[0., 0., 0.],\n          [0., 0., 0.],\n          [0., 0., 0.]]]])"
	stack := &layers.Stack{Canvas: layers.Size{Width: 9, Height: 8}, Layers: []layers.Layer{
		{Image: im, Opacity: 1, Mode: "normal"},
		{
			Image: im, Mask: mask, Name: "b'c", X: 1, Y: -42, Z: 2, Width: 39, Height: 3, Rotation: -0.04206243497306335, Opacity: 0.36,
			Mode: "multiply", FlipH: true, FlipV: true,
		},
	}}
	tests := map[string]node.Value{
		"{'version': 1, 'layers': [{'image': " + black + ", 'type': 'raster', 'x': 0, 'y': 0, 'z_index': 0}, {'image': " + black +
			", 'type': 'raster', 'x': 1, 'y': -42, 'z_index': 2, 'mask': tensor([[[0.2500, 1.0000]]]), 'name': \"b'c\", 'opacity': 0.36, " +
			"'blend_mode': 'multiply', 'rotation': -0.04206243497306335, 'w': 39, 'h': 3, 'flip_h': True, 'flip_v': True}], " +
			"'canvas': (9, 8)}": stack,
		"{'waveform': tensor([[[0., 0., 0.],\n         [0., 0., 0.]]]), 'sample_rate': 44100}": sound,
		"tensor([[[0.2500, 1.0000]]])": mask, "tensor([], size=(1, 0, 2))": raster.EmptyMask(1, 0, 2),
		"text": "text", "5": int64(5), "2.0": 2.0, "True": true, "None": nil, "1e-07": 1e-7, black: im,
		"{\n    \"a\": [\n        1,\n        \"<ä>\"\n    ]\n}": map[string]any{"a": []any{int64(1), "<ä>"}}, "[]": []any{},
		"LinearCurve(points=[(0.0, 0.0), (0.77, 0.35), (1.0, 1.0)])": map[string]any{"interpolation": "linear", "points": []any{
			[]any{json.Number("0.77"), json.Number("0.35")}, []any{0.0, int64(0)}, []any{int64(1), 1.0},
		}},
		"MonotoneCubicCurve(points=[(0.0, 1.0), (1.0, 0.0)])": map[string]any{"interpolation": "monotone_cubic", "points": []any{
			[]any{int64(0), int64(1)}, []any{int64(1), int64(0)},
		}},
	}
	for want, value := range tests {
		res, err := run(t, "PreviewAny", node.Args{"source": value})
		require.NoError(t, err)
		require.Equal(t, []node.Value{want}, res.Outputs)
		require.Equal(t, map[string][]any{"text": {want}}, res.UI)
	}
}

// Structures that the graph itself contains keep the order of their keys.
func TestPreviewKeepsTheOrderOfKeys(t *testing.T) {
	t.Parallel()
	res, err := node.Invocation{Class: class(t, "PreviewAny"), Inputs: node.Args{"source": map[string]any{"b": int64(1), "a": 2.0}}}.
		Run(t.Context(), node.Call{NodeID: "3", Prompt: []byte(`{"3": {"inputs": {"source": {"b": 1, "a": 2.0}}}}`)})
	require.NoError(t, err)
	require.Equal(t, []any{"{\n    \"b\": 1,\n    \"a\": 2.0\n}"}, res.UI["text"])
}

func TestSaveTextWritesAFileOfItsFormat(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ format, text, want, contentType string }{
		"plain":       {"txt", "{}\n", "{}\n", "text/plain; charset=utf-8"},
		"table":       {"csv", "a,b", "a,b", "text/csv; charset=utf-8"},
		"markdown":    {"md", "# a", "# a", "text/markdown; charset=utf-8"},
		"json":        {"json", `{"b":[1,{}],"a":"ä"}`, "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": \"ä\"\n}", "application/json"},
		"json broken": {"json", `{"b":`, `{"b":`, "application/json"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := nodetest.NewFiles()
			inv := node.Invocation{
				Class:  class(t, "SaveText"),
				Inputs: node.Args{"text": tt.text, "filename_prefix": "notes/%year%", "format": tt.format},
			}
			res, err := inv.Run(t.Context(), node.Call{Files: files, SubmittedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
			require.NoError(t, err)
			require.Equal(t, tt.want, string(files.Saved["notes/2026_00001."+tt.format]))
			require.Equal(t, tt.contentType, files.Asked[0].ContentType)
			require.Equal(t, node.FolderOutput, files.Asked[0].Folder)
			require.Equal(t, []node.Value{tt.text}, res.Outputs)
			require.Equal(t, map[string][]any{
				"text": {tt.text}, "files": {node.File{Filename: "2026_00001." + tt.format, Subfolder: "notes", Folder: "output"}},
			}, res.UI)
		})
	}
}

func TestTextsDoNotGrowWithoutBound(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("a", 9<<20)
	for name, args := range map[string]node.Args{
		"StringConcatenate": {"string_a": big, "string_b": big, "delimiter": ""},
		"StringReplace":     {"string": big, "find": "a", "replace": "bb"},
		"RegexReplace":      {"string": big[:1<<16], "regex_pattern": "a", "replace": strings.Repeat("b", 1000)},
		"StringFormat":      {"f_string": "{a}{a}", "values.a": big},
	} {
		_, err := run(t, name, args)
		require.Equal(t, fault.Exhausted, fault.KindOf(err), name)
	}
}

func TestEndlessPatternsAreStopped(t *testing.T) {
	t.Parallel()
	_, err := run(t, "RegexReplace", node.Args{"string": strings.Repeat("a", 60) + "!", "regex_pattern": "(a+)+$", "replace": ""})
	require.Equal(t, fault.Exhausted, fault.KindOf(err))
}

func TestManyMatchesEndWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	call := &node.Call{Args: node.Args{"string": "aaa", "regex_pattern": "a", "replace": ""}}
	_, err := class(t, "RegexReplace").Run(ctx, call)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTemplatesTakeAnyValue(t *testing.T) {
	t.Parallel()
	mask, err := raster.NewMask(1, 1, 2, []float32{0.25, 1})
	require.NoError(t, err)
	res, err := run(t, "StringFormat", node.Args{
		"f_string": "{a} {b} {z}", "values.a": mask, "values.b": map[string]any{"k": []any{int64(1), nil}}, "values.z": 1.0,
	})
	require.NoError(t, err)
	require.Equal(t, "tensor([[[0.2500, 1.0000]]]) {'k': [1, None]} 1.0", res.Outputs[0])
}

func TestHugePatternsAreRefused(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("(?:", n) + "a" + strings.Repeat(")*+", n) }
	for pattern, good := range map[string]bool{
		nested(500): true, nested(501): false, strings.Repeat("a", 64<<10): true, strings.Repeat("a", 64<<10+1): false,
	} {
		_, err := run(t, "RegexReplace", node.Args{"string": "aa", "regex_pattern": pattern, "replace": ""})
		require.Equal(t, good, err == nil)
		require.True(t, good || fault.KindOf(err) == fault.Invalid)
	}
}

// FuzzRegexReplace checks that no pattern causes a panic, and that refused patterns are refused as bad input.
func FuzzRegexReplace(f *testing.F) {
	for _, seed := range [][3]string{
		{`(?P<n>a)(?P=n){,2}+[^]\--x[]`, `\g<n>\1`, "aab"},
		{`(?x) a # b`, "", "a"},
		{`(?(1)a|b)(c)\x4`, `\`, "c"},
		{"[", "", ""},
		{`\`, "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, pattern, replace, s string) {
		_, err := run(t, "RegexReplace", node.Args{"string": s, "regex_pattern": pattern, "replace": replace})
		if err != nil {
			require.Contains(t, []fault.Kind{fault.Invalid, fault.Exhausted}, fault.KindOf(err), err)
		}
	})
}

func TestSearchingTextsIsBounded(t *testing.T) {
	t.Parallel()
	res, err := run(t, "JsonExtractString", node.Args{
		"json_string": `{"k":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + "}",
		"key":         "k",
	})
	require.NoError(t, err)
	require.Equal(t, []node.Value{""}, res.Outputs, "nested too deep")
	for class, args := range map[string]node.Args{
		"RegexMatch":   {"string": strings.Repeat("a", 60) + "!", "regex_pattern": "(a+)+$"},
		"RegexExtract": {"string": strings.Repeat("a", 60) + "!", "regex_pattern": "(a+)+$", "mode": "All Matches", "group_index": int64(1)},
	} {
		_, err := run(t, class, args)
		require.Equal(t, fault.Exhausted, fault.KindOf(err), class)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	args := node.Args{"string": "aaa", "regex_pattern": "a", "mode": "All Matches", "group_index": int64(1)}
	_, err = class(t, "RegexExtract").Run(ctx, &node.Call{Args: args})
	require.ErrorIs(t, err, context.Canceled)
	args["mode"] = "Some"
	_, err = run(t, "RegexExtract", args)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	args["mode"], args["group_index"] = "First Group", int64(-1)
	_, err = run(t, "RegexExtract", args)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// FuzzJSONExtractString checks that a value is found wherever encoding/json finds an object with the key.
func FuzzJSONExtractString(f *testing.F) {
	for _, seed := range []string{`{"k":1}`, `{"k":{"a":[null,"x"]},"k":true}`, `[`, `{"k":"\ud800"}`} {
		f.Add(seed, "k")
	}
	f.Fuzz(func(t *testing.T, source, key string) {
		res, err := run(t, "JsonExtractString", node.Args{"json_string": source, "key": key})
		require.NoError(t, err)
		var object map[string]any
		if json.Unmarshal([]byte(source), &object) != nil || object[key] == nil {
			require.Empty(t, res.Outputs[0])
		} else if s, ok := object[key].(string); ok {
			require.Equal(t, s, res.Outputs[0])
		} else {
			require.NotEmpty(t, res.Outputs[0])
		}
	})
}

// The texts are those of json.dumps with ensure_ascii=False. Structures that the graph contains keep the order of
// their keys.
func TestStructuresAreWrittenAsJSON(t *testing.T) {
	t.Parallel()
	value := map[string]any{"b": int64(1), "a": []any{1.0, nil, "ä\""}, "c": map[string]any{}}
	prompt := []byte(`{"3": {"inputs": {"dictionary": {"b": 1, "a": [1.0, null, "ä\""], "c": {}}}}}`)
	for indent, want := range map[int64]string{
		0: `{"b": 1, "a": [1.0, null, "ä\""], "c": {}}`,
		2: "{\n  \"b\": 1,\n  \"a\": [\n    1.0,\n    null,\n    \"ä\\\"\"\n  ],\n  \"c\": {}\n}",
	} {
		res, err := node.Invocation{Class: class(t, "ConvertDictionaryToString"), Inputs: node.Args{"dictionary": value, "indent": indent}}.
			Run(t.Context(), node.Call{NodeID: "3", Prompt: prompt})
		require.NoError(t, err)
		require.Equal(t, want, res.Outputs[0])
	}
	res, err := run(t, "ConvertArrayToString", node.Args{"array": []any{[]any{}, map[string]any{}}, "indent": int64(0)})
	require.NoError(t, err)
	require.Equal(t, "[[], {}]", res.Outputs[0])
	_, err = run(t, "ConvertArrayToString", node.Args{"array": &raster.Image{}, "indent": int64(0)})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

func TestUnknownGroupsAreReportedAsPythonDoes(t *testing.T) {
	t.Parallel()
	args := node.Args{
		"string": "Hello", "regex_pattern": "(l+)(o)", "replace": `\g<x>`, "case_insensitive": true, "multiline": false, "dotall": false,
		"count": int64(0),
	}
	_, err := run(t, "RegexReplace", args)
	require.ErrorContains(t, err, "unknown group name 'x'\n")
}
