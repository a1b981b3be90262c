package provider_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/jsondoc"
	"github.com/millrace-dev/millrace/internal/partner/provider"
)

// perModel runs a test for every authored model of the catalog.
func perModel(t *testing.T, test func(*testing.T, *world, *catalog.Model)) {
	t.Helper()
	w := newWorld(t)
	for _, m := range w.models.Models() {
		if m.Example == nil {
			continue
		}
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			test(t, w, m)
		})
	}
}

func TestTheCatalogCoversEveryShapeAndHostingGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shapes, providers, authored := map[catalog.Protocol]int{}, map[string]bool{}, 0
	for _, m := range w.models.Models() {
		shapes[m.Protocol]++
		providers[m.Provider] = true
		if m.Provider != "sim" {
			require.True(t, m.InputAuthored() && m.OutputAuthored() && m.Example != nil && m.Docs != "", m.ID)
			authored++
		}
	}
	require.GreaterOrEqual(t, authored, 12)
	require.Len(t, shapes, 3)
	for _, name := range []string{
		"bfl", "openai", "google", "vertexai", "stability", "byteplus", "minimax", "kling", "elevenlabs",
		"replicate", "fal", "xai", "wavespeed", "higgsfield", "runware",
	} {
		require.True(t, providers[name], name)
	}
	for id, hours := range map[string]float64{
		"bfl/flux-2-pro": 24, "byteplus/seedance-1-0-pro-250528": 24, "minimax/hailuo-02": 12,
		"xai/grok-imagine-image": 24, "openai/gpt-image-2": 0,
	} {
		require.InDelta(t, hours, w.model(t, id).Hosting.Lifetime.Hours(), 0, id)
	}
}

func TestEveryModelAnswersItsExample(t *testing.T) {
	t.Parallel()
	perModel(t, func(t *testing.T, w *world, m *catalog.Model) {
		require.Empty(t, m.Validate(m.Example))
		out, answer, settled := w.settle(t, m, string(m.Example))
		require.Equal(t, provider.Answered, out.Phase, "%+v", out.Failure)
		require.EqualValues(t, len(answer), out.Size)
		require.NotEmpty(t, out.ContentType)
		if m.Protocol == catalog.Bytes {
			require.NotContains(t, out.ContentType, "json")
			return
		}
		requireMatches(t, m.OutputSchema(), answer)
		refs, err := provider.Assets(m, answer)
		require.NoError(t, err)
		require.Equal(t, m.Hosted(), len(refs) > 0, "a hosted model has something to host")
		estimate := m.Price(m.Example)
		require.NotEqual(t, catalog.PriceUnknown, estimate.Source)
		require.GreaterOrEqual(t, settled, int64(0))
		require.LessOrEqual(t, settled, estimate.Max, "the reserved amount covers the final price")
	})
}

// requireMatches checks a result against the entry's output schema. The router never makes this check, but an entry
// whose simulated result does not match its schema is wrong.
func requireMatches(t *testing.T, schema, answer []byte) {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("out.json", document))
	compiled, err := c.Compile("out.json")
	require.NoError(t, err)
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(instance))
}

func TestEveryModelClassifiesItsProvidersErrors(t *testing.T) {
	t.Parallel()
	perModel(t, func(t *testing.T, w *world, m *catalog.Model) {
		wants := map[string]string{
			"[sim:policy]": "content_policy_violation", "[sim:invalid]": "invalid_input",
			"[sim:error]": "provider_error", "[sim:busy]": "service_unavailable", "[sim:unpaid]": "provider_error",
		}
		if m.Provider == "xai" { // this provider has no such answer
			delete(wants, "[sim:unpaid]")
		}
		for marker, want := range wants {
			out, _ := w.run(t, m, marked(t, m, marker))
			require.Equal(t, provider.Failed, out.Phase, marker)
			require.Equal(t, want, out.Failure.Type, "%s: %+v", marker, out.Failure)
			require.NotEmpty(t, out.Failure.Detail)
			require.Equal(t, marker == "[sim:busy]", out.Failure.Retryable, marker)
			requireClean(t, w, out)
			if want == "content_policy_violation" {
				require.Equal(t, m.Billing.ChargesOnPolicyRejection, out.Failure.Charged)
			}
			if want == "invalid_input" {
				require.True(t, out.Failure.UpstreamDetail != "" || out.Failure.Validation != nil, "the caller sees the reason")
			}
		}
	})
}

// requireClean fails the test if an output contains a secret or the name of an account.
func requireClean(t *testing.T, w *world, out provider.Outcome) {
	t.Helper()
	encoded, err := json.Marshal(out.Failure)
	require.NoError(t, err)
	for _, private := range []string{secret, "org-simulated", "team-simulated", "acct-simulated", "proj-simulated"} {
		require.NotContains(t, string(encoded), private)
	}
	require.NotContains(t, w.logs.String(), secret)
}

