package cli_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/projections/jobs"
)

const runnable = `{"prompt":{
	"9":{"class_type":"SaveImage","inputs":{"images":["1.a",0],"filename_prefix":"x"}},
	"1.a":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":255}}}}`

// ended appends the life of a job with a graph that can run.
func (s *site) ended(t *testing.T, id job.ID, account string, first job.SubmittedV1, end string, event any) {
	t.Helper()
	first.Surface, first.Targets, first.NodesTotal = job.SurfaceV2, []string{"9"}, 2
	first.Document.Inline = cmp.Or(first.Document.Inline, runnable)
	s.append(t, id, account, job.TypeSubmitted, first)
	s.append(t, id, account, job.TypeAdmitted, job.AdmittedV1{Run: 1})
	s.append(t, id, account, job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: "9", Class: "SaveImage"})
	if event != nil {
		s.append(t, id, account, end, event)
	}
	s.fold(t)
}

type got struct {
	Job, Retry            job.ID
	Outcome, Code, Detail string
}

func (s *site) change(t *testing.T, args ...string) ([]got, error) {
	t.Helper()
	out, err := s.run(t, append([]string{"jobs"}, append(args, "--json")...)...)
	var all []got
	if out != "" {
		require.NoError(t, json.Unmarshal([]byte(out), &all), out)
	}
	return all, err
}

var broke = job.FailedV1{Run: 1, Failure: job.Failure{Code: "node_execution_error", Message: "no"}}

func (s *site) job(t *testing.T, id job.ID) job.Job {
	t.Helper()
	j, err := jobs.NewReader(s.pool, s.types, nil).Job(t.Context(), "local", id)
	require.NoError(t, err)
	return j
}

// a retry is a new job that refers to its origin and records the actor and the reason. The old job does not
// change.
func TestARetryIsANewJobThatNamesItsOrigin(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ended(t, bad, "local", job.SubmittedV1{Metadata: map[string]string{"a": "b"}}, job.TypeFailed, broke)
	before := s.job(t, bad)
	all, err := s.change(t, "retry", string(bad)[:8], "--from-node", "1.a", "--set", "1.a.color=7", "--set", "9.filename_prefix=again",
		"--reason", "wrong colour", "--actor", "kim")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "retried", all[0].Outcome)
	require.Equal(t, before, s.job(t, bad))
	made := s.job(t, all[0].Retry)
	require.Equal(t, &job.Origin{Job: bad, FromNode: "1.a", Set: []string{"1.a.color", "9.filename_prefix"}}, made.Origin)
	require.Equal(t, map[string]string{"a": "b"}, made.Metadata)
	require.Equal(t, []string{"9"}, made.Targets)
	var got struct {
		Events []struct {
			Actor, Reason string
			Data          struct{ Document job.Document }
		} `json:"events"`
	}
	s.json(t, &got, "jobs", "events", string(made.ID))
	require.Equal(t, "operator:kim", got.Events[0].Actor)
	require.Equal(t, "wrong colour", got.Events[0].Reason)
	require.Equal(t, `{"prompt":{"9":{"class_type":"SaveImage","inputs":{"images":["1.a",0],"filename_prefix":"again"}},`+
		`"1.a":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":7}}}}`, got.Events[0].Data.Document.Inline)
}

