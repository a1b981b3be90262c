package callable_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

func prepare(t testing.TB, d *callable.Derived) *callable.Template {
	t.Helper()
	raw, err := json.Marshal(d.Schema) // as a store keeps it
	require.NoError(t, err)
	var s callable.Schema
	require.NoError(t, json.Unmarshal(raw, &s))
	require.Equal(t, *d.Schema, s)
	template, err := callable.Prepare(d.Graph, &s)
	require.NoError(t, err)
	return template
}

func values(t testing.TB, body string) map[string]json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(body), &all))
	return all
}

const fileWords = "the id or hash of an asset, the name of an uploaded file, a data: URL or an https: URL, or none"

func TestProblemsNameTheInputAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	template := prepare(t, derive(t, plain, every))
	for body, want := range map[string][]callable.Problem{
		`{}`:                               {{"picture", "a value is required", fileWords}},
		`{"picture":"x","steps":101}`:      {{"steps", "101 is more than 100", "an integer from 1 to 100"}},
		`{"picture":"x","steps":1.5}`:      {{"steps", "it takes an integer, not 1.5", "an integer from 1 to 100"}},
		`{"picture":"x","cfg":"8"}`:        {{"cfg", "it takes a number, not a text", "a number from 0 to 30"}},
		`{"picture":"x","sampler":"dpm"}`:  {{"sampler", `"dpm" is none of the choices`, "euler, heun"}},
		`{"picture":"x","tiled":0}`:        {{"tiled", "it takes true or false, not a number", "true or false"}},
		`{"picture":"x","prompt":["2",0]}`: {{"prompt", "it takes a text, not a list", "a text"}},
		`{"picture":""}`:                   {{"picture", "the text that names a file is empty", fileWords}},
		`{"picture":"x","free":1e99999999999}`: {{
			"free", "1e99999999999 is more than 1.7976931348623157e+308", "a number from -1.7976931348623157e+308 to 1.7976931348623157e+308",
		}},
		`{"picture":"x","6.text":1,"prompt":null}`: {
			{"prompt", "it takes a text, not null", "a text"},
			{"6.text", "there is no such input", "picture, prompt, seed, steps, cfg, sampler, weights, tiled, curve, free, count, mode"},
		},
	} {
		_, err := template.Check(values(t, body), nil)
		var refused *callable.Invalid
		require.ErrorAs(t, err, &refused, body)
		require.Equal(t, want, refused.Problems, body)
		require.True(t, fault.Is(err, fault.Invalid))
		require.Equal(t, fault.CodeInvalidInput, fault.CodeOf(err))
	}
}

func TestFilesAreClassified(t *testing.T) {
	t.Parallel()
	template := prepare(t, derive(t, plain, callable.Named{Inputs: []string{"picture=1.image"}}))
	for value, want := range map[string]callable.Form{
		"0b6f2f5e-7f60-4a0b-9a57-0e4a3f1f5a10": callable.FormAsset,
		"blake3:" + strings.Repeat("0f", 32):   callable.FormHash,
		"data:image/png;base64,AAAA":           callable.FormData,
		"DATA:image/png;base64,AAAA":           callable.FormData,
		"https://example.com/a.png":            callable.FormURL,
		"http://169.254.169.254/latest":        callable.FormURL,
		"sub/photo.png":                        callable.FormName,
		"photo: of a cat.png":                  callable.FormName,
		"blake3:0f":                            callable.FormName,
	} {
		raw, err := json.Marshal(value)
		require.NoError(t, err)
		files, err := template.Check(map[string]json.RawMessage{"picture": raw}, nil)
		require.NoError(t, err)
		require.Equal(t, []callable.FileValue{{Input: "picture", Kind: callable.Image, Form: want, Value: value}}, files)
	}
	files, err := template.Check(values(t, `{"picture":"none"}`), nil)
	require.NoError(t, err)
	require.Empty(t, files, "a choice of the class is not a file")
}

