package inspect_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

var update = flag.Bool("update", false, "write golden files anew")

const (
	first  job.ID = "11111111-0000-4000-8000-000000000001"
	second job.ID = "22222222-0000-4000-8000-000000000002"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// event is an event of a test history: its time after the submission, actor, type and data.
type event struct {
	at    time.Duration
	actor string
	name  string
	data  any
}

func registry(t testing.TB) *eventlog.Registry {
	t.Helper()
	r := eventlog.NewRegistry()
	require.NoError(t, job.Register(r))
	return r
}

func record(t testing.TB, id job.ID, events ...event) []eventlog.Recorded {
	t.Helper()
	r := registry(t)
	out := make([]eventlog.Recorded, len(events))
	for i, f := range events {
		data, ok := f.data.(json.RawMessage)
		if !ok {
			var err error
			data, err = r.Encode(eventlog.Event{Type: f.name, Data: f.data})
			require.NoError(t, err)
		}
		out[i] = eventlog.Recorded{
			Position: int64(100 + 3*i), Stream: id.Stream(), Version: int64(i + 1), ID: job.EventID(id, 1, "", i, f.name), Type: f.name,
			Account: "acme", Data: data, Meta: eventlog.Meta{Actor: f.actor}, RecordedAt: start.Add(f.at),
		}
	}
	out[0].Meta.RequestID = "request-1"
	return out
}

func read(t testing.TB, id job.ID, events ...event) inspect.History {
	t.Helper()
	h, err := inspect.Read(registry(t), record(t, id, events...))
	require.NoError(t, err)
	return h
}

func submission(sigma string) event {
	doc := `{"prompt":{"1":{"class_type":"LoadImage","inputs":{"image":"a.png"}},"2":{"class_type":"ImageBlur","inputs":{"image":["1",0],` +
		`"sigma":` + sigma + `}},"10":{"class_type":"SaveImage","inputs":{"images":["2",0],"api_key":"hunter2"}}}}`
	return event{0, "acme", job.TypeSubmitted, job.SubmittedV1{
		Number: 4, Surface: job.SurfaceV2, Document: job.Document{Inline: doc}, Targets: []string{"10"}, NodesTotal: 3,
		Metadata: map[string]string{"team": "blue\x1b[31m", "password": "hunter2"},
	}}
}

// done is a job that waited, continued on a second worker in node 2, and succeeded.
func done(sigma string) []event {
	ms := time.Millisecond
	return []event{
		submission(sigma),
		{2000 * ms, "admission", job.TypeAdmitted, job.AdmittedV1{Run: 1}},
		{2100 * ms, "a/1", job.TypeStarted, job.StartedV1{Run: 1, NodesTotal: 3, Worker: "a/1", Execution: "e1"}},
		{2100 * ms, "a/1", job.TypeNodesCached, job.NodesCachedV1{Run: 1, Nodes: []string{"1"}}},
		{2200 * ms, "a/1", job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: "2", Class: "ImageBlur", Attempt: 1}},
		{5200 * ms, "b/2", job.TypeNodeExecuted, job.NodeExecutedV1{Run: 1, Node: "2", Class: "ImageBlur", Millis: 1000}},
		{5300 * ms, "b/2", job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: "10", Class: "SaveImage", Attempt: 2}},
		{5300 * ms, "b/2", job.TypeNodeExecuted, job.NodeExecutedV1{
			Run: 1, Node: "10", Class: "SaveImage", Millis: 60, UI: json.RawMessage(`{"images":[]}`),
			Files: []job.OutputFile{{
				Asset: "asset-id", Hash: "blake3:0123456789abcdef", Size: 42, ContentType: "image/png",
				Filename: "x_00001_.png", Folder: "output",
			}},
		}},
		{5400 * ms, "b/2", job.TypeSucceeded, job.SucceededV1{Run: 1}},
	}
}

// broken is a job that failed, with an error text that contains control sequences.
func broken() []event {
	failure := job.Failure{
		Code: "node_execution_error", Message: "no\x1b]0;owned\a such\nfile", Node: "2", Class: "ImageBlur",
		ExceptionType: "ValueError", Traceback: []string{"line 1\n"},
	}
	events := append(done("2.5")[:5:5],
		event{3 * time.Second, "a/1", job.TypeNodeFailed, job.NodeFailedV1{Run: 1, Failure: failure}},
		event{3 * time.Second, "a/1", "job.annotated.v9", json.RawMessage(`{"token":"hunter2","note":"of a newer program"}`)},
		event{3100 * time.Millisecond, "a/1", job.TypeFailed, job.FailedV1{Run: 1, Failure: failure}})
	return events
}

