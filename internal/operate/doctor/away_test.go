package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/operate/doctor"
)

// A Temporal that keeps its state in the PostgreSQL that is away is not what has to be mended.
func TestTemporalIsNotBlamedWhenPostgreSQLIsAway(t *testing.T) {
	t.Parallel()
	temporal := doctor.Finding{Check: "temporal", Status: doctor.Failing, Detail: "no answer", Remedy: "start Temporal"}
	found := doctor.WithoutDatabase([]doctor.Finding{{Check: "database", Status: doctor.Failing}, temporal})
	require.Contains(t, found[1].Detail, "PostgreSQL is away, too")
	require.Contains(t, found[1].Remedy, "start PostgreSQL first")
	found = doctor.WithoutDatabase([]doctor.Finding{{Check: "database", Status: doctor.Healthy}, temporal})
	require.Equal(t, temporal, found[1])
	healthy := doctor.Finding{Check: "temporal", Status: doctor.Healthy, Detail: "it answers"}
	found = doctor.WithoutDatabase([]doctor.Finding{{Check: "database", Status: doctor.Failing}, healthy})
	require.Equal(t, healthy, found[1])
}
