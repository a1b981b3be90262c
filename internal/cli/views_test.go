package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

func TestResumedStreamRecordsActorAndReason(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.append(t, good, "local", job.TypeExpired, job.ExpiredV1{})
	s.fold(t)
	_, err := s.pool.Exec(t.Context(), `insert into halted_streams (projection, stream, position, error) values ('jobs_v1', $1, $2, 'broken')`,
		good.Stream(), s.last)
	require.NoError(t, err)
	out, err := s.run(t, "views", "resume", "jobs_v1", good.Stream(), "--reason", "mended")
	require.NoError(t, err)
	require.Contains(t, out, "continues with")
	var halted int
	require.NoError(t, s.pool.QueryRow(t.Context(), `select count(*) from halted_streams`).Scan(&halted))
	require.Zero(t, halted)
	var data, reason string
	require.NoError(t, s.pool.QueryRow(t.Context(), `select data->>'stream', meta->>'reason' from events
		where stream = 'view-jobs_v1'`).Scan(&data, &reason))
	require.Equal(t, good.Stream(), data)
	require.Equal(t, "mended", reason)
}
