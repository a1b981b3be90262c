package inspect_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

const (
	callA call.ID = "33333333-0000-4000-8000-000000000001"
	callB call.ID = "44444444-0000-4000-8000-000000000002"
)

// readStream records events of a stream and reads them as a history.
func readStream[S any](t testing.TB, kind inspect.Kind[S], stream string, events ...event) inspect.StreamHistory[S] {
	t.Helper()
	r := eventlog.NewRegistry()
	require.NoError(t, errors.Join(call.Register(r), asset.Register(r)))
	recorded := make([]eventlog.Recorded, len(events))
	for i, f := range events {
		data, err := r.Encode(eventlog.Event{Type: f.name, Data: f.data})
		require.NoError(t, err)
		recorded[i] = eventlog.Recorded{
			Position: int64(200 + i), Stream: stream, Version: int64(i + 1), ID: uuid.New(), Type: f.name, Account: "acme",
			Data: data, Meta: eventlog.Meta{Actor: f.actor}, RecordedAt: start.Add(f.at),
		}
	}
	history, err := inspect.ReadStream(kind, r, recorded)
	require.NoError(t, err)
	return history
}

// rerouted is a call that waited, lost its workflow, continued at another server, and whose answer has assets.
func rerouted(t testing.TB) inspect.StreamHistory[call.Call] {
	const s = time.Second
	accepted := call.AcceptedV1{Model: "bfl/flux", Provider: "bfl", Mode: call.Queued, API: call.V2, Held: 40_000}
	return readStream(t, inspect.Calls, callA.Stream(),
		event{0, "acme", call.TypeAccepted, accepted},
		event{4 * s, "acme", call.TypeAdmitted, call.AdmittedV1{Run: 1}},
		event{5 * s, "sweeper", call.TypeRequeued, call.RequeuedV1{Run: 2}},
		event{6 * s, "", call.TypeDispatching, call.DispatchingV1{Run: 2, Worker: "a/1"}},
		event{7 * s, "", call.TypeRerouted, call.ReroutedV1{Server: "fal\x1b[31m", Cause: "unreachable"}},
		event{8 * s, "", call.TypeProviderAccepted, call.ProviderAcceptedV1{Handle: "h-1"}},
		event{12 * s, "acme", call.TypeClientDisconnected, call.ClientDisconnectedV1{}},
		event{18 * s, "", call.TypeAnswered, call.AnsweredV1{Answer: call.Body{Size: 90}, Price: 30_000}},
		event{20 * s, "", call.TypeSucceeded, call.SucceededV1{Model: "bfl/flux", Answer: call.Body{Size: 90}, Charged: 30_000}})
}

// uncertain is a call of unknown outcome.
func uncertain(t testing.TB) inspect.StreamHistory[call.Call] {
	return readStream(t, inspect.Calls, callB.Stream(),
		event{0, "acme", call.TypeAccepted, call.AcceptedV1{Model: "bfl/flux", Provider: "bfl", Mode: call.Sync, API: call.V2, Held: 40_000}},
		event{0, "acme", call.TypeAdmitted, call.AdmittedV1{Run: 1}},
		event{time.Second, "", call.TypeDispatching, call.DispatchingV1{Run: 1, Worker: "a/1"}},
		event{
			5 * time.Second, "sweeper", call.TypeOutcomeUnknown,
			call.OutcomeUnknownV1{Failure: call.Failure{Type: "internal_error", Status: 500, Detail: "interrupted"}},
		})
}

func uploaded(t testing.TB) inspect.StreamHistory[asset.Asset] {
	return readStream(t, inspect.Assets, asset.ID("55555555-0000-4000-8000-000000000001").Stream(),
		event{0, "acme", asset.TypeCreated, asset.CreatedV1{Origin: asset.Uploaded, Size: 12, ContentType: "image/png"}},
		event{2 * time.Second, "sweeper", asset.TypeRequeued, asset.RequeuedV1{}},
		event{3 * time.Second, "ingest", asset.TypeVerified, asset.VerifiedV1{OK: true, Size: 12}},
		event{4 * time.Second, "ingest", asset.TypeScanned, asset.ScannedV1{Scan: asset.Scan{Verdict: asset.Clean}}})
}

// small is a small file, which was verified and scanned in one step.
func small(t testing.TB) inspect.StreamHistory[asset.Asset] {
	return readStream(t, inspect.Assets, asset.ID("55555555-0000-4000-8000-000000000002").Stream(),
		event{0, "acme", asset.TypeCreated, asset.CreatedV1{Origin: asset.Uploaded, Size: 12, ContentType: "image/png"}},
		event{
			3 * time.Second, "ingest", asset.TypeVerified,
			asset.VerifiedV1{OK: true, Size: 12, Scan: &asset.Scan{Verdict: asset.Rejects, Reason: "not a picture"}},
		})
}

func TestHistoryRendering(t *testing.T) {
	t.Parallel()
	now := start.Add(time.Minute)
	good, odd, file, small := rerouted(t), uncertain(t), uploaded(t), small(t)
	comparison, err := inspect.Compare(good, odd, now)
	require.NoError(t, err)
	for name, draw := range map[string]func(*terminal.Printer){
		"call_timeline":  func(p *terminal.Printer) { report.Phases(p, good.Phases(now)) },
		"call_uncertain": func(p *terminal.Printer) { report.Phases(p, odd.Phases(now)) },
		"call_events":    func(p *terminal.Printer) { report.StreamEvents(p, good) },
		"call_diff":      func(p *terminal.Printer) { report.StreamComparison(p, comparison) },
		"asset_timeline": func(p *terminal.Printer) { report.Phases(p, file.Phases(now)) },
		"asset_events":   func(p *terminal.Printer) { report.StreamEvents(p, file) },
		"asset_small":    func(p *terminal.Printer) { report.StreamEvents(p, small); report.Phases(p, small.Phases(now)) },
		"asset_workflow": func(p *terminal.Printer) { report.SideBySide(p, file.Events, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name, draw)
		})
	}
}

func TestPhasesAddUp(t *testing.T) {
	t.Parallel()
	all := rerouted(t).Phases(start.Add(time.Hour))
	var sum inspect.Millis
	for _, ph := range all.Phases {
		require.False(t, ph.Open, ph.Name)
		sum += ph.Took
	}
	require.Equal(t, all.Total, sum)
	require.Equal(t, inspect.Millis(20*time.Second), all.Total)
	require.Equal(t, inspect.Millis(6*time.Second), all.Waited, "for a place and for a worker, twice")
	require.Equal(t, 2, all.Phases[4].Attempt, "the other server")

	open := uncertain(t).Phases(start.Add(time.Minute))
	last := open.Phases[len(open.Phases)-1]
	require.True(t, last.Open, "it waits for an operator")
	require.Equal(t, inspect.Millis(55*time.Second), last.Took)
}

func TestHistoryFoldsAtEveryVersion(t *testing.T) {
	t.Parallel()
	history := rerouted(t)
	past, err := history.At(inspect.Point{Version: 4})
	require.NoError(t, err)
	require.Equal(t, call.Dispatching, past.State().State)
	require.Equal(t, 2, past.State().Run)
	past, err = history.At(inspect.Point{Time: start.Add(9 * time.Second)})
	require.NoError(t, err)
	require.Equal(t, call.Running, past.State().State)
	for _, p := range []inspect.Point{{Version: 10}, {Time: start.Add(-1)}} {
		_, err := history.At(p)
		require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	}
}
