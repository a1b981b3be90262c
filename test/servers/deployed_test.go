package servers_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/test/served"
)

// callsByClass calls a deployment whose nodes run on a server as a node of a graph. Clients see the node that calls; the account's own
// people and operators see the graph that ran.
func (s *service) callsByClass() {
	t := s.t
	t.Helper()
	status, body := s.do(http.MethodPost, "/admin/accounts/local/deployments", map[string]any{
		"actor": "kim", "reason": "a test", "name": "drawn", "document": served.Text2Img(1, 2),
		"inputs": []string{"seed=5.seed", "text=2.text"}, "outputs": []string{"picture=7"},
	})
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, s.get("/api/object_info/Deployment.drawn"), `"seed"`)
	inverted := func(g served.Graph, picture []any) served.Graph {
		g["21"] = served.Node("ImageInvert", map[string]any{"image": picture})
		g["22"] = served.Node("SaveImage", map[string]any{"images": []any{"21", 0}, "filename_prefix": "by-class"})
		return g
	}
	before := len(s.machines[0].Runs())
	id := s.submit(inverted(served.Graph{
		"drawing": served.Node("Deployment.drawn", map[string]any{"seed": 77, "text": "a dog"}),
	}, []any{"drawing", 0}))
	require.Equal(t, "completed", s.ended(id), s.get("/api/jobs/"+id))
	require.Greater(t, len(s.machines[0].Runs()), before, "the version ran on the server")
	require.Len(t, s.images(id), 1, "a node of the version saves nothing")

	plain := served.Text2Img(77, 2)
	plain["2"] = served.Node("CLIPTextEncode", map[string]any{"text": "a dog", "clip": []any{"1", 1}})
	delete(plain, "7")
	same := s.submit(inverted(plain, []any{"6", 0}))
	require.Equal(t, "completed", s.ended(same))
	require.Equal(t, s.pixels(same), s.pixels(id))

	const inner = "drawing:5" // no part of a time, as a number in place of the word could be
	for _, path := range []string{"/api/v2/jobs/", "/api/jobs/", "/api/history/", "/api/history_v2/"} {
		require.NotContains(t, s.get(path+id), inner, path)
	}
	for _, path := range []string{"/events", "/workflow", "/logs"} {
		require.NotContains(t, s.get("/api/v2/jobs/"+id+path), inner, path)
	}
	require.Contains(t, s.get("/console/jobs/"+id), inner)
	require.Contains(t, s.get(fmt.Sprintf("/console/jobs/%s?node=%s", id, inner)), "KSampler")
	require.Contains(t, s.command("jobs", "events", id), inner)
}

// pixels returns the pixels of the only picture of a job, as its file has them.
func (s *service) pixels(id string) string {
	s.t.Helper()
	names := s.images(id)
	require.Len(s.t, names, 1)
	file := s.get("/api/view?type=output&filename=" + strings.TrimPrefix(names[0], "/"))
	return file[strings.Index(file, "IDAT"):] // what precedes them is the graph
}
