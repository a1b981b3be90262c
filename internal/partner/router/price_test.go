package router_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/provider"
	"github.com/millrace-dev/millrace/internal/partner/router"
	"github.com/millrace-dev/millrace/internal/sim"
)

// served returns a router whose providers are all simulated.
func served(t *testing.T, dirs ...string) *router.Provider {
	t.Helper()
	server := sim.New(sim.Options{Delay: time.Millisecond})
	t.Cleanup(server.Close)
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	all, err := catalog.Load(catalog.Options{Dirs: dirs, Bases: sim.Bases(listener.URL), Simulator: listener.URL})
	require.NoError(t, err)
	http := outbound.New(outbound.Options{})
	t.Cleanup(http.Close)
	credential := func(string) (string, bool) { return "k", true }
	return &router.Provider{
		Catalog: all, Client: provider.New(http, credential, slog.New(slog.DiscardHandler)),
		Log: slog.New(slog.DiscardHandler),
	}
}

// converse runs a conversation to its end and keeps the state of the call between exchanges.
func converse(t *testing.T, p *router.Provider, model, body string, held int64) call.Exchange {
	t.Helper()
	c := call.Conversation{Call: call.NewID(), Model: model, Body: bytes.NewReader([]byte(body)), Size: int64(len(body)), Held: held}
	x, err := p.Dispatch(t.Context(), c, io.Discard)
	require.NoError(t, err)
	c.Handle, c.Quoted = x.Handle, x.Price
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for x.Phase == call.PhaseAccepted || x.Phase == call.PhasePending {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			require.NoError(t, context.Cause(t.Context()))
		}
		x, err = p.Poll(t.Context(), c, io.Discard)
		require.NoError(t, err)
	}
	return x
}

func TestACallCostsWhatItsProviderSays(t *testing.T) {
	t.Parallel()
	p := served(t)
	const held = 900_000
	for name, tc := range map[string]struct {
		model, body string
		phase       call.Phase
		price       int64
	}{
		"when it accepts the call": {"bfl/flux-2-pro", `{"prompt":"x"}`, call.PhaseAnswered, 30_000},
		"in its answer": {
			"google/gemini-3.1-flash-image", `{"contents":[{"parts":[{"text":"x"}]}]}`,
			call.PhaseAnswered, 67_894,
		},
		"in a header of its answer": {"elevenlabs/sound-generation", `{"text":"x"}`, call.PhaseAnswered, 1_200},
		"in units": {
			"kling/kling-v3-text2video",
			`{"model_name":"kling-v3","prompt":"x","mode":"pro","duration":"3"}`, call.PhaseAnswered, 336_000,
		},
		"by the number of results": {"fal/flux-schnell", `{"prompt":"x","num_images":4}`, call.PhaseAnswered, 3_000},
		"for a refusal that it charges": {
			"xai/grok-imagine-video", `{"model":"grok-imagine-video","prompt":"x [sim:late-policy]"}`,
			call.PhaseFailed, 250_000,
		},
		"for a charged refusal that names no amount": {
			"xai/grok-imagine-image", `{"model":"grok-imagine-image","prompt":"x [sim:policy]"}`,
			call.PhaseFailed, held,
		},
		"for a refusal that it does not charge": {"bfl/flux-2-pro", `{"prompt":"x [sim:late-policy]"}`, call.PhaseFailed, 0},
		"for a generation that fails": {
			"kling/kling-v3-text2video", `{"model_name":"kling-v3","prompt":"x [sim:fail]"}`,
			call.PhaseFailed, 0,
		},
		"for a blurred picture": {"stability/stable-image-core", `{"prompt":"x [sim:late-policy]"}`, call.PhaseFailed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := converse(t, p, tc.model, tc.body, held)
			require.Equal(t, tc.phase, x.Phase, "%+v", x.Failure)
			require.Equal(t, tc.price, x.Price)
		})
	}
}

// If the price list does not cover a call and its answer states no price, the call costs the reserved amount.
func TestCallOutsideThePriceListCostsItsReservation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(`provider: acme
base: simulator
auth: {kind: none}
defaults: {submit: {url: /sim/echo}, rules: [{refuse: input.tier != nil, loc: [tier], unpriced: true}]}
models:
  - {model: silent, price: {exact: "0.01", as_of: 2026-11-01}}
  - {model: stating, price: {exact: "0.01", settled: body.input.cost * 1.0, as_of: 2026-11-01}}
  - {model: counting, price: {exact: input.count * 0.01, as_of: 2026-11-01}}
`), 0o600))
	p := served(t, dir)
	for _, c := range []struct {
		model, body string
		price       int64
	}{
		{"acme/silent", `{"prompt":"x"}`, 10_000},
		{"acme/silent", `{"prompt":"x","tier":"flex"}`, 900_000},
		{"acme/stating", `{"prompt":"x","tier":"flex","cost":0.5}`, 500_000},
		{"acme/counting", `{"prompt":"x","count":2}`, 20_000},
		{"acme/counting", `{"prompt":"x"}`, 900_000},
	} {
		x := converse(t, p, c.model, c.body, 900_000)
		require.Equal(t, call.PhaseAnswered, x.Phase, "%+v", x.Failure)
		require.Equal(t, c.price, x.Price, "%s %s", c.model, c.body)
	}
}

func TestModerationImageCountsAsRefusal(t *testing.T) {
	t.Parallel()
	x := converse(t, served(t), "stability/stable-image-core", `{"prompt":"x [sim:late-policy]"}`, 30_000)
	require.Equal(t, call.PolicyViolation, x.Failure.Type)
	require.Equal(t, "output_image", x.Failure.RefusalSubject)
}
