package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
	"github.com/millrace-dev/millrace/internal/domain/job"
)

// page is the answer of `millrace events list --json`.
type page struct {
	Events []struct {
		Position, Version           int64
		Stream, Type, Account, Says string
		Actor, Reason               string
		Data                        json.RawMessage
	} `json:"events"`
	Low    int64 `json:"looked_from"`
	High   int64 `json:"looked_to"`
	More   bool
	From   int64 `json:"from_position"`
	Before int64
}

func (p page) types() string {
	var all []string
	for _, f := range p.Events {
		all = append(all, strings.TrimSuffix(f.Type, ".v1"))
	}
	return strings.Join(all, " ")
}

// newLog returns a site whose log has events of jobs, of an account, of its keys, its credit and of queues.
func newLog(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	for _, args := range [][]string{
		{"accounts", "create", "acme", "--tier", "pro", "--reason", "contract 7"},
		{"keys", "create", "--account", "acme", "--reason", "first"},
		{"accounts", "credit", "acme", "--amount", "5", "--reason", "trial"},
		{"queue", "pause", "--account", "acme", "--reason", "looking\x1b[31m into it"},
		{"queue", "drain", "--reason", "maintenance"},
	} {
		_, err := s.run(t, args...)
		require.NoError(t, err, args)
	}
	s.append(t, good, "local", job.TypeSubmitted, job.SubmittedV1{
		Surface: job.SurfaceV2, Targets: []string{"1"}, NodesTotal: 1,
		Document: job.Document{Inline: `{"prompt":{"1":{"class_type":"EmptyImage","inputs":{"token":"hunter2"}}}}`},
	})
	s.append(t, good, "local", job.TypeAdmitted, job.AdmittedV1{Run: 1})
	return s
}

func TestEventsListSelects(t *testing.T) {
	t.Parallel()
	s := newLog(t)
	const all = "account.created account.key_issued credit.granted queue.paused queue.drain_started job.submitted job.admitted"
	for name, tc := range map[string]struct {
		args, want string
	}{
		"everything, in order":       {"", all},
		"the newest":                 {"--limit 2", "job.submitted job.admitted"},
		"before a position":          {"--limit 1 --before 7", "job.submitted"},
		"from a position":            {"--from-position 2 --limit 2", "account.key_issued credit.granted"},
		"behind the end":             {"--from-position 100", ""},
		"streams that begin so":      {"--stream queue-", "queue.paused queue.drain_started"},
		"a pattern":                  {"--stream q*-*", "queue.paused queue.drain_started"},
		"of a pattern, the newest":   {"--stream q*-* --limit 1", "queue.drain_started"},
		"of a pattern, from":         {"--stream q*-* --limit 1 --from-position 1", "queue.paused"},
		"a pattern with ? and a dot": {"--stream jo?-aaaa*", "job.submitted job.admitted"},
		"no wildcard of SQL":         {"--stream job_%", ""},
		"a short id":                 {"--stream job-aaaaaaaa", "job.submitted job.admitted"},
		"a type":                     {"--type job.admitted.v1", "job.admitted"},
		"types":                      {"--type account.", "account.created account.key_issued"},
		"types of some streams":      {"--stream account-* --type account.key", "account.key_issued"},
		"an account":                 {"--account acme --limit 9", "account.created account.key_issued credit.granted queue.paused"},
		"all accounts together":      {"--account *", "queue.drain_started"},
		"lately":                     {"--since 1h", all},
		"before it began":            {"--until 1h", ""},
		"in the future":              {"--since 2999-01-01T00:00:00Z", ""},
		"up to the future":           {"--until 2999-01-01T00:00:00Z --type queue.", "queue.paused queue.drain_started"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got page
			s.json(t, &got, append([]string{"events", "list"}, strings.Fields(tc.args)...)...)
			require.Equal(t, tc.want, got.types())
		})
	}
}

func TestEventsArePagedInBothDirections(t *testing.T) {
	t.Parallel()
	s := newLog(t)
	for _, filter := range [][]string{nil, {"--stream", "*-*"}, {"--type", "a"}} {
		list := append([]string{"events", "list", "--limit", "2"}, filter...)
		var whole page
		s.json(t, &whole, append([]string{"events", "list"}, filter...)...)
		require.False(t, whole.More)
		var onwards, backwards []string
		for got := (page{More: true, From: 1}); got.More; {
			s.json(t, &got, append(list, "--from-position", fmt.Sprint(got.From))...)
			onwards = append(onwards, strings.Fields(got.types())...)
			require.LessOrEqual(t, len(onwards), len(whole.Events))
		}
		for got := (page{More: true, Before: 1000}); got.More; {
			before := got.Before
			got = page{}
			s.json(t, &got, append(list, "--before", fmt.Sprint(before))...)
			backwards = append(strings.Fields(got.types()), backwards...)
			require.LessOrEqual(t, len(backwards), len(whole.Events))
		}
		require.Equal(t, whole.types(), strings.Join(onwards, " "))
		require.Equal(t, whole.types(), strings.Join(backwards, " "))
	}
}