// bad input is refused with a clear message, and nothing changes.
func TestImpossibleRetriesAreRefused(t *testing.T) {
	t.Parallel()
	const running job.ID = "bbbbbbbb-0000-4000-8000-000000000003"
	s := newSite(t)
	s.ended(t, good, "local", job.SubmittedV1{Credential: true, Document: job.Document{Inline: painted}}, job.TypeFailed, broke)
	s.ended(t, bad, "local", job.SubmittedV1{}, job.TypeFailed, broke)
	s.ended(t, running, "local", job.SubmittedV1{}, "", nil)
	for name, tc := range map[string]struct {
		args       []string
		code, want string
	}{
		"running":            {[]string{string(running)}, "job_not_finished", "not changed"},
		"without credential": {[]string{string(good)}, "credential_required", "not changed"},
		"unknown node":       {[]string{string(bad), "--from-node", "77"}, "unknown_node", "not changed"},
		"unknown target":     {[]string{string(bad), "--set", "77.x=1"}, "unknown_node", "not changed"},
		"invalid value":      {[]string{string(bad), "--set", "1.a.width=-4"}, "prompt_outputs_failed_validation", "not changed"},
		"unknown input":      {[]string{string(bad), "--set", "1.a.widht=64"}, "invalid_assignment", "not changed"},
		"no assignment":      {[]string{string(bad), "--set", "nonsense"}, "", "not node.input=value"},
		"unknown job":        {[]string{"ffffffff-0000-4000-8000-000000000009"}, "", "job ffffffff-0000-4000-8000-000000000009 does not exist"},
		"empty variable":     {[]string{string(good), "--credential-env", "NOTHING"}, "", "NOTHING"},
		"no match":           {[]string{"--status", "expired"}, "", "no job matches"},
		"unknown account":    {[]string{"--account", "nobody"}, "", "does not exist"},
		"nothing named":      {nil, "", "give a filter"},
		"ids and a filter":   {[]string{string(bad), "--failed"}, "", "not both"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := s.change(t, append([]string{"retry"}, tc.args...)...)
			require.ErrorContains(t, err, tc.want)
			if tc.code != "" {
				require.Equal(t, tc.code, all[0].Code)
				require.NotEmpty(t, all[0].Detail)
				require.NotContains(t, all[0].Detail, "Prompt outputs failed validation", "it says what is wrong")
			}
			var made int
			require.NoError(t, s.pool.QueryRow(t.Context(), `select count(*) from job_retries`).Scan(&made))
			require.Zero(t, made)
		})
	}
}

// painted is a graph that calls a partner's model and needs the credential with which it was submitted.
const painted = `{"prompt":{"1":{"class_type":"Partner_bfl_flux-2-pro","inputs":{"prompt":"a red square"}},` +
	`"9":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"x"}}}}`

func TestRetryCredentialIsSealed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ended(t, good, "local", job.SubmittedV1{Credential: true}, job.TypeFailed, broke)
	all, err := s.change(t, "retry", string(good), "--no-credential")
	require.NoError(t, err)
	s.extra = map[string]string{"SERVICE_KEY": "correct-horse"}
	again, err := s.change(t, "retry", string(good), "--credential-env", "SERVICE_KEY")
	require.NoError(t, err)
	var sealed []string
	require.NoError(t, s.pool.QueryRow(t.Context(), `select array_agg(job_id::text) from sealed_credentials`).Scan(&sealed))
	require.Equal(t, []string{string(again[0].Retry)}, sealed)
	require.NotEqual(t, all[0].Retry, again[0].Retry)
	var leaks int
	require.NoError(t, s.pool.QueryRow(t.Context(), `select count(*) from events
		where data::text || meta::text like '%correct-horse%'`).Scan(&leaks))
	require.Zero(t, leaks)
}

// without --yes, a command with a filter only shows the selected jobs. Jobs that were retried before are
// skipped.
func TestBulkRetryConfirmsAndRetriesOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var failed []job.ID
	for i := range 3 {
		id := job.ID(fmt.Sprintf("cccccccc-0000-4000-8000-00000000000%d", i))
		failed = append(failed, id)
		s.ended(t, id, "local", job.SubmittedV1{}, job.TypeFailed, broke)
	}
	s.ended(t, good, "local", job.SubmittedV1{}, job.TypeSucceeded, job.SucceededV1{Run: 1})
	outcomes := func(all []got) (words []string) {
		for i, o := range all {
			require.Equal(t, failed[i], o.Job, "oldest first")
			words = append(words, o.Outcome)
		}
		return words
	}
	all, err := s.change(t, "retry", "--failed", "--since", "1h", "--dry-run")
	require.NoError(t, err)
	require.Equal(t, []string{"would retry", "would retry", "would retry"}, outcomes(all))
	all, err = s.change(t, "retry", "--failed", "--class", "SaveImage")
	require.ErrorContains(t, err, "--yes")
	require.Len(t, all, 3)
	var count int
	require.NoError(t, s.pool.QueryRow(t.Context(), `select count(*) from job_retries`).Scan(&count))
	require.Zero(t, count)
	_, err = s.change(t, "retry", "--failed", "--class", "LoadImage", "--yes")
	require.ErrorContains(t, err, "no job matches")
	all, err = s.change(t, "retry", "--failed", "--yes")
	require.NoError(t, err)
	require.Equal(t, []string{"retried", "retried", "retried"}, outcomes(all))
	all, err = s.change(t, "retry", "--failed", "--yes")
	require.NoError(t, err)
	require.Equal(t, []string{"skipped", "skipped", "skipped"}, outcomes(all))
}