func golden(t *testing.T, name string, draw func(*terminal.Printer)) {
	t.Helper()
	var out bytes.Buffer
	p := &terminal.Printer{Out: &out}
	draw(p)
	require.NoError(t, p.Err())
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		require.LessOrEqual(t, uniseg.StringWidth(line), 100, line)
		require.Equal(t, terminal.Clean(line), line, "nothing that a terminal obeys")
	}
	require.NotContains(t, out.String(), "hunter2")
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, out.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}

func TestTerminalOutput(t *testing.T) {
	t.Parallel()
	good, bad := read(t, first, done("1.0")...), read(t, second, broken()...)
	past, err := good.At(inspect.Point{Version: 5})
	require.NoError(t, err)
	now := start.Add(10 * time.Second)
	steps := []inspect.Step{
		{Run: 1, ID: 1, At: start.Add(2050 * time.Millisecond), Type: "WorkflowExecutionStarted"},
		{Run: 1, ID: 5, At: start.Add(5200 * time.Millisecond), Type: "ActivityTaskCompleted", Detail: "RunNodes"},
	}
	comparison, err := inspect.Diff(side(good, "1.0"), side(bad, "2.5"))
	require.NoError(t, err)
	for name, draw := range map[string]func(*terminal.Printer){
		"state":         func(p *terminal.Printer) { report.State(p, good, 9) },
		"state_past":    func(p *terminal.Printer) { report.State(p, past, 9) },
		"state_failed":  func(p *terminal.Printer) { report.State(p, bad, 8) },
		"events":        func(p *terminal.Printer) { report.Events(p, good) },
		"events_failed": func(p *terminal.Printer) { report.Events(p, bad) },
		"timeline":      func(p *terminal.Printer) { report.Timeline(p, good.Timeline(now)) },
		"timeline_past": func(p *terminal.Printer) { report.Timeline(p, past.Timeline(now)) },
		"diff":          func(p *terminal.Printer) { report.Comparison(p, comparison) },
		"workflow":      func(p *terminal.Printer) { report.SideBySide(p, good.Events, steps) },
		"jobs": func(p *terminal.Printer) {
			labels := map[job.ID]report.Label{first: {Title: "Cats in raincoats", Models: []string{"sd15.safetensors", "cats.safetensors"}}}
			report.Jobs(p, []job.Job{good.State(), past.State(), bad.State()}, map[string]string{"acme": "Acme"}, labels, now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name, draw)
		})
	}
}

// A worker was lost in node 10. The bar of node 10 begins where its last attempt began. Node 2, which ran again
// because its result was in the lost worker's memory, stays where its end was recorded.
func TestTheTimelineShowsTheAttemptThatEndedANode(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	h := read(t, first, append(done("1.0")[:5:5],
		event{3200 * ms, "a/1", job.TypeNodeExecuted, job.NodeExecutedV1{Run: 1, Node: "2", Class: "ImageBlur", Millis: 1000}},
		event{3300 * ms, "a/1", job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: "10", Class: "SaveImage", Attempt: 1}},
		event{60_000 * ms, "b/2", job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: "2", Class: "ImageBlur", Attempt: 2}},
		event{61_000 * ms, "b/2", job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: "10", Class: "SaveImage", Attempt: 2}},
		event{63_000 * ms, "b/2", job.TypeNodeExecuted, job.NodeExecutedV1{Run: 1, Node: "10", Class: "SaveImage", Millis: 2000}},
		event{63_100 * ms, "b/2", job.TypeSucceeded, job.SucceededV1{Run: 1}},
	)...)
	spans := map[string]inspect.NodeSpan{}
	for _, s := range h.Timeline(start).Nodes {
		spans[s.Node] = s
	}
	require.Equal(t, start.Add(61_000*ms), spans["10"].Began)
	require.Equal(t, "b/2", spans["10"].Worker)
	require.Equal(t, 2, spans["10"].Attempt)
	require.True(t, spans["10"].Retried)
	require.Equal(t, inspect.NodeExecuted, spans["2"].State)
	require.Equal(t, "a/1", spans["2"].Worker)
	require.Equal(t, start.Add(2200*ms), spans["2"].Began)
	require.False(t, spans["2"].Retried)
}