// A search without an index ends at its bound, reports the bound, and can be continued.
func TestLogSearchIsBoundedAndReportsItsRange(t *testing.T) {
	t.Parallel()
	s := newLog(t)
	_, err := s.pool.Exec(t.Context(), `select setval(pg_get_serial_sequence('events', 'position'), 2500000)`)
	require.NoError(t, err)
	s.append(t, good, "local", job.TypeStarted, job.StartedV1{Run: 1, NodesTotal: 1})

	var got page
	s.json(t, &got, "events", "list", "--type", "account.")
	require.Empty(t, got.Events)
	require.True(t, got.More)
	require.Equal(t, int64(2_500_001), got.High)
	require.Equal(t, int64(1_500_002), got.Low)
	require.Equal(t, got.Low, got.Before)
	out, err := s.run(t, "events", "list", "--type", "account.")
	require.NoError(t, err)
	require.Contains(t, out, "searched positions 1500002 to 2500001; find older events with --before 1500002")
	for range 2 {
		before := got.Before
		got = page{}
		s.json(t, &got, "events", "list", "--type", "account.", "--before", fmt.Sprint(before))
	}
	require.Equal(t, "account.created account.key_issued", got.types())
	require.False(t, got.More)

	got = page{}
	s.json(t, &got, "events", "list", "--type", "job.started", "--from-position", "5")
	require.Empty(t, got.Events)
	require.Equal(t, int64(1_000_005), got.From)
	got = page{}
	s.json(t, &got, "events", "list", "--stream", "account-*")
	require.Equal(t, "account.created account.key_issued", got.types(), "few streams are read through their index, however far away")

	var counted struct {
		Types []struct {
			Type     string
			Recorded int64
		}
		Low   int64 `json:"counted_from"`
		Whole bool
	}
	recorded := func(name string) int64 {
		for _, c := range counted.Types {
			if c.Type == name {
				return c.Recorded
			}
		}
		return -1
	}
	s.json(t, &counted, "events", "types")
	require.False(t, counted.Whole)
	require.Equal(t, int64(1_500_002), counted.Low)
	require.Equal(t, int64(1), recorded(job.TypeStarted))
	require.Equal(t, int64(0), recorded(job.TypeSubmitted))
	s.json(t, &counted, "events", "types", "--whole")
	require.True(t, counted.Whole)
	require.Equal(t, int64(1), recorded(job.TypeSubmitted))
	require.Equal(t, int64(1), recorded("account.key_issued.v1"))
}