// A dry run reports the same outcome for each job as the change itself.
func TestDryRunReportsTheOutcomeForEachJob(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ended(t, bad, "local", job.SubmittedV1{}, job.TypeFailed, broke)
	made, err := s.change(t, "retry", string(bad))
	require.NoError(t, err)
	waits := string(made[0].Retry)
	for name, tc := range map[string]struct {
		args          []string
		outcome, code string
	}{
		"a job that has ended is retried": {[]string{"retry", string(bad)}, "would retry", ""},
		"one that runs is not":            {[]string{"retry", waits}, "would be refused", "job_not_finished"},
		"nor is an unknown input set": {
			[]string{"retry", string(bad), "--set", "1.a.widht=64"},
			"would be refused",
			"invalid_assignment",
		},
		"nor a value that is not valid": {
			[]string{"retry", string(bad), "--set", "1.a.width=-4"},
			"would be refused",
			"prompt_outputs_failed_validation",
		},
		"what was retried is passed over":           {[]string{"retry", "--failed"}, "would be skipped", ""},
		"unless it is asked for again":              {[]string{"retry", "--failed", "--again"}, "would retry", ""},
		"a job that runs is canceled":               {[]string{"cancel", waits}, "would cancel", ""},
		"one that has ended is not":                 {[]string{"cancel", string(bad)}, "would be refused", "job_finished"},
		"a job with a slot is started again":        {[]string{"requeue", waits}, "would requeue", ""},
		"one without is not":                        {[]string{"requeue", string(bad)}, "would be refused", "not_running"},
		"a node that the graph has not is reported": {[]string{"retry", string(bad), "--from-node", "77"}, "would be refused", "unknown_node"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := s.change(t, append(tc.args, "--dry-run")...)
			require.NoError(t, err)
			require.Len(t, all, 1)
			require.Equal(t, tc.outcome, all[0].Outcome)
			require.Equal(t, tc.code, all[0].Code)
		})
	}
	_, err = s.change(t, "retry", "--failed")
	require.ErrorContains(t, err, "there is no job to retry", "--yes is not asked for in vain")
	var jobs int
	require.NoError(t, s.pool.QueryRow(t.Context(), `select count(*) from events where type = 'job.submitted.v1'`).Scan(&jobs))
	require.Equal(t, 2, jobs, "nothing was made")
}

func TestOperatorsCancelAndRequeueByName(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ended(t, bad, "local", job.SubmittedV1{}, job.TypeFailed, broke)
	made, err := s.change(t, "retry", string(bad))
	require.NoError(t, err)
	id := string(made[0].Retry)
	all, err := s.change(t, "requeue", id, "--reason", "restored")
	require.NoError(t, err)
	require.Equal(t, "requeued", all[0].Outcome)
	all, err = s.change(t, "cancel", id, "--reason", "asked for", "--actor", "kim")
	require.NoError(t, err)
	require.Equal(t, "canceled", all[0].Outcome)
	require.Equal(t, job.Canceling, s.job(t, job.ID(id)).State)
	var got struct {
		Events []struct{ Type, Actor, Reason string } `json:"events"`
	}
	s.json(t, &got, "jobs", "events", id)
	last := got.Events[len(got.Events)-2:]
	require.Equal(t, "job.requeued.v1", last[0].Type)
	require.Equal(t, "restored", last[0].Reason)
	require.Equal(t, "operator:kim", last[1].Actor)
	require.Equal(t, "asked for", last[1].Reason)
	for verb, code := range map[string]string{"cancel": "job_finished", "requeue": "not_running"} {
		all, err := s.change(t, verb, string(bad))
		require.ErrorContains(t, err, "not changed")
		require.Equal(t, code, all[0].Code)
	}
}
