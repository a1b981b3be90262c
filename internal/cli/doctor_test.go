package cli_test

import (
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
)

// diagnosis runs the doctor, without Temporal, and returns the status and remedy of each check.
func (s *site) diagnosis(t *testing.T) map[string][2]string {
	t.Helper()
	out, err := s.run(t, "doctor", "--json")
	require.ErrorContains(t, err, "checks failed", "there is no Temporal")
	require.NotContains(t, out, s.dsn)
	var report struct {
		Checks []struct{ Check, Status, Detail, Remedy string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	found := map[string][2]string{}
	for _, c := range report.Checks {
		require.NotEmpty(t, c.Detail, c.Check)
		require.Equal(t, c.Status == "ok", c.Remedy == "", "a remedy for what is not well, and only then: %s", c.Check)
		found[c.Check] = [2]string{c.Status, c.Remedy}
	}
	return found
}

func TestTheDoctorFindsAHealthyDatabaseHealthy(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	found := s.diagnosis(t)
	for _, name := range []string{"version", "database", "schema", "clock", "views", "halted", "outbox", "slots", "queues", "stuck"} {
		require.Equal(t, "ok", found[name][0], name)
	}
	require.Equal(t, "fail", found["temporal"][0])
}

func TestDoctorFindsProblems(t *testing.T) {
	t.Parallel()
	const id = "'aaaaaaaa-0000-4000-8000-000000000001'"
	for name, tc := range map[string]struct {
		check, status, remedy string
		harm                  []string
	}{
		"a view far behind": {"views", "fail", "--roles projector", []string{
			`insert into events (position, stream, version, id, type, account, data, meta, recorded_at) overriding system value
				values (9000, 'job-x', 1, gen_random_uuid(), 'job.submitted.v1', 'local', '{}', '{}', now())`,
		}},
		"a view past the end of the log": {"views", "fail", "millrace views rebuild jobs_v1", []string{
			`insert into checkpoints (name, position) values ('jobs_v1', 900)`,
		}},
		"webhooks past the end of the log": {"views", "fail", "cannot be rebuilt", []string{
			`insert into checkpoints (name, position) values ('webhooks_outgoing', 900)`,
		}},
		"a halted stream": {"halted", "fail", "millrace views resume jobs_v1 job-x", []string{
			`insert into halted_streams (projection, stream, position, error) values ('jobs_v1', 'job-x', 1, 'broken')`,
		}},
		"a start that does not happen": {"outbox", "fail", "Temporal", []string{
			`insert into job_slots (job_id, account, run, admitted_at) values (` + id + `, 'local', 1, now() - interval '10 minutes')`,
			`insert into outbox (workflow_id, kind, payload, due_at, attempts) values ('job-' || ` + id +
				` || '-1', 'start', 'null', now() + interval '1 minute', 9)`,
		}},
		"a fresh intent": {"outbox", "ok", "", []string{
			`insert into outbox (workflow_id, kind, payload, due_at) values ('job-y-1', 'start', 'null', now() + interval '5 seconds')`,
		}},
		"an old slot": {"slots", "warn", "millrace jobs timeline aaaaaaaa", []string{
			`insert into job_slots (job_id, account, run, admitted_at) values (` + id + `, 'local', 1, now() - interval '2 hours')`,
		}},
		"a silent job": {"stuck", "warn", "millrace jobs requeue dddddddd", []string{
			`insert into job_slots (job_id, account, run, admitted_at) values ('dddddddd-0000-4000-8000-000000000001', 'local', 1,
				now() - interval '2 hours')`,
			`insert into events (position, stream, version, id, type, account, data, meta, recorded_at) overriding system value
				values (9000, 'job-dddddddd-0000-4000-8000-000000000001', 1, gen_random_uuid(), 'node.started.v1', 'local', '{}', '{}',
					now() - interval '40 minutes')`,
		}},
		"a job that has reported something lately": {"stuck", "ok", "", []string{
			`insert into job_slots (job_id, account, run, admitted_at) values (` + id + `, 'local', 1, now() - interval '2 hours')`,
		}},
		"a paused account": {"queues", "warn", "millrace queue resume --account acme", []string{
			`insert into job_admissions (account, mode) values ('acme', 'paused')`,
		}},
		"a missing migration": {"schema", "fail", "millrace migrate", []string{
			`delete from schema_migrations where version = (select max(version) from schema_migrations)`,
		}},
		"a newer database": {"schema", "fail", "as new as the database", []string{
			`insert into schema_migrations (version, name, checksum, program) values (9999, 'later', 'x', '9.9.9')`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.append(t, good, "local", job.TypeExpired, job.ExpiredV1{})
			for _, sql := range tc.harm {
				_, err := s.pool.Exec(t.Context(), sql)
				require.NoError(t, err)
			}
			found := s.diagnosis(t)[tc.check]
			require.Equal(t, tc.status, found[0])
			require.Contains(t, found[1], tc.remedy)
		})
	}
}

func TestTheDoctorWithoutADatabaseSaysSo(t *testing.T) {
	t.Parallel()
	out, err := run(t, "doctor", "--data", "/nonexistent")
	require.ErrorContains(t, err, "checks failed")
	require.Contains(t, out, "DATABASE_URL")
	require.Contains(t, out, "the data directory /nonexistent is not on this machine")
}

// unreferenced blobs that the sweep should have removed are counted; young ones are not.
func TestTheDoctorCountsOrphanBlobs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	data := t.TempDir()
	s.extra = map[string]string{"MILLRACE_DATA": data}
	store, err := disk.Open(t.Context(), filepath.Join(data, "blobs"), disk.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	put := func(text string) blob.Ref {
		w, err := store.Create(t.Context(), blob.Durable)
		require.NoError(t, err)
		_, err = w.Write([]byte(text))
		require.NoError(t, err)
		stored, err := w.Commit(t.Context())
		require.NoError(t, err)
		return stored.Ref
	}
	orphan := put("nobody's")
	put("just written")
	require.Equal(t, "ok", s.diagnosis(t)["orphan blobs"][0])
	old := time.Now().Add(-5 * time.Hour)
	require.NoError(t, filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != orphan.Hex() {
			return err
		}
		return os.Chtimes(path, old, old)
	}))
	found := s.diagnosis(t)["orphan blobs"]
	require.Equal(t, "warn", found[0])
	require.Contains(t, found[1], "workers collect them")
	out, err := s.run(t, "doctor")
	require.Error(t, err, "there is no Temporal")
	require.Contains(t, out, "1 of 2 blobs")
}
