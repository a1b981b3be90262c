package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// A deployment without workers is unhealthy, even while Temporal still remembers them.
func TestDoctorReportsMissingWorkers(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	workforce := func() doctor.Finding {
		for _, c := range doctor.DatabaseChecks(pool, nil) {
			if c.Name == "workforce" {
				return doctor.RunChecks(t.Context(), []doctor.Check{c})[0]
			}
		}
		t.Fatal("there is no such check")
		return doctor.Finding{}
	}
	f := workforce()
	require.Equal(t, doctor.Failing, f.Status)
	require.Equal(t, "0 admitted jobs, no worker", f.Detail)
	require.Contains(t, f.Remedy, "millrace serve --roles worker")

	_, err := pool.Exec(t.Context(), `insert into workers values ('host/1', now())`)
	require.NoError(t, err)
	require.Equal(t, doctor.Healthy, workforce().Status)
}
