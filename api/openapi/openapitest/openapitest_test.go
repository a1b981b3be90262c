package openapitest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/openapi/openapitest"
)

// notes gathers what is reported.
type notes []string

func (n *notes) Errorf(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }

// lying answers every request with a body that GET /user does not have.
func lying(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"status":"elsewhere"}`) // the test reads what arrives
}

func TestHandlerAndTransportReportWrongAnswers(t *testing.T) {
	t.Parallel()
	var inside, outside notes
	server := httptest.NewServer(openapitest.Handler(&inside, "/below", http.HandlerFunc(lying)))
	defer server.Close()
	client := &http.Client{Transport: openapitest.Transport(&outside, http.DefaultTransport)}
	get := func(path string) {
		res, err := client.Get(server.URL + path)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	get("/below/api/user")
	require.Len(t, inside, 1)
	require.Contains(t, inside[0], "GET /user")
	require.Len(t, outside, 1, "a client knows nothing of the prefix")
	get("/user")
	require.Len(t, inside, 2)
	require.Len(t, outside, 2)
	get("/nowhere")
	require.Contains(t, outside[2], "not documented")
}
