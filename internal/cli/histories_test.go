package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/workflows"
)

// divergences are counted separately, because only a divergence is a reason to delay a deployment.
func TestReplayedFilesAreListedSeparately(t *testing.T) {
	t.Parallel()
	recorded, err := filepath.Glob("../../workflows/testdata/histories/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, recorded)
	good, err := os.ReadFile(recorded[0])
	require.NoError(t, err)
	var history struct{ Events []json.RawMessage }
	require.NoError(t, json.Unmarshal(good, &history))
	begun, err := json.Marshal(map[string]any{"events": history.Events[:2]})
	require.NoError(t, err)
	dir := t.TempDir()
	for name, raw := range map[string][]byte{
		"good.json": good, "begun.json": begun, "broken.json": []byte("{"), "other.json": []byte("{}"),
		"notes.txt": []byte("no"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
	}
	var all []struct{ File, Result, Detail string }
	out, err := run(t, "histories", "replay", dir, "--json")
	require.ErrorContains(t, err, "2 of 4 files cannot be read as histories", "a pipeline does not pass, and is given the reason")
	require.NoError(t, json.Unmarshal([]byte(out), &all), out)
	results := map[string]string{}
	for _, r := range all {
		results[filepath.Base(r.File)] = r.Result
	}
	require.Equal(t, map[string]string{"good.json": "replays", "begun.json": "empty", "broken.json": "unreadable", "other.json": "unreadable"},
		results)
	_, err = run(t, "histories", "replay", filepath.Join(dir, "good.json"))
	require.NoError(t, err)
	_, err = run(t, "histories", "replay", filepath.Join(dir, "begun.json"))
	require.ErrorContains(t, err, "no history can be replayed")
}

// A prefix of an id is enough, and a workflow that was continued is exported from its first execution on.
func TestAHistoryIsExportedFromItsFirstExecution(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := s.newEngine(t, continuing)
	s.append(t, good, "local", job.TypeSubmitted, job.SubmittedV1{})
	require.NoError(t, e.start(t, good.WorkflowID(1), workflows.RunGraphName).Get(t.Context(), nil))
	dir := t.TempDir()
	_, err := s.run(t, "histories", "export", string(good)[:8], "--dir", dir)
	require.NoError(t, err)
	for name, last := range map[string]string{
		string(good):        "WORKFLOW_EXECUTION_CONTINUED_AS_NEW",
		string(good) + "-2": "WORKFLOW_EXECUTION_COMPLETED",
	} {
		raw, err := os.ReadFile(filepath.Join(dir, name+".json"))
		require.NoError(t, err)
		require.Contains(t, string(raw), last)
	}
	const public = "5ca1ab1e-0000-4000-8000-000000000001"
	_, err = s.pool.Exec(t.Context(), `insert into job_public_ids (account, public_id, job_id) values ('local', $1, $2)`, public, good)
	require.NoError(t, err)
	_, err = s.run(t, "histories", "export", public, "--dir", dir)
	require.NoError(t, err, "a whole public id")
	require.FileExists(t, filepath.Join(dir, public+".json"))
	_, err = s.run(t, "histories", "export", "ffffffff", "--dir", dir)
	require.ErrorContains(t, err, "job ffffffff does not exist")
	_, err = s.run(t, "histories", "export", "nosuchworkflow", "--dir", dir)
	require.ErrorContains(t, err, "Temporal has no history")
	_, err = s.run(t, "histories", "export", string(good), "--dir", dir, "--name", "../x")
	require.ErrorContains(t, err, "--name")
}

// continuing is a workflow that continues as new once.
func continuing(ctx workflow.Context) error {
	if workflow.GetInfo(ctx).ContinuedExecutionRunID == "" {
		return workflow.NewContinueAsNewError(ctx, workflows.RunGraphName)
	}
	return nil
}