func TestValuesGoIntoTheGraphAndNeverBecomeLinks(t *testing.T) {
	t.Parallel()
	template := prepare(t, derive(t, plain, every))
	var original, filled map[string]struct {
		Inputs map[string]any `json:"inputs"`
	}
	require.JSONEq(t, plain, string(template.Fill(nil, nil)))
	require.NoError(t, json.Unmarshal([]byte(plain), &original))
	given := values(t, `{"prompt":"a \"cat\"","steps":5,"curve":["1",0],"picture":{"__type":"core/ASSET","info":{"id":"x"}}}`)
	require.NoError(t, json.Unmarshal(template.Fill(given, nil), &filled))
	original["2"].Inputs["text"], original["3"].Inputs["steps"] = `a "cat"`, 5.0
	original["3"].Inputs["curve"] = map[string]any{"__value__": []any{"1", 0.0}}
	original["1"].Inputs["image"] = map[string]any{"__type": "core/ASSET", "info": map[string]any{"id": "x"}}
	require.Equal(t, original, filled)
}

func TestAnInputThatTheGraphDoesNotGiveIsAdded(t *testing.T) {
	t.Parallel()
	const short = `{"1":{"class_type":"Volume","inputs":{}},"2":{"class_type":"SaveSound","inputs":{"audio":["1",0]}}}`
	template := prepare(t, derive(t, short, callable.Named{Inputs: []string{"1.volume", "2.filename_prefix"}}))
	require.JSONEq(t, `{"1":{"class_type":"Volume","inputs":{"volume":3}},"2":{"class_type":"SaveSound","inputs":{"audio":["1",0],`+
		`"filename_prefix":"x"}}}`, string(template.Fill(values(t, `{"volume":3,"filename_prefix":"x"}`), nil)))
	require.JSONEq(t, `{"1":{"class_type":"Volume","inputs":{"volume":1}},"2":{"class_type":"SaveSound","inputs":{"audio":["1",0],`+
		`"filename_prefix":"audio"}}}`, string(template.Fill(nil, nil)))
}

func TestErrorsOfTheGraphAreToldInNamesOfInputs(t *testing.T) {
	t.Parallel()
	classes := registry(t, definitions)
	d := derive(t, plain, every)
	template := prepare(t, d)
	g, err := graph.Parse(template.Fill(values(t, `{"picture":"missing.png","weights":"gone.safetensors"}`), nil), graph.Limits{})
	require.NoError(t, err)
	_, err = (&graph.Validator{Classes: classes}).Validate(t.Context(), g, noFiles{}, nil)
	require.Error(t, err)
	err = d.Schema.Explain(err)
	var refused *callable.Invalid
	require.ErrorAs(t, err, &refused)
	require.Contains(t, err.Error(), `input "weights": Value not in list; allowed: gone.safetensors, a.safetensors`)
	require.NotContains(t, err.Error(), "sampler_name")
	other := errors.New("no database")
	require.Equal(t, other, d.Schema.Explain(other))
	require.Equal(t, []string{"prompt"}, d.Schema.InputsOf("2"))
	require.Equal(t, "result", d.Schema.Step("4"))
	require.Equal(t, "prompt", d.Schema.Step("2"))
	require.Empty(t, d.Schema.Step("5"))
}

// schemas returns schemas of all kinds of inputs in different combinations.
func schemas(t testing.TB) (all []*callable.Template) {
	t.Helper()
	for i := range 20 {
		named := callable.Named{Outputs: every.Outputs}
		for k, in := range every.Inputs {
			if i == 0 || (i>>(k%5))&1 == 1 || k == i%len(every.Inputs) {
				named.Inputs = append(named.Inputs, in)
			}
		}
		all = append(all, prepare(t, derive(t, plain, named)))
	}
	return all
}

