package admin

import (
	"net/http"
	"slices"
	"strings"
)

// hooks stands for webhooks where nothing is asked of them.
type (
	anyHooks = Webhooks
	hooks    struct{ anyHooks }
)

// tales stands for histories of which nothing is asked.
type (
	anyTales = Histories
	tales    struct{ anyTales }
)

// pool stands for servers of which nothing is asked.
type (
	anyServers = Servers
	pool       struct{ anyServers }
)

// Table lists every route by method and path with the query parameters that it reads, in order.
func Table() map[string][]string {
	s := &server{Deps: Deps{Webhooks: hooks{}, Servers: pool{}, JobHistories: tales{}, CallHistories: tales{}, AssetHistories: tales{}, Metrics: http.NotFoundHandler()}}
	all := map[string][]string{}
	for pattern, rt := range s.table() {
		names := []string{}
		for _, name := range rt.query {
			names = append(names, strings.TrimSuffix(name, "..."))
		}
		slices.Sort(names)
		method, path, _ := strings.Cut(pattern, " ")
		all[method+" "+Prefix+path] = names
	}
	return all
}
