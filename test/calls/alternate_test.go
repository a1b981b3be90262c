package calls_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
)

// through is ask with options.
func (r *routed) through(t *testing.T, model, key, body string, o call.Options) (*call.Result, error) {
	t.Helper()
	inv := invocation("a", key, body)
	inv.Model, inv.Target, inv.BaseURL, inv.Options = model, "/v2/models/"+model, "https://router.example", o
	return r.Run(t.Context(), inv)
}

func TestAnotherServerServesTranslatedOrVerbatim(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	res, err := r.through(t, "sim/echo", "k", `{"prompt":"hi","number":50,"extra":true}`, call.Options{ModelProvider: "runware"})
	require.NoError(t, err)
	var answer struct {
		ID, Model string
		Input     json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, res)), &answer))
	require.Equal(t, "mirror", answer.Model)
	require.JSONEq(t, `{"prompt":"hi","number":10}`, string(answer.Input))
	require.Equal(t, call.Served{Dropped: []string{"extra", "number"}}, res.Served)
	again, err := r.through(t, "sim/echo", "k", `{"prompt":"hi","number":50,"extra":true}`, call.Options{ModelProvider: "runware"})
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, res.Dropped, again.Dropped)

	strict, err := r.through(t, "sim/echo", "", `{"anything": 9007199254740993}`, call.Options{ModelProvider: "runware", Strict: true})
	require.NoError(t, err)
	require.JSONEq(t, `{"anything": 9007199254740993}`, r.said(t, strict))
	require.Empty(t, strict.Served)

	_, err = r.through(t, "sim/echo", "", `{"text":"hi"}`, call.Options{ModelProvider: "runware"})
	require.Equal(t, 422, statusOf(refused(t, err)), "the body is the model's own, and checked")
	_, err = r.through(t, "sim/echo", "", `[]`, call.Options{ModelProvider: "runware", Strict: true})
	require.Equal(t, 400, statusOf(refused(t, err)))
}

// A provider that begins its answer may have charged for it, although the connection breaks before the end.
func TestAnAnswerThatIsCutOffIsRequestedAgainOrUnknown(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	const body, unkeyed = `{"prompt":"[sim:truncate]"}`, `{"text":"[sim:truncate]"}`
	res, err := r.through(t, "sim/echo", "k", body, call.Options{})
	require.NoError(t, err, "its provider recognises the repeated request")
	require.NotEmpty(t, read(t, res))

	_, err = r.through(t, "sim/mirror", "e", unkeyed, call.Options{})
	require.Equal(t, 502, statusOf(refused(t, err)))
	_, err = r.through(t, "sim/mirror", "e", unkeyed, call.Options{})
	require.Equal(t, 409, statusOf(refused(t, err)), "its outcome is unknown, so that its key does not run again")
	for key, count := range r.sim.Charges() {
		require.Equal(t, 1, count, key)
	}
}

// said is the request that the mirror received.
func (r *routed) said(t *testing.T, res *call.Result) string {
	t.Helper()
	var answer struct{ Said json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(read(t, res)), &answer))
	return string(answer.Said)
}

func TestAPolledAlternateIsTranslatedAndHosted(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	res, err := r.through(t, "bfl/flux-2-pro", "k", `{"prompt":"a square","seed":3,"output_format":"webp"}`,
		call.Options{ModelProvider: "fal"})
	require.NoError(t, err)
	require.Equal(t, call.Served{Dropped: []string{"output_format"}}, res.Served)
	var document struct {
		Status string
		Result struct {
			Sample string
			Seed   int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, res)), &document))
	require.Equal(t, "Ready", document.Status)
	require.Equal(t, 42, document.Result.Seed)
	link, err := url.Parse(document.Result.Sample)
	require.NoError(t, err)
	require.Equal(t, "router.example", link.Host, "hosted as the model's own results are")

	strict, err := r.through(t, "bfl/flux-2-pro", "", `{"prompt":"a square","image_size":"square"}`,
		call.Options{ModelProvider: "fal", Strict: true})
	require.NoError(t, err)
	var verbatim struct{ Images []struct{ URL string } }
	require.NoError(t, json.Unmarshal([]byte(read(t, strict)), &verbatim))
	require.Len(t, verbatim.Images, 1)
	require.NotContains(t, verbatim.Images[0].URL, "router.example")
}