// TestValuesAreAcceptedExactlyWhereTheSchemaAcceptsThem compares the checks with a validator of JSON Schema.
func TestValuesAreAcceptedExactlyWhereTheSchemaAcceptsThem(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	accepted, refused := 0, 0
	for _, template := range schemas(t) {
		compiled := compile(t, template.Schema.JSONSchema())
		for range 100 {
			if body := generate(random, template.Schema); requireSame(t, template, compiled, body) {
				accepted++
			} else {
				refused++
			}
		}
	}
	require.Greater(t, accepted, 400)
	require.Greater(t, refused, 400)
}

func FuzzCheck(f *testing.F) {
	templates := schemas(f)
	compiled := make([]*jsonschema.Schema, len(templates))
	for i, template := range templates {
		compiled[i] = compile(f, template.Schema.JSONSchema())
	}
	f.Add(uint8(0), []byte(`{"picture":"x","seed":18446744073709551616}`))
	f.Add(uint8(0), []byte(`{"picture":"x","steps":1e1,"cfg":-0.0,"count":1.0}`))
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		var object map[string]json.RawMessage
		if json.Unmarshal(body, &object) != nil || object == nil || len(body) > 300 || repeats(body, object) {
			return
		}
		requireSame(t, templates[int(which)%len(templates)], compiled[int(which)%len(templates)], string(body))
	})
}

// repeats reports whether the decoder merged members of the same name.
func repeats(body []byte, object map[string]json.RawMessage) bool {
	return bytes.Count(body, []byte(`":`)) != len(object)
}

func compile(t testing.TB, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", document))
	compiled, err := c.Compile("schema.json")
	require.NoError(t, err)
	return compiled
}

// requireSame requires that Check accepts a body exactly if the validator does, and returns whether it does. Values that are
// accepted must give a graph that is JSON.
func requireSame(t testing.TB, template *callable.Template, compiled *jsonschema.Schema, body string) bool {
	t.Helper()
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	require.NoError(t, err, body)
	given := values(t, body)
	want := compiled.Validate(instance)
	_, got := template.Check(given, nil)
	require.Equal(t, want == nil, got == nil, "%s\nJSON Schema: %v\nhere: %v", body, want, got)
	if got == nil {
		require.True(t, json.Valid(template.Fill(given, nil)), body)
	}
	return got == nil
}

// generate returns a body that is mostly right: each value is one that its input may accept, or one of another kind.
func generate(random *rand.Rand, s *callable.Schema) string {
	odd := []string{
		`null`, `""`, `"x"`, `true`, `0`, `-1`, `1.0`, `1e2`, `1.5`, `[]`, `["3",0]`, `{}`, `-0.0`,
		`18446744073709551615`, `18446744073709551616`,
		`9223372036854775807`, `-9223372036854775809`, `1e400`, `1e-400`, `100`, `101`, `30.000000000000001`, `30`, `0.1`, `"euler"`, `"Euler"`,
	}
	var members []string
	for _, in := range s.Inputs {
		switch roll := random.IntN(100); {
		case roll < 15 && !in.Required(), roll < 3:
			continue
		case roll < 25:
			members = append(members, fmt.Sprintf("%q:%s", in.Name, odd[random.IntN(len(odd))]))
		default:
			members = append(members, fmt.Sprintf("%q:%s", in.Name, fitting(random, in)))
		}
	}
	if random.IntN(40) == 0 {
		members = append(members, `"other":1`)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func fitting(random *rand.Rand, in callable.Input) string {
	switch in.Kind {
	case callable.Integer:
		return fmt.Sprint(1 + random.IntN(100))
	case callable.Number:
		return fmt.Sprint(random.Float64() * 30)
	case callable.Boolean:
		return fmt.Sprint(random.IntN(2) == 0)
	case callable.Choice:
		return fmt.Sprintf("%q", in.Choices[random.IntN(len(in.Choices))])
	case callable.Any:
		return `{"points":[[0,1]]}`
	default:
		return `"ß, 水 and \"quotes\""`
	}
}