func TestEveryPolledModelReportsWhyAGenerationFailed(t *testing.T) {
	t.Parallel()
	perModel(t, func(t *testing.T, w *world, m *catalog.Model) {
		if m.Protocol != catalog.SubmitPoll {
			return
		}
		out, _ := w.run(t, m, marked(t, m, "[sim:late-policy]"))
		require.Equal(t, provider.Failed, out.Phase)
		require.Equal(t, "content_policy_violation", out.Failure.Type, "%+v", out.Failure)
		out, _ = w.run(t, m, marked(t, m, "[sim:fail]"))
		require.Equal(t, provider.Failed, out.Phase)
		require.Equal(t, "provider_error", out.Failure.Type, "%+v", out.Failure)
		require.False(t, out.Failure.Retryable)
	})
}

func TestTransientStatusErrorsDoNotEndAGeneration(t *testing.T) {
	t.Parallel()
	perModel(t, func(t *testing.T, w *world, m *catalog.Model) {
		if m.Protocol != catalog.SubmitPoll {
			return
		}
		for _, marker := range []string{"[sim:late-drop]", "[sim:late-broken]", "[sim:late-html]", "[sim:late-down]"} {
			out, _ := w.run(t, m, marked(t, m, marker))
			require.Equal(t, provider.Answered, out.Phase, "%s: %+v", marker, out.Failure)
		}
	})
}

func TestAHostedResultIsRewrittenAndKeepsEveryOtherByte(t *testing.T) {
	t.Parallel()
	perModel(t, func(t *testing.T, w *world, m *catalog.Model) {
		if !m.Hosted() {
			return
		}
		_, answer := w.run(t, m, string(m.Example))
		refs, err := provider.Assets(m, answer)
		require.NoError(t, err)
		urls, want := map[string]string{}, string(answer)
		for i, ref := range refs {
			urls[ref.Pointer] = "https://millrace.example/files/" + strings.Repeat("x", i+1)
			found, err := jsondoc.Strings(answer, []string{ref.Pointer})
			require.NoError(t, err)
			require.Len(t, found, 1)
			want = strings.Replace(want, `"`+ref.URL+`"`, `"`+urls[ref.Pointer]+`"`, 1)
		}
		got, err := provider.Rewrite(answer, urls)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	})
}

func TestHostingGroupsSelectTheContractsFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id, want := range map[string][]string{
		"bfl/flux-3-video":                 {"/result/draft_cache", "/result/sample"},
		"byteplus/seedance-1-0-pro-250528": {"/content/last_frame_url", "/content/video_url"},
		"minimax/hailuo-02":                {"/file/download_url"},
		"byteplus/seedream-4-5-251128":     nil, // of this provider, videos only
		"byteplus/seedream-3-0-t2i-250415": nil,
		"xai/grok-imagine-image":           {"/data/0/url", "/data/1/url"},
		"xai/grok-imagine-video":           {"/video/url"},
	} {
		m := w.model(t, id)
		_, answer := w.run(t, m, string(m.Example))
		refs, err := provider.Assets(m, answer)
		require.NoError(t, err)
		var got []string
		for _, ref := range refs {
			got = append(got, ref.Pointer)
		}
		require.Equal(t, want, got, id)
	}
}

func TestVeoPassesItsClipsThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.model(t, "vertexai/veo-3.1-generate-001")
	out, answer := w.run(t, m, `{"instances":[{"prompt":"waves"}],"parameters":{"storageUri":"gs://bucket/clips"}}`)
	require.Equal(t, provider.Answered, out.Phase)
	require.Contains(t, string(answer), `"gcsUri":"https://storage.googleapis.com/`)
	refs, err := provider.Assets(m, answer)
	require.NoError(t, err)
	require.Empty(t, refs)
}

func TestCancelReachesTheProvider(t *testing.T) {
	t.Parallel()
	w := worldOf(t, time.Hour)
	for _, id := range []string{
		"sim/image", "byteplus/seedance-1-0-pro-250528", "replicate/flux-schnell", "fal/flux-schnell",
		"higgsfield/soul-v2-standard",
	} {
		m := w.model(t, id)
		var sink bytes.Buffer
		out, err := w.client.Dispatch(t.Context(), request(m, marked(t, m, "[sim:delay=1m]")), &sink)
		require.NoError(t, err)
		require.NoError(t, w.client.Cancel(t.Context(), m, out.Handle), id)
	}
	require.ErrorIs(t, w.client.Cancel(t.Context(), w.model(t, "bfl/flux-2-pro"), "x"), provider.ErrCannotCancel)
}
