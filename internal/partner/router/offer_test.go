package router_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/router"
)

// The price of a call must not depend on bytes that the provider ignores. A body that price expressions cannot read
// would be free.
func TestABodyFromWhichNoPriceCanBeComputedIsRefused(t *testing.T) {
	t.Parallel()
	all, err := catalog.Load(catalog.Options{Simulator: "http://127.0.0.1:9"})
	require.NoError(t, err)
	offers := router.Offers{Catalog: all, Lookup: func(string) (string, bool) { return "x", true }}
	page, _ := all.Snapshot().After("", 1000, func(*catalog.Model) bool { return true })
	require.Greater(t, len(page), 20)
	for _, m := range page {
		if m.Example == nil {
			continue
		}
		plain, err := offers.Offer(t.Context(), call.Invocation{Model: m.ID, Body: m.Example})
		require.NoError(t, err, m.ID)
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(m.Example, &fields), m.ID)
		for name, extra := range map[string]string{
			"deep":  strings.Repeat("[", 300) + strings.Repeat("]", 300),
			"large": "1e999",
		} {
			fields["zzz_unknown"] = json.RawMessage(extra)
			body, err := json.Marshal(fields)
			require.NoError(t, err)
			offer, err := offers.Offer(t.Context(), call.Invocation{Model: m.ID, Body: body})
			if err != nil {
				require.Equal(t, fault.Invalid, call.RefusalOf(err).Kind, "%s %s", m.ID, name)
				continue
			}
			require.Equal(t, plain.Reserve, offer.Reserve, "%s %s", m.ID, name)
		}
	}
}

// JSON readers differ on which of two members of the same name counts. The provider could run the member that was not
// checked and priced.
func TestABodyWithADuplicateMemberIsRefused(t *testing.T) {
	t.Parallel()
	all, err := catalog.Load(catalog.Options{Simulator: "http://127.0.0.1:9"})
	require.NoError(t, err)
	offers := router.Offers{Catalog: all, Lookup: func(string) (string, bool) { return "x", true }}
	const model = "elevenlabs/text-to-dialogue"
	text := func(members string) []byte { return []byte(`{"inputs":[{"voice_id":"v",` + members + `}]}`) }
	_, err = offers.Offer(t.Context(), call.Invocation{Model: model, Body: text(`"text":"x"`)})
	require.NoError(t, err)
	for name, body := range map[string][]byte{
		"at the top": []byte(`{"inputs":[{"voice_id":"v","text":"xxxx"}],"inputs":[{"voice_id":"v","text":"x"}]}`),
		"further in": text(`"text":"xxxx","text":"x"`),
		"escaped":    text(`"text":"xxxx","te\u0078t":"x"`),
	} {
		_, err := offers.Offer(t.Context(), call.Invocation{Model: model, Body: body})
		require.Error(t, err, name)
		refusal := call.RefusalOf(err)
		require.Equal(t, []any{fault.Invalid, fault.Code("")}, []any{refusal.Kind, refusal.Code}, name)
		require.Equal(t, call.InvalidInput, refusal.Type, name)
	}
}

// Expressions read only the beginning of long texts. A text whose length determines the price is counted in full.
func TestALongTextIsPricedByItsWholeLength(t *testing.T) {
	t.Parallel()
	all, err := catalog.Load(catalog.Options{Simulator: "http://127.0.0.1:9"})
	require.NoError(t, err)
	offers := router.Offers{Catalog: all, Lookup: func(string) (string, bool) { return "x", true }}
	hold := func(length int) int64 {
		body := `{"inputs":[{"voice_id":"v","text":"` + strings.Repeat("x", length) + `"}]}`
		offer, err := offers.Offer(t.Context(), call.Invocation{Model: "elevenlabs/text-to-dialogue", Body: []byte(body)})
		require.NoError(t, err)
		return offer.Reserve
	}
	require.EqualValues(t, 100*4_000, hold(4_000))
	require.EqualValues(t, 100*100_000, hold(100_000))
}

