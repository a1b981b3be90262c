package admin

import (
	"net/http"
	"slices"
	"strings"
)

// Table lists every route by method and path with the query parameters that it reads, in order.
func Table() map[string][]string {
	s := &server{Deps: Deps{Metrics: http.NotFoundHandler()}}
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