func side(h inspect.History, sigma string) inspect.Side {
	doc := submission(sigma).data.(job.SubmittedV1).Document.Inline
	var src job.Source
	if err := json.Unmarshal([]byte(doc), &src); err != nil {
		panic(err)
	}
	return inspect.Side{History: h, Source: &src}
}

func TestEveryVersionFoldsAsItWas(t *testing.T) {
	t.Parallel()
	events := done("1.0")
	whole := read(t, first, events...)
	for n := 1; n <= len(events); n++ {
		alone := read(t, first, events[:n]...).State()
		past, err := whole.At(inspect.Point{Version: int64(n)})
		require.NoError(t, err)
		require.Equal(t, alone, past.State())
		require.Equal(t, string(alone.State), whole.Events[n-1].State)
		later, err := whole.At(inspect.Point{Time: whole.Events[n-1].At})
		require.NoError(t, err)
		require.GreaterOrEqual(t, later.State().Version, int64(n))
		require.False(t, later.State().UpdatedAt.After(whole.Events[n-1].At))
	}
	for _, p := range []inspect.Point{{Version: 10}, {Time: start.Add(-1)}} {
		_, err := whole.At(p)
		require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	}
}

func TestReadRefusesAStreamWithAGap(t *testing.T) {
	t.Parallel()
	recorded := record(t, first, done("1.0")...)
	_, err := inspect.Read(registry(t), append(recorded[:2:2], recorded[3:]...))
	require.ErrorContains(t, err, "version 4")
}

func TestTimelineAddsUp(t *testing.T) {
	t.Parallel()
	line := read(t, first, done("1.0")...).Timeline(start.Add(time.Hour))
	require.Equal(t, inspect.Millis(2*time.Second), line.WaitedSlot)
	require.Equal(t, inspect.Millis(100*time.Millisecond), line.WaitedStart)
	require.Equal(t, line.Total, line.WaitedSlot+line.WaitedStart+line.Ran)
	require.Equal(t, inspect.Millis(1060*time.Millisecond), line.InNodes)
	raw, err := json.Marshal(line.WaitedStart)
	require.NoError(t, err)
	require.Equal(t, "100", string(raw))
	require.Len(t, line.Nodes, 3)
	require.Equal(t, inspect.NodeCached, line.Nodes[0].State)
	require.True(t, line.Nodes[1].Retried, "another worker ended it")
	require.Equal(t, 2, line.Nodes[2].Attempt)
	failed := read(t, second, broken()...).Timeline(start.Add(time.Hour))
	require.Equal(t, inspect.NodeFailed, failed.Nodes[1].State)
	require.Equal(t, inspect.Millis(800*time.Millisecond), failed.Nodes[1].Took)
}

func TestParsePoint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]inspect.Point{
		"12": {Version: 12}, "v3": {Version: 3}, "2026-01-02T03:04:05Z": {Time: start}, "2026-01-02 03:04:05": {Time: start},
	} {
		got, err := inspect.ParsePoint(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "0", "-1", "yesterday", "v", "12.5"} {
		_, err := inspect.ParsePoint(text)
		require.Error(t, err, text)
	}
}

func TestColoursOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &terminal.Printer{Out: &out, Colour: true}
	report.Events(p, read(t, first, done("1.0")...))
	require.Contains(t, out.String(), "\x1b[32msucceeded\x1b[0m")
}

func TestRedactKeepsOrderAndEverythingElse(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"z":1.50,"a":"<b>","n":null,"t":[true,{}]}`:                  `{"z":1.50,"a":"<b>","n":null,"t":[true,{}]}`,
		`{"api_key_comfy_org":"k","x":{"Authorization":["Bearer k"]}}`: `{"api_key_comfy_org":"[redacted]","x":{"Authorization":"[redacted]"}}`,
		`{"document":{"inline":"{\"token\":\"k\",\"max_tokens\":4}"}}`: `{"document":{"inline":"{\"token\":\"[redacted]\",\"max_tokens\":4}"}}`,
		`{"a":`:                `null`,
		`12345678901234567890`: `12345678901234567890`,
	} {
		require.Equal(t, want, string(inspect.Redact(json.RawMessage(raw))))
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"token":"x","inline":"{}"}]}`))
	f.Add([]byte(`{"inline":"\"\\u0000\""}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		out := inspect.Redact(raw)
		require.True(t, json.Valid(out))
		require.Equal(t, string(out), string(inspect.Redact(out)))
	})
}
