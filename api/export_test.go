package api

import (
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/about"
	"github.com/millrace-dev/millrace/api/assets"
	"github.com/millrace-dev/millrace/api/cloud"
	"github.com/millrace-dev/millrace/api/console"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/editor"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/live"
	"github.com/millrace-dev/millrace/api/router"
	"github.com/millrace-dev/millrace/api/webhooks"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/model/catalog"
	modelrouter "github.com/millrace-dev/millrace/internal/model/router"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
)

// Table lists method and path of every route of a service that has all parts, parameters in braces.
func Table(t *testing.T) []string {
	t.Helper()
	alone := whole()
	alone.Editor = nil // whose files lie where some routes do
	parameter := regexp.MustCompile(`[:*]([a-z_]+)`)
	var all []string
	for _, r := range append(routesOf(t, whole()), routesOf(t, alone)...) {
		path := parameter.ReplaceAllString(r.Path, "{$1}")
		all = append(all, r.Method+" "+path)
		if r.Method == "POST" && strings.HasSuffix(path, "/userdata/{file}") { // one route of the router serves both
			all = append(all, r.Method+" "+path+"/move/{dest}")
		}
	}
	return all
}

// OpenChanges lists the routes that ask for no credential and are for more than reading.
func OpenChanges(t *testing.T) []string {
	t.Helper()
	var open []string
	for _, r := range routesOf(t, whole()) {
		if r.Access == edge.Public && r.Method != http.MethodGet && r.Method != http.MethodHead {
			open = append(open, r.Method+" "+r.Path)
		}
	}
	slices.Sort(open)
	return open
}

func routesOf(t *testing.T, deps Deps) []edge.Route {
	t.Helper()
	classes, err := node.NewRegistry()
	require.NoError(t, err)
	deps.Classes = classes
	s, err := assemble(deps, Options{})
	require.NoError(t, err)
	return s.routes
}

// whole are the parts of a service that has all of them; none is ever called.
func whole() Deps {
	return Deps{
		Auth: account.Anyone{}, Logger: slog.New(slog.DiscardHandler), Readiness: struct{ about.Readiness }{},
		Jobs: struct{ Commands }{}, Reader: struct{ JobReader }{}, Queue: struct{ JobQueue }{}, Sources: struct{ cloud.Sources }{}, Links: struct{ jobio.Links }{},
		Live: struct{ live.Source }{}, Logs: &job.Logs{}, History: struct{ cloud.History }{},
		NodeFiles: struct{ editor.NodeFiles }{}, Userdata: struct{ editor.Userdata }{},
		Files: struct{ Files }{}, Grants: &signedurl.Signer{}, Assets: struct{ assets.Assets }{}, AssetView: struct{ assets.AssetReader }{},
		Keys: struct{ Keys }{}, Exports: struct{ assets.Exports }{}, Downloads: struct{ assets.Downloads }{},
		Router:   &ModelRouter{Models: &modelrouter.Offers{}, Calls: struct{ router.Calls }{}, Cursors: &catalog.Cursors{}},
		Console:  &Console{},
		Editor:   &Editor{Files: struct{ console.EditorFiles }{}, Sealer: struct{ edge.Sealer }{}},
		Webhooks: &webhooks.Deps{Endpoints: struct{ webhooks.Commands }{}, Deliveries: struct{ webhooks.DeliveryReader }{}},
	}
}
