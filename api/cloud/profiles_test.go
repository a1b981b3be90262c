package cloud_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
)

// Profiles show memory and code. They are for the internal address.
func TestClientsAreServedNoProfiles(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile", "/debug/pprof/cmdline"} {
		answer := h.Do(t, http.MethodGet, path, "")
		require.Equal(t, http.StatusNotFound, answer.Status, path)
	}
}
