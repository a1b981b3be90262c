package api

import (
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// Table lists method and path of every route of a service that has all parts, parameters in braces.
func Table(t *testing.T) []string {
	t.Helper()
	whole, alone := whole(), whole()
	alone.Editor = nil // whose files lie where some routes do
	parameter := regexp.MustCompile(`[:*]([a-z_]+)`)
	var all []string
	for _, r := range append(whole.routes(), alone.routes()...) {
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
	for _, r := range whole().routes() {
		if r.Access == edge.Public && r.Method != http.MethodGet && r.Method != http.MethodHead {
			open = append(open, r.Method+" "+r.Path)
		}
	}
	slices.Sort(open)
	return open
}

// whole is a service that has all parts.
func whole() *server {
	s := &server{Deps: Deps{Auth: account.Anyone{}, Logger: slog.New(slog.DiscardHandler)}}
	s.Classes, s.Files, s.Assets = &node.Registry{}, struct{ Files }{}, struct{ Assets }{}
	s.Logs, s.Router = struct{ Logs }{}, &ModelRouter{}
	s.Userdata, s.History, s.Exports = struct{ Userdata }{}, struct{ History }{}, struct{ Exports }{}
	s.Webhooks = &Webhooks{Endpoints: struct{ WebhookEndpoints }{}, Deliveries: struct{ WebhookDeliveries }{}}
	s.Console = &Console{}
	s.Editor = &Editor{Files: struct{ EditorFiles }{}, Sealer: struct{ edge.Sealer }{}}
	s.opts.setDefaults()
	return s
}
