package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// site is a database with a few jobs, and a command line for it.
type site struct {
	dsn   string
	pool  *pgxpool.Pool
	types *eventlog.Registry
	store *eventstore.Store
	last  int64
	extra map[string]string // further variables of the environment
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{dsn: pgtest.Migrated(t, postgres.Migrate), types: eventlog.NewRegistry()}
	require.NoError(t, job.Register(s.types))
	var err error
	s.pool, err = postgres.Open(t.Context(), s.dsn, postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(s.pool.Close)
	s.store = eventstore.New(s.pool, s.types, nil)
	return s
}

func (s *site) append(t *testing.T, id job.ID, account, name string, data any) {
	t.Helper()
	recorded, err := s.store.Append(t.Context(), eventlog.Append{
		Stream: id.Stream(), Account: account, Expected: eventlog.AnyVersion, Meta: eventlog.Meta{Actor: "tester", Reason: "because"},
		Events: []eventlog.Event{{ID: uuid.New(), Type: name, Data: data}},
	})
	require.NoError(t, err)
	s.last = recorded[0].Position
}

// finish appends the life of a job and folds the view.
func (s *site) finish(t *testing.T, id job.ID, account, end string, event any) {
	t.Helper()
	s.append(t, id, account, job.TypeSubmitted, job.SubmittedV1{
		Surface: job.SurfaceV2, Targets: []string{"1"}, NodesTotal: 1,
		Document: job.Document{Inline: `{"prompt":{"1":{"class_type":"EmptyImage","inputs":{"token":"hunter2"}}}}`},
	})
	s.append(t, id, account, job.TypeAdmitted, job.AdmittedV1{Run: 1})
	s.append(t, id, account, job.TypeStarted, job.StartedV1{Run: 1, NodesTotal: 1, Worker: "w"})
	s.append(t, id, account, end, event)
	s.fold(t)
}

func (s *site) fold(t *testing.T) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		var from int64
		if err := tx.QueryRow(t.Context(), `select coalesce(max(position), 0) from checkpoints where name = $1`,
			jobs.Name).Scan(&from); err != nil {
			return err
		}
		events, err := eventstore.ReadLog(t.Context(), tx, from, s.last, 1000)
		if err != nil {
			return err
		}
		if err := jobs.NewProjection(s.types).Apply(t.Context(), tx, events); err != nil {
			return err
		}
		return eventstore.SaveCheckpoint(t.Context(), tx, jobs.Name, from, s.last, nil)
	}))
}

func (s *site) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	env := map[string]string{"DATABASE_URL": s.dsn, "MILLRACE_DATA": t.TempDir()}
	maps.Copy(env, s.extra)
	cmd := cli.Command(&out, &errs, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func (s *site) json(t *testing.T, into any, args ...string) {
	t.Helper()
	out, err := s.run(t, append(args, "--json")...)
	require.NoError(t, err)
	require.NotContains(t, out, "hunter2")
	require.NoError(t, json.Unmarshal([]byte(out), into), out)
}

const (
	good job.ID = "aaaaaaaa-0000-4000-8000-000000000001"
	bad  job.ID = "aaaabbbb-0000-4000-8000-000000000002"
)

func newStory(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.finish(t, good, "local", job.TypeSucceeded, job.SucceededV1{Run: 1})
	s.finish(t, bad, "acme", job.TypeFailed, job.FailedV1{Run: 1, Failure: job.Failure{Code: "node_execution_error", Message: "no"}})
	return s
}

func TestJobsListSelects(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	_, err := s.pool.Exec(t.Context(), `insert into accounts (id, name, tier) values ('acme', 'Acme Inc', 'pro')`)
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		args []string
		want []job.ID
	}{
		"all, newest first": {nil, []job.ID{bad, good}},
		"newest only":       {[]string{"--limit", "1"}, []job.ID{bad}},
		"by state":          {[]string{"--status", "succeeded"}, []job.ID{good}},
		"by states":         {[]string{"--status", "succeeded,failed"}, []job.ID{bad, good}},
		"by name":           {[]string{"--account", "Acme Inc"}, []job.ID{bad}},
		"by account id":     {[]string{"--account", "acme"}, []job.ID{bad}},
		"lately":            {[]string{"--since", "1h"}, []job.ID{bad, good}},
		"in the future":     {[]string{"--since", "2999-01-01T00:00:00Z"}, []job.ID{}},
		"none of the state": {[]string{"--status", "queued", "--account", "local"}, []job.ID{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found []job.Job
			s.json(t, &found, append([]string{"jobs", "list"}, tc.args...)...)
			ids := make([]job.ID, len(found))
			for i, j := range found {
				ids[i] = j.ID
			}
			require.Equal(t, tc.want, ids)
		})
	}
}

