package operators_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

func TestOperatorsSeeServersInTheConsole(t *testing.T) {
	b := start(t)
	m := b.server(comfyui.Options{Step: 20 * time.Millisecond}, nil)
	operator := b.signIn(adminToken)
	require.NotContains(t, operator, adminToken, "the token itself is not in the cookie")
	// section is the part of the page that shows the server of the test.
	section := func() string {
		status, body := b.page(operator, "/console/servers")
		require.Equal(t, http.StatusOK, status)
		_, rest, _ := strings.Cut(body, m.URL()+"<")
		part, _, _ := strings.Cut(rest, "</section>")
		return part
	}
	b.await("the server", func() bool { return strings.Contains(section(), ">healthy<") })
	require.Contains(t, section(), `<rect class="bar"`, "memory as bars")
	require.Contains(t, section(), b.label)

	runs := b.submit(served.Text2Img(1, 9000)) // until it is interrupted
	b.await("what runs", func() bool { return strings.Contains(section(), runs) })
	require.Contains(t, section(), ">busy<")
	waits := b.submit(served.Text2Img(2, 1))
	b.await("what waits, and why", func() bool {
		_, body := b.page(operator, "/console/servers")
		_, queue, _ := strings.Cut(body, "<h2>Waiting</h2>")
		return strings.Contains(queue, waits) && strings.Contains(queue, "busy")
	})
	b.command("servers", "drain", m.URL(), "--reason", "driver update")
	b.await("the drained server", func() bool { return strings.Contains(section(), ">draining<") })
	require.Contains(t, section(), "An operator drained the server")

	status, body := b.page(b.signIn(b.key), "/console/servers")
	require.Equal(t, http.StatusForbidden, status, "accounts do not see servers")
	require.NotContains(t, body, m.URL())
	status, body = b.page("", "/console/servers")
	require.Equal(t, http.StatusUnauthorized, status)
	require.NotContains(t, body, m.URL())
	require.Empty(t, b.signIn("operators-onlY"))
	status, _ = b.page(operator, "/console/jobs/"+runs)
	require.Equal(t, http.StatusOK, status, "an operator's link to a job needs no account")
	b.do(http.MethodPost, "/api/interrupt", map[string]any{})
	b.do(http.MethodPost, "/api/queue", map[string]any{"clear": true})
}