func TestServersThatDoNotServeAModel(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	for _, tc := range []struct {
		model, server string
		status        int
		errorType     string
	}{
		{"sim/echo", "fal", 404, call.ModelNotFound},
		{"sim/open", "wavespeed", 404, call.ModelNotFound},
		{"bfl/flux-2-pro", "higgsfield", 404, call.ModelNotFound},
		{"sim/echo", "nobody", 400, call.InvalidInput},
	} {
		_, err := r.through(t, tc.model, "", `{"prompt":"x"}`, call.Options{ModelProvider: tc.server})
		require.Equal(t, tc.status, statusOf(refused(t, err)), tc)
		require.Equal(t, tc.errorType, refused(t, err).Type, tc)
	}
	for _, name := range []string{"", "default", "comfy", "comfyui"} {
		res, err := r.through(t, "sim/echo", "", `{"prompt":"x"}`, call.Options{ModelProvider: name, Strict: true})
		require.NoError(t, err)
		require.Contains(t, read(t, res), `"model":"echo"`)
	}
	require.Len(t, r.sim.Charges(), 4, "refused ones reach no server")
}

func TestFallbackOnlyForUnprocessedCalls(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	for fault, tc := range map[string]struct {
		fallback bool
		status   int
	}{
		"busy": {true, 200}, "unpaid": {true, 200}, // refused before the provider did anything
		"policy": {false, 400}, "invalid": {false, 400}, // the request is at fault at every server
		// the generation may have run
		"error": {false, 502}, "down": {false, 503}, "drop": {false, 502}, "broken": {false, 502},
	} {
		body := `{"prompt":"` + fault + ` [sim:` + fault + `@sim]","number":11}`
		res, err := r.through(t, "sim/echo", fault, body, call.Options{Fallback: true})
		if !tc.fallback {
			require.Equal(t, tc.status, statusOf(refused(t, err)), fault)
			continue
		}
		require.NoError(t, err, fault)
		require.Equal(t, call.Served{Fallback: "runware", Dropped: []string{"number"}}, res.Served, fault)
		require.Contains(t, read(t, res), `"model":"mirror"`)
		again, err := r.through(t, "sim/echo", fault, body, call.Options{Fallback: true})
		require.NoError(t, err)
		require.Equal(t, "runware", again.Fallback)
		_, err = r.through(t, "sim/echo", "", body, call.Options{})
		require.Error(t, err, "not unasked")
	}
	both := `{"prompt":"[sim:busy]"}`
	_, err := r.through(t, "sim/echo", "both", both, call.Options{Fallback: true})
	require.Equal(t, 503, statusOf(refused(t, err)), "neither took it")
	res, err := r.through(t, "sim/echo", "", `{"prompt":"x"}`, call.Options{Fallback: true})
	require.NoError(t, err)
	require.Empty(t, res.Served, "its own server was there")
	for key, count := range r.sim.Charges() {
		require.Equal(t, 1, count, key)
	}
}

func TestAnUnreachableServerIsReplacedAndItsGenerationCollected(t *testing.T) {
	t.Parallel()
	nobody, err := ports.Address()
	require.NoError(t, err)
	r := newRoutedAt(t, map[string]string{"bfl": "http://" + nobody})
	res, err := r.through(t, "bfl/flux-2-pro", "k", `{"prompt":"a square"}`, call.Options{Fallback: true})
	require.NoError(t, err)
	require.Equal(t, "fal", res.Fallback)
	require.Contains(t, read(t, res), `"status":"Ready"`)
	_, err = r.through(t, "bfl/flux-2-pro", "", `{"prompt":"a square","input_image":"aGk="}`, call.Options{Fallback: true})
	require.Equal(t, 503, statusOf(refused(t, err)), "a picture is not left out unasked")
	var events []string
	rows, err := r.pool.Query(t.Context(), `select type from events where stream = $1 order by version`, res.Call.Stream())
	require.NoError(t, err)
	for rows.Next() {
		var event string
		require.NoError(t, rows.Scan(&event))
		events = append(events, event)
	}
	require.Equal(t, []string{
		call.TypeAccepted, call.TypeAdmitted, call.TypeDispatching, call.TypeRerouted, call.TypeProviderAccepted,
		call.TypeAnswered, call.TypeHosted, call.TypeSucceeded,
	}, events)
}
