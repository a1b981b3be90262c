package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/operate/doctor"
)

// If a PostgreSQL that Temporal shares is down, the remedy is to start PostgreSQL, not Temporal.
func TestTemporalIsNotBlamedWhenPostgreSQLIsAway(t *testing.T) {
	t.Parallel()
	temporal := doctor.Finding{Check: "temporal", Status: doctor.Failing, Detail: "no answer", Remedy: "start Temporal"}
	found := doctor.WithoutDatabase([]doctor.Finding{{Check: "database", Status: doctor.Failing}, temporal})
	require.Contains(t, found[1].Detail, "PostgreSQL does not answer either")
	require.Contains(t, found[1].Remedy, "start PostgreSQL first")
	found = doctor.WithoutDatabase([]doctor.Finding{{Check: "database", Status: doctor.Healthy}, temporal})
	require.Equal(t, temporal, found[1])
	healthy := doctor.Finding{Check: "temporal", Status: doctor.Healthy, Detail: "it answers"}
	found = doctor.WithoutDatabase([]doctor.Finding{{Check: "database", Status: doctor.Failing}, healthy})
	require.Equal(t, healthy, found[1])
}
