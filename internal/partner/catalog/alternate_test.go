package catalog_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

func alternate(t *testing.T, model, server string) (*catalog.Model, *catalog.Alternate) {
	t.Helper()
	m, ok := builtin(t).Find(model)
	require.True(t, ok)
	a, ok := m.Alternate(server)
	require.True(t, ok)
	return m, a
}

func TestTranslatedBodyReportsDroppedFields(t *testing.T) {
	t.Parallel()
	_, fal := alternate(t, "bfl/flux-2-pro", "fal")
	picture := strings.Repeat("A", 10_000)
	for name, tc := range map[string]struct {
		body, want string
		dropped    []string
	}{
		"every field is translated": {
			`{"prompt":"x","width":1024,"height":768,"seed":9007199254740993,"safety_tolerance":3,"output_format":"png"}`,
			`{"prompt":"x","image_size":{"width":1024,"height":768},"seed":9007199254740993,"safety_tolerance":"3","output_format":"png"}`, nil,
		},
		"null counts as no value": {`{"prompt":"x","width":null,"webhook_url":null,"seed":null}`, `{"prompt":"x","image_size":"square_hd"}`, nil},
		"fields that are lost": {
			`{"prompt":"x","webhook_url":"https://a.example","input_image":"` + picture + `","other":1}`,
			`{"prompt":"x","image_size":"square_hd"}`,
			[]string{"input_image", "other", "webhook_url"},
		},
		"values that are lost": {
			`{"prompt":"x","safety_tolerance":0,"output_format":"webp"}`,
			`{"prompt":"x","image_size":"square_hd","safety_tolerance":"1","output_format":"png"}`,
			[]string{"output_format", "safety_tolerance"},
		},
		"long text stays whole": {`{"prompt":"` + picture + `"}`, `{"prompt":"` + picture + `","image_size":"square_hd"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, dropped, err := fal.Request([]byte(tc.body))
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(got))
			require.Equal(t, tc.dropped, dropped)
			require.Empty(t, fal.Model.Validate(got), "the other server takes it")
		})
	}
	require.True(t, fal.CanReplace([]byte(`{"prompt":"x"}`)))
	require.False(t, fal.CanReplace([]byte(`{"prompt":"x","input_image_2":"y"}`)),
		"an alternate that would drop a picture is not chosen unasked")
}

func TestAnAnswerIsTranslatedIntoTheModelsOwnShape(t *testing.T) {
	t.Parallel()
	m, fal := alternate(t, "bfl/flux-2-pro", "fal")
	got, err := fal.Response(m, []byte(`{"prompt":"x"}`), []byte(`{"images":[{"url":"https://f.example/1.png"}],"seed":7}`), "r-1")
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"r-1","status":"Ready","progress":null,"details":null,"preview":null,
		"result":{"sample":"https://f.example/1.png","seed":7,"prompt":"x"}}`, string(got))
	for _, answer := range []string{`{"images":[],"seed":7}`, `{"images":[{"url":7}]}`, `{}`, `[]`, `{"images":`} {
		_, err := fal.Response(m, []byte(`{"prompt":"x"}`), []byte(answer), "r-1")
		require.Error(t, err, answer)
	}
}

func TestAMismatchedAlternateIsReported(t *testing.T) {
	t.Parallel()
	other := `
  - model: other
    submit: {url: /other}
    price: {exact: "0", as_of: 2026-01-01}
    input: {type: object, required: [text], properties: {text: {type: string}}}
`
	one := func(alternates string) string {
		return header + `  - model: one
    submit: {url: /one}
    price: {exact: "0", as_of: 2026-01-01}
    example: {prompt: x}
    alternates:
` + alternates + other
	}
	for name, tc := range map[string]struct{ content, want string }{
		"unknown server": {
			one("      - {server: nowhere, model: acme/other}\n"),
			`a.yaml:10: models[0].alternates[0].server: "nowhere" is not allowed; it takes one of fal`,
		},
		"unknown model": {one("      - {server: fal, model: acme/none}\n"), "a.yaml:10: alternates of acme/one: model acme/none does not exist"},
		"itself": {
			one("      - {server: fal, model: acme/one}\n"),
			"a.yaml:10: alternates of acme/one: a model cannot be an alternate of itself",
		},
		"twice": {one("      - {server: fal, model: acme/other, request: {text: input.prompt}}\n      - {server: fal, model: " +
			"acme/other}\n"), "a.yaml:11: alternates of acme/one: the server fal is listed twice"},
		"wrong request": {
			one("      - {server: fal, model: acme/other, request: {txt: input.prompt}}\n"),
			"the translated example does not match the input schema of acme/other at [body text]: Field required",
		},
		"expression": {
			one("      - {server: fal, model: acme/other, request: {text: input.(}}\n"),
			"models[0].alternates[0].request.text: the expression \"input.(\" does not compile",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, map[string]string{"a.yaml": tc.content})
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := load(t, map[string]string{"a.yaml": one("      - {server: fal, model: acme/other, request: {text: input.prompt}}\n")})
	require.NoError(t, err)
}

func TestAnEstimateIsThatOfTheNamedServer(t *testing.T) {
	t.Parallel()
	m, _ := alternate(t, "bfl/flux-2-pro", "fal")
	body := []byte(`{"prompt":"x","width":1024,"height":2048}`)
	require.Equal(t, catalog.Estimate{Source: catalog.PriceExact, Min: 45_000, Max: 45_000, AsOf: "2026-11-01"}, m.PriceAt("fal", false, body))
	require.Equal(t, int64(30_000), m.PriceAt("fal", true, []byte(`{"prompt":"x","image_size":"square"}`)).Max)
	for _, own := range []string{"", "default", "comfy", "comfyui"} {
		require.Equal(t, m.Price(body), m.PriceAt(own, false, body))
	}
}

func TestWaveSpeedServesTheWeightsOfFal(t *testing.T) {
	t.Parallel()
	m, wave := alternate(t, "fal/flux-schnell", "wavespeed")
	for body, want := range map[string]struct {
		body    string
		dropped []string
	}{
		`{"prompt":"x"}`: {`{"prompt":"x","size":"1024*768"}`, nil},
		`{"prompt":"x","image_size":"portrait_16_9","num_images":3,"seed":7,"output_format":"png"}`: {
			`{"prompt":"x","size":"576*1024","num_images":3,"seed":7,"output_format":"png"}`, nil,
		},
		`{"prompt":"x","image_size":{"width":640,"height":4000},"num_inference_steps":4,"guidance_scale":2,"sync_mode":true}`: {
			`{"prompt":"x","size":"640*1536"}`, []string{"guidance_scale", "image_size", "num_inference_steps", "sync_mode"},
		},
	} {
		got, dropped, err := wave.Request([]byte(body))
		require.NoError(t, err)
		require.JSONEq(t, want.body, string(got))
		require.Equal(t, want.dropped, dropped)
		require.Empty(t, wave.Model.Validate(got), "the other server takes it")
	}
	got, err := wave.Response(m, []byte(`{"prompt":"x"}`),
		[]byte(`{"code":200,"data":{"outputs":["https://w.example/1.png"],"timings":{"inference":812},"has_nsfw_contents":[false]}}`), "p-1")
	require.NoError(t, err)
	require.JSONEq(t, `{"images":[{"url":"https://w.example/1.png"}],"timings":{"inference":0.812},"has_nsfw_concepts":[false],"prompt":"x"}`,
		string(got))
	_, err = wave.Response(m, []byte(`{"prompt":"x"}`), []byte(`{"code":200,"data":{"outputs":[]}}`), "p-1")
	require.Error(t, err)
}
