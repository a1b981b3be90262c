package calls_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/provider"
	"github.com/millrace-dev/millrace/internal/partner/router"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/sim"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
	"github.com/millrace-dev/millrace/worker"
)

// credential is the credential for every provider; no output may contain it.
const credential = "s3cr3t-credential-of-the-operator"

// logs is a log that several goroutines write.
type logs struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// routed is a deployment with the real catalog, whose providers are simulated.
type routed struct {
	*deployment
	sim    *sim.Server
	signer *signedurl.Signer
	log    *logs
}

func newRouted(t *testing.T) *routed {
	t.Helper()
	return newRoutedAt(t, nil)
}

// newRoutedAt returns a routed deployment with some providers at addresses of their own.
func newRoutedAt(t *testing.T, elsewhere map[string]string) *routed {
	t.Helper()
	r := &routed{deployment: newDeployment(t, openTiers), sim: sim.New(sim.Options{Delay: 20 * time.Millisecond}), log: &logs{}}
	t.Cleanup(r.sim.Close)
	server := httptest.NewServer(r.sim)
	t.Cleanup(server.Close)
	bases := sim.Bases(server.URL)
	maps.Copy(bases, elsewhere)
	models, err := catalog.Load(catalog.Options{Bases: bases, Simulator: server.URL})
	require.NoError(t, err)
	lookup := func(name string) (string, bool) { return credential, name != "MINIMAX_API_KEY" }
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.Models = router.Offers{Catalog: models, Lookup: lookup}
	r.signer, err = signedurl.New([]signedurl.Key{{ID: "k", Secret: bytes.Repeat([]byte("k"), 32)}}, signedurl.Options{})
	require.NoError(t, err)
	internet := outbound.New(outbound.Options{})
	t.Cleanup(internet.Close)
	deps := modelcall.Deps{
		Events: r.events, Types: r.types, Calls: r.calls, Blobs: r.blobs, Tiers: openTiers, Worker: uuid.NewString(), Log: log,
		Provider: &router.Provider{Catalog: models, Client: provider.New(internet, lookup, log), Log: log},
		Hosts: &router.Hosting{
			Catalog: models, Fetch: internet, Lookup: lookup, Blobs: r.blobs, Assets: assetstore.New(r.pool, r.events), Signer: r.signer,
			Log: log,
		},
	}
	r.run(t, deps)
	return r
}

func (r *routed) run(t *testing.T, deps modelcall.Deps) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() {
		stopped <- worker.NewModels(r.client, modelcall.New(deps), r.calls, deps.Log, worker.Options{TaskQueue: "test"}).Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-stopped)
	})
}

func (r *routed) ask(t *testing.T, model, key, body string) (*call.Result, error) {
	t.Helper()
	inv := invocation("a", key, body)
	inv.Model, inv.Target, inv.BaseURL = model, "/v2/models/"+model, "https://router.example"
	return r.Run(t.Context(), inv)
}

func TestAssetsOfAnAnswerAreHosted(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	res, err := r.ask(t, "bfl/flux-2-pro", "k", `{"prompt":"a red square"}`)
	require.NoError(t, err)
	answer := read(t, res)
	var document struct{ Result struct{ Sample string } }
	require.NoError(t, json.Unmarshal([]byte(answer), &document))
	link, err := url.Parse(document.Result.Sample)
	require.NoError(t, err)
	require.Equal(t, "router.example", link.Host)
	parts := strings.Split(strings.TrimPrefix(link.Path, signedurl.Prefix), "/")
	grant, err := r.signer.Verify(parts[0], parts[1], link.Query())
	require.NoError(t, err)
	left := time.Until(grant.Expires)
	require.LessOrEqual(t, left, 24*time.Hour)
	require.Greater(t, left, 23*time.Hour)
	_, err = blob.Verify(t.Context(), r.blobs, grant.Hash)
	require.NoError(t, err)
	entry, err := assetstore.New(r.pool, r.events).OfAnyone(t.Context(), asset.ID(grant.Asset))
	require.NoError(t, err)
	require.Equal(t, grant.Hash, entry.Hash)
	again, err := r.ask(t, "bfl/flux-2-pro", "k", `{"prompt":"a red square"}`)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, answer, read(t, again)) // the links are the original ones
}