func TestEventListIsWrittenForPeople(t *testing.T) {
	t.Parallel()
	s := newLog(t)
	_, err := s.pool.Exec(t.Context(), `select append_events($1, '{odd-1}', '{local}', '{-1}', '{1}', array[$2::uuid], '{f}', '{f}',
		array['{"actor":"x"}'::json],
		'{1}', '{1}', array[$2::uuid], '{odd.happened.v3}', array['{"api_key":"hunter2","n":[1]}'::json])`, 0x6d696c6c,
		"0d3c5a0e-9a57-4a4f-8f0b-52a4c1de7b11")
	require.NoError(t, err)
	list, err := s.run(t, "events", "list")
	require.NoError(t, err)
	for _, want := range []string{
		"POSITION", "times in UTC", "account acme, by operator:", "reason: contract 7", "tier pro", "$5.00", "job-aaaaaaaa ",
		"by v2, number 0, 1 nodes", "account (all), by operator",
		"odd.happened", `{"api_key":"[redacted]","n":[1]}`,
	} {
		require.Contains(t, list, want)
	}
	types, err := s.run(t, "events", "types")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^account\.key_issued +v1 +1 +a key was created$`, types)
	require.Regexp(t, `(?m)^job\.expired +v1 +0 +it expired: it waited`, types)
	require.Regexp(t, `(?m)^odd\.happened +v3 +1 +not known to this version$`, types)
	shown, err := s.run(t, "events", "show", "4")
	require.NoError(t, err)
	for _, want := range []string{
		"position    4\n", "queue.paused.v1", "version 1", "says        jobs are accepted and wait", "  acme\n",
		"actor       operator:", "into it\n", `    "was": "open"`,
	} {
		require.Contains(t, shown, want)
	}
	for _, out := range []string{list, types, shown} {
		require.NotContains(t, out, "hunter2")
		require.NotContains(t, out, "\x1b")
		for line := range strings.Lines(out) {
			require.LessOrEqual(t, uniseg.StringWidth(strings.TrimRight(line, "\n")), 100, line)
		}
	}
	long, err := s.run(t, "events", "show", "6")
	require.NoError(t, err)
	require.NotContains(t, long, "hunter2")
	require.Contains(t, strings.ReplaceAll(long, "\n  ", ""), `EmptyImage`, "what is long is folded, not cut")
}

// An event shows the event that caused it.
func TestEventShowsItsCause(t *testing.T) {
	t.Parallel()
	s := newLog(t)
	var cause string
	require.NoError(t, s.pool.QueryRow(t.Context(), `select id::text from events where position = 6`).Scan(&cause))
	_, err := s.pool.Exec(t.Context(), `select append_events($1, '{job-caused}', '{local}', '{-1}', '{1}', array[$2::uuid], '{f}', '{f}',
		array[$3::json],
		'{1}', '{1}', array[$2::uuid], '{job.expired.v1}', array['{}'::json])`, 0x6d696c6c, "0d3c5a0e-9a57-4a4f-8f0b-52a4c1de7b11",
		`{"cause":"`+cause+`"}`)
	require.NoError(t, err)
	var shown struct {
		Cause    string
		CausedBy struct {
			Position int64
			Type     string
		} `json:"caused_by"`
	}
	s.json(t, &shown, "events", "show", "8")
	require.Equal(t, cause, shown.Cause)
	require.Equal(t, int64(6), shown.CausedBy.Position)
	require.Equal(t, job.TypeSubmitted, shown.CausedBy.Type)
	out, err := s.run(t, "events", "show", "8")
	require.NoError(t, err)
	require.Contains(t, out, "position 6, job.submitted.v1, in job-aaaaaaaa")
}

func TestEventCommandErrorsTakeASingleLine(t *testing.T) {
	t.Parallel()
	s := newLog(t)
	for command, want := range map[string]string{
		"list --account nobody":               "accounts list",
		"list --since tomorrow":               "24h",
		"list --until tomorrow":               "until takes",
		"list --limit 0 --limit 100000":       "between 1 and",
		"list --from-position -1":             "must be 1 or greater",
		"list --from-position 3 --before 9":   "not both",
		"list --follow --until 1h":            "--follow",
		"list --follow --stream job-\xff":     "are texts",
		"list --type \x00":                    "are texts",
		"show 99":                             "no event is at position 99",
		"show first":                          "not a position",
		"list --follow --before 5 --limit 10": "--follow",
	} {
		_, err := s.run(t, append([]string{"events"}, strings.Fields(command)...)...)
		require.ErrorContains(t, err, want, command)
		require.NotContains(t, err.Error(), "\n")
	}
}

// follower runs `millrace events list --follow --json` and reads its lines.
func follower(t *testing.T, s *site, args ...string) (next func() string, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	env := map[string]string{"DATABASE_URL": s.dsn, "MILLRACE_DATA": t.TempDir()}
	cmd := cli.Command(out, io.Discard, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	cmd.SetArgs(append([]string{"events", "list", "--follow", "--json"}, args...))
	ended := make(chan error, 1)
	go func() {
		err := cmd.ExecuteContext(ctx)
		out.Close() // never fails
		ended <- err
	}()
	lines := bufio.NewScanner(in)
	next = func() string {
		require.True(t, lines.Scan(), "it ended: %v", lines.Err())
		var event struct{ Type string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &event), lines.Text())
		require.NotContains(t, lines.Text(), "hunter2")
		return event.Type
	}
	t.Cleanup(func() { cancel(); in.Close() }) // never fails
	return next, func() error { cancel(); return <-ended }
}

func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	s := newLog(t)
	newest, endNewest := follower(t, s, "--limit", "1")
	jobs, endJobs := follower(t, s, "--stream", "job-*", "--from-position", "1", "--limit", "1")
	require.Equal(t, job.TypeAdmitted, newest())
	require.Equal(t, job.TypeSubmitted, jobs())
	require.Equal(t, job.TypeAdmitted, jobs(), "pages up to now come first")
	_, err := s.run(t, "queue", "resume", "--reason", "done")
	require.NoError(t, err)
	s.append(t, good, "local", job.TypeStarted, job.StartedV1{Run: 1, NodesTotal: 1})
	require.Equal(t, "queue.resumed.v1", newest())
	require.Equal(t, job.TypeStarted, newest())
	require.Equal(t, job.TypeStarted, jobs(), "and nothing of other streams")
	require.NoError(t, endNewest())
	require.NoError(t, endJobs(), "an interruption is no failure")
}

// Every type of event has the description in the catalogue of events.
func TestEventDocumentationMatchesTheTypes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/events.md")
	require.NoError(t, err)
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_.]+\\.v\\d+)` \\| (.*?) \\| ").FindAllStringSubmatch(string(raw), -1) {
		documented[row[1]] = strings.ReplaceAll(row[2], "`", "")
	}
	types, err := eventtypes.Registry()
	require.NoError(t, err)
	for _, name := range types.Names() {
		require.NotEmpty(t, types.Says(name), "%s: give it its meaning where it is registered", name)
		require.Equal(t, documented[name], types.Says(name), "docs/events.md on %s", name)
	}
}
