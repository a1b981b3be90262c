package app_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/openapi/openapitest"
	"github.com/millrace-dev/millrace/internal/app"
)

// TestEveryRouteIsDocumentedAndEveryOperationServed compares the router's table with the document.
func TestEveryRouteIsDocumentedAndEveryOperationServed(t *testing.T) {
	t.Parallel()
	doc, err := openapitest.Load()
	require.NoError(t, err)
	documented := map[string]bool{}
	for _, op := range doc.Operations() {
		for _, route := range op.Routes {
			documented[op.Method+" "+route] = true
		}
	}
	served := map[string]bool{}
	for _, route := range app.Table(t) {
		served[route] = true
		if _, path, _ := strings.Cut(route, " "); strings.HasPrefix(path, "/console") || strings.HasPrefix(path, "/editor") || path == "/" {
			continue // pages for people, no API
		}
		require.True(t, documented[route], "%s is not in the document: add it to a file under api/openapi", route)
	}
	for operation := range documented {
		if strings.Contains(operation, " /admin/") {
			continue // the admin API is another handler, with a listener and tests of its own
		}
		require.True(t, served[operation], "%s is in the document but not served", operation)
	}
}

// What is wrapped with a credential is wrapped with the check of where a cookie comes from, so no route that
// changes something may go without; the forms of pages check for themselves.
func TestAdminChangesNeedACredential(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"POST /console/accounts", "POST /console/accounts/:account", "POST /console/accounts/:account/credit",
		"POST /console/accounts/:account/keys", "POST /console/accounts/:account/keys/revoke", "POST /console/assets/:id/delete",
		"POST /console/calls/:id/cancel", "POST /console/deliveries/replay", "POST /console/deploy",
		"POST /console/deploy/add", "POST /console/deployments/:name/code", "POST /console/deployments/:name/delete",
		"POST /console/deployments/:name/promote", "POST /console/deployments/:name/rollback", "POST /console/deployments/:name/run",
		"POST /console/deployments/:name/shadow",
		"POST /console/deployments/:name/start", "POST /console/deployments/:name/stop", "POST /console/doctor",
		"POST /console/jobs/:id/cancel", "POST /console/jobs/:id/retry", "POST /console/jobs/bulk", "POST /console/keys",
		"POST /console/keys/revoke", "POST /console/models/:provider/:model/:variant/price",
		"POST /console/models/:provider/:model/:variant/run", "POST /console/models/:provider/:model/price",
		"POST /console/models/:provider/:model/run",
		"POST /console/pools/:pool", "POST /console/queues", "POST /console/run", "POST /console/run/queue",
		"POST /console/servers", "POST /console/servers/:id/:change",
		"POST /console/sessions/:session/end", "POST /console/signin", "POST /console/signout",
		"POST /console/views/:view/rebuild", "POST /console/views/:view/resume", "POST /console/webhooks",
		"POST /console/webhooks/:id/:change",
		"POST /console/weights/:weight/remove", "POST /editor/signin", "POST /editor/signout",
	}, app.OpenChanges(t))
}