func TestJobsAreShownFromTheirEvents(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	var now, past job.Job
	s.json(t, &now, "jobs", "show", "aaaaa")
	s.json(t, &past, "jobs", "show", string(good), "--at", "1")
	require.Equal(t, job.Succeeded, now.State)
	require.Equal(t, job.Queued, past.State)
	want, err := jobs.NewReader(s.pool, s.types, nil).Job(t.Context(), "local", good)
	require.NoError(t, err)
	require.Equal(t, want, now)
	var events struct {
		Events []struct {
			Version, Position int64
			Actor, Reason     string
			Data              json.RawMessage
		} `json:"events"`
	}
	s.json(t, &events, "jobs", "events", "aaaabbbb")
	require.Len(t, events.Events, 4)
	require.Equal(t, int64(8), events.Events[3].Position)
	require.Equal(t, "tester", events.Events[3].Actor)
	require.Equal(t, "because", events.Events[3].Reason)
	for command, want := range map[string]string{
		"show aaaaa": "succeeded", "events aaaaa": "job.succeeded", "timeline aaaaa": "waited for a worker",
		"diff aaaaa aaaab": "histories differ from version 4 on",
	} {
		out, err := s.run(t, append([]string{"jobs"}, strings.Fields(command)...)...)
		require.NoError(t, err)
		require.Contains(t, out, want)
		require.NotContains(t, out, "\x1b", "no colours but on a terminal")
	}
}

func TestJobCommandErrorsTakeASingleLine(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	for command, want := range map[string]string{
		"show aaaa":                            "several jobs have ids",
		"show bbbb":                            "job bbbb does not exist",
		"show abc":                             "first 4 or more characters",
		"show ../../etc":                       "is not the id of a job",
		"show aaaaa --at 5":                    "version 5 does not exist; the last version is 4",
		"show aaaaa --at noon":                 "neither a version",
		"show aaaaa --at 1999-01-01T00:00:00Z": "no event was recorded by then",
		"show aaaaa --workflow":                "TEMPORAL_ADDRESS",
		"events 00000000":                      "job 00000000 does not exist",
		"list --status done":                   "queued, running",
		"list --account nobody":                "accounts list",
		"list --since tomorrow":                "24h",
		"list --limit 0":                       "between 1 and",
	} {
		_, err := s.run(t, append([]string{"jobs"}, strings.Fields(command)...)...)
		require.ErrorContains(t, err, want, command)
		require.NotContains(t, err.Error(), "\n")
	}
}

// TestShowingAJobReadsItsIndexOnly runs with many jobs: the rows that a query reads must not grow with their number.
func TestShowingAJobReadsItsIndexOnly(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	for _, sql := range []string{
		`create table seed as select gen_random_uuid() as id from generate_series(1, 20000)`,
		`insert into streams select 'job-' || id, 'local', 1, false from seed`,
		`insert into events (stream, version, id, type, account, data, meta, recorded_at)
			select 'job-' || s.id, 1, gen_random_uuid(), 'job.submitted.v1', 'local', e.data, e.meta, now() from seed s, events e
				where e.position = 1`,
		`vacuum analyze`,
	} {
		_, err := s.pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	for sql, args := range map[string][]any{
		operatestore.StreamsSQL: {
			job.ID("aaaaa000-0000-0000-0000-000000000000").Stream(),
			job.ID("aaaaafff-ffff-ffff-ffff-ffffffffffff").Stream(),
		},
		eventstore.SelectEvents + ` where stream = $1 and version > $2 order by version limit $3`: {good.Stream(), 0, 1000},
	} {
		rows, err := s.pool.Query(t.Context(), `explain (analyze, buffers, format json) `+sql, append([]any{pgx.QueryExecModeExec}, args...)...)
		require.NoError(t, err)
		plan, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.Contains(t, plan, "Index")
		require.NotContains(t, plan, "Seq Scan")
		var top []struct{ Plan map[string]any }
		require.NoError(t, json.Unmarshal([]byte(plan), &top))
		touched := top[0].Plan["Shared Hit Blocks"].(float64) + top[0].Plan["Shared Read Blocks"].(float64)
		require.LessOrEqual(t, touched, 20.0, plan)
	}
	out, err := s.run(t, "jobs", "show", string(good[:8])) // one of the 20,000 random ids may well begin with five of them
	require.NoError(t, err)
	require.Contains(t, out, fmt.Sprint(good))
}

// A NUL character in an event does not hide its job, whatever member the search uses.
func TestJobsAreFoundByClassBesideANUL(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	const odd job.ID = "aaaacccc-0000-4000-8000-000000000003"
	s.append(t, odd, "local", job.TypeSubmitted, job.SubmittedV1{
		Surface: job.SurfaceCloud, ClientID: "a\x00b", Targets: []string{"1"}, NodesTotal: 1, Document: job.Document{Inline: `{"prompt":{}}`},
	})
	s.append(t, odd, "local", job.TypeFailed, job.FailedV1{Run: 1, Failure: job.Failure{
		Code: "node_execution_error", Message: `\u0000 and ` + "\x00", Node: "1", Class: "SaveImage",
	}})
	s.fold(t)
	var found []struct {
		ID job.ID `json:"id"`
	}
	s.json(t, &found, "jobs", "list", "--class", "SaveImage")
	require.Len(t, found, 1)
	require.Equal(t, odd, found[0].ID)
}