// A field that the price list does not cover is refused with the reason, unless the operator allows a ceiling to be
// reserved: for the model, for its provider, or for all.
func TestCeilingIsReservedForCallsOutsideThePriceList(t *testing.T) {
	t.Parallel()
	all, err := catalog.Load(catalog.Options{Simulator: "http://127.0.0.1:9"})
	require.NoError(t, err)
	const model = "kling/kling-v3-text2video"
	body := []byte(`{"model_name":"kling-v3","prompt":"x","voice_list":[{"voice_id":"v"}]}`)
	plain := []byte(`{"model_name":"kling-v3","prompt":"x"}`)
	for pattern, want := range map[string]int64{"": 0, "bfl/*": 0, model: 5_000_000, "kling/*": 5_000_000, "*": 5_000_000} {
		offers := router.Offers{
			Catalog: all, Lookup: func(string) (string, bool) { return "x", true },
			Ceilings: map[string]int64{pattern: 5_000_000},
		}
		priced, err := offers.Offer(t.Context(), call.Invocation{Model: model, Body: plain})
		require.NoError(t, err)
		require.Equal(t, []any{int64(420_000), false}, []any{priced.Reserve, priced.Unpriced}, "five seconds of the standard mode")
		offer, err := offers.Offer(t.Context(), call.Invocation{Model: model, Body: body})
		if want > 0 {
			require.NoError(t, err, pattern)
			require.Equal(t, []any{want, true}, []any{offer.Reserve, offer.Unpriced}, pattern)
			continue
		}
		r := call.RefusalOf(err)
		require.Equal(t, fault.CodeContents, r.Code)
		var fields []struct {
			Loc  []any
			Type string
		}
		require.NoError(t, json.Unmarshal(r.Validation, &fields))
		require.Equal(t, []any{"body", "voice_list"}, fields[0].Loc)
		require.Equal(t, "price_not_covered", fields[0].Type, "the provider takes it: it is no extra field")
	}
}

// A body without a computable price is refused, even if it is sent unchanged to another server.
func TestABodyWithoutAPriceIsRefused(t *testing.T) {
	t.Parallel()
	all, err := catalog.Load(catalog.Options{Simulator: "http://127.0.0.1:9"})
	require.NoError(t, err)
	offers := router.Offers{Catalog: all, Lookup: func(string) (string, bool) { return "x", true }}
	tried := 0
	page, _ := all.Snapshot().After("", 1000, func(*catalog.Model) bool { return true })
	for _, m := range page {
		for _, a := range m.Alternates {
			for _, field := range []string{"num_images", "n", "image_size", "duration"} {
				body := []byte(`{"prompt":"x","` + field + `":{"width":"wide","height":[]}}`)
				if a.Model.Price(body).Source != catalog.PriceUnknown {
					continue
				}
				tried++
				_, err := offers.Offer(t.Context(), call.Invocation{
					Model: m.ID, Body: body,
					Options: call.Options{ModelProvider: a.Server, Strict: true},
				})
				require.Equal(t, fault.CodeContents, call.RefusalOf(err).Code, "%s at %s: %s", m.ID, a.Server, field)
			}
		}
	}
	require.NotZero(t, tried)
}

// At an address that several models share, the body selects the model. A caller of one model cannot select another,
// nor another caller's task, not even in strict mode, in which the rest of the body is not checked.
func TestABodyCannotNameAnotherTask(t *testing.T) {
	t.Parallel()
	all, err := catalog.Load(catalog.Options{Simulator: "http://127.0.0.1:9"})
	require.NoError(t, err)
	offers := router.Offers{Catalog: all, Lookup: func(string) (string, bool) { return "x", true }}
	strict := call.Options{ModelProvider: "runware", Strict: true}
	const size = `"width":1024,"height":1024`
	const accepted fault.Code = "accepted"
	for body, want := range map[string]fault.Code{
		`{"positivePrompt":"xx",` + size + `}`: accepted,
		`{"positivePrompt":"xx","taskType":"image\u0049nference","model":"runware:100@1",` + size + `}`: accepted,
		`{"positivePrompt":"xx","model":"runware:101@1",` + size + `}`:                                  fault.CodeContents,
		`{"model":"runware:101@1","model":"runware:100@1",` + size + `}`:                                "",
		`{"taskType":"accountManagement",` + size + `}`:                                                 fault.CodeContents,
		`{"taskType":"getResponse","taskUUID":"6f8d4d4e-0d2b-4b7c-9d55-6a8cf2b7f001",` + size + `}`:     fault.CodeContents,
		`{"positivePrompt":"xx","includeCost":false,` + size + `}`:                                      fault.CodeContents,
	} {
		for model, options := range map[string]call.Options{"fal/flux-schnell": strict, "runware/flux-schnell": {}} {
			_, err := offers.Offer(t.Context(), call.Invocation{Model: model, Body: []byte(body), Options: options})
			if want == accepted {
				require.NoError(t, err, "%s %s", model, body)
				continue
			}
			require.Error(t, err, "%s %s", model, body)
			require.Equal(t, want, call.RefusalOf(err).Code, "%s %s", model, body)
		}
	}
}