func TestRefusalsOfTheCatalog(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	for _, tc := range []struct {
		model, body string
		status      int
		errorType   string
	}{
		{"sim/ecko", `{}`, 404, call.ModelNotFound},
		{"minimax/nothing-like-it", `{}`, 404, call.ModelNotFound},
		{"sim/echo", `[]`, 400, call.InvalidInput},
		{"sim/echo", `{"prompt":`, 400, call.InvalidInput},
		{"sim/echo", `{}`, 422, call.InvalidInput},
	} {
		_, err := r.ask(t, tc.model, "", tc.body)
		refusal := refused(t, err)
		require.Equal(t, tc.status, statusOf(refusal), tc.model+tc.body)
		require.Equal(t, tc.errorType, refusal.Type)
	}
	_, err := r.ask(t, "sim/ecko", "", `{}`)
	require.Contains(t, refused(t, err).Detail, "sim/echo")
	require.Empty(t, r.sim.Charges())
}

func TestMisbehavingProviders(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	for fault, want := range map[string]struct {
		status    int
		errorType string
		key       int // the status of the next answer under the key
	}{
		"policy": {400, call.PolicyViolation, 400}, "error": {502, call.ProviderError, 502}, "drop": {502, call.ProviderError, 409},
		"broken": {502, call.ProviderError, 502}, "html": {502, call.ProviderError, 502},
	} {
		body := `{"prompt":"x [sim:` + fault + `]"}`
		_, err := r.ask(t, "sim/echo", fault, body)
		refusal := refused(t, err)
		require.Equal(t, want.status, statusOf(refusal), fault)
		require.Equal(t, want.errorType, refusal.Type, fault)
		_, err = r.ask(t, "sim/echo", fault, body)
		require.Equal(t, want.key, statusOf(refused(t, err)), fault)
	}
}

func TestSecretsOfProvidersAppearNowhere(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	var got strings.Builder
	for i, body := range []string{
		`{"prompt":"x"}`, `{"prompt":"x [sim:policy]"}`, `{"prompt":"x [sim:invalid]"}`,
		`{"prompt":"x [sim:error]"}`, `{"prompt":"x [sim:drop]"}`,
	} {
		res, err := r.ask(t, "bfl/flux-2-pro", string(rune('a'+i)), body)
		if err != nil {
			refusal := refused(t, err)
			got.WriteString(refusal.Detail + refusal.UpstreamDetail + string(refusal.Validation) + err.Error())
			continue
		}
		got.WriteString(read(t, res))
	}
	rows, err := r.pool.Query(t.Context(), `select data::text || meta::text from events`)
	require.NoError(t, err)
	defer rows.Close()
	ids := map[string]bool{}
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		got.WriteString(text)
	}
	streams, err := r.pool.Query(t.Context(), `select id from streams where id like 'call-%'`)
	require.NoError(t, err)
	for streams.Next() {
		var id string
		require.NoError(t, streams.Scan(&id))
		ids[id] = true
	}
	require.Len(t, ids, 5)
	for id := range ids {
		got.WriteString(r.history(t, id+"-1"))
	}
	require.NotContains(t, got.String(), credential)
	require.NotContains(t, r.log.String(), credential)
}

func (s *deployment) history(t *testing.T, workflow string) string {
	t.Helper()
	var history historypb.History
	it := s.client.GetWorkflowHistory(context.WithoutCancel(t.Context()), workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		event, err := it.Next()
		require.NoError(t, err)
		history.Events = append(history.Events, event)
	}
	raw, err := protojson.Marshal(&history)
	require.NoError(t, err)
	return string(raw)
}
