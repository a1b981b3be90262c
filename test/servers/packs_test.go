package servers_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/internal/sim/comfyui/classes"
	"github.com/millrace-dev/millrace/test/served"
)

// choosing is a graph with a class that waits for an answer of its client.
func choosing() served.Graph {
	return served.Graph{
		"1": served.Node("EmptyImage", map[string]any{"width": 64, "height": 64, "batch_size": 1, "color": 255}),
		"2": served.Node("easy imageChooser", map[string]any{"images": []any{"1", 0}}),
		"3": served.Node("SaveImage", map[string]any{"images": []any{"2", 0}, "filename_prefix": "chosen"}),
	}
}

// A message of a node pack reaches the sockets of the account, with the ids of the submitted graph. A class that waits for an answer is
// refused, because the operator has not allowed the route of the answer.
func TestMessagesOfPacksReachClients(t *testing.T) {
	t.Parallel()
	s := start(t, comfyui.Options{Classes: classes.Popular()})
	client := uuid.NewString()
	heard := listen(t, s.Base, client)
	status, body := s.do(http.MethodPost, "/prompt", map[string]any{"client_id": client, "prompt": served.Graph{
		"the sender": served.Node("ImpactValueSender", map[string]any{"value": 42, "link_id": 7}),
	}})
	require.Equal(t, http.StatusOK, status, body)
	text := (<-heard).text
	require.Contains(t, text, `{"type":"value-send","data":{"link_id":7,"node_id":"the sender","value":42}}`)
	require.Less(t, strings.Index(text, `"executing","data":{"node":"the sender"`), strings.Index(text, "value-send"), text)

	var queued struct {
		ID string `json:"prompt_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &queued))
	require.Equal(t, "completed", s.ended(queued.ID))
	const nothing = "the node left no file and no text that can be fetched"
	require.Contains(t, s.get("/api/v2/jobs/"+queued.ID), `"warnings":[{"code":"no_output","node_id":"the sender","message":"`+nothing+`"}]`)
	require.Contains(t, s.command("jobs", "timeline", queued.ID), "node the sender: "+nothing)
	_, page := s.do(http.MethodGet, "/console/jobs/"+queued.ID, nil)
	require.Contains(t, page, "Node the sender: "+nothing)

	status, body = s.do(http.MethodPost, "/prompt", map[string]any{"prompt": choosing()})
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "POST /easyuse/image_chooser_message; the operator allows this route with MILLRACE_PACK_ROUTES")
}

// The operator's rules allow the routes that clients use and that classes need, and no others.
func TestRoutesThatTheOperatorAllows(t *testing.T) {
	t.Parallel()
	m := simulate(t, comfyui.Options{Classes: classes.Popular(), Tooling: true})
	env := map[string]string{"MILLRACE_PACK_ROUTES": "POST /easyuse/*, POST /etn/translate/*"}
	s := &service{t: t, machines: []*comfyui.Machine{m}}
	s.Service = served.Start(t, served.Options{
		Name: "mr-routes", Args: []string{"--log", "warn", "--comfyui", m.URL()}, Patience: 2 * patience,
		Lookup: func(name string) (string, bool) {
			if value, ok := env[name]; ok {
				return value, true
			}
			return os.LookupEnv(name)
		},
	})
	s.await("the classes of the server", func() bool { return strings.Contains(s.get("/api/object_info"), "easy imageChooser") })
	id := s.submit(choosing())
	require.Equal(t, "completed", s.ended(id))
	status, _, body := s.send(http.MethodPost, "/etn/translate/de/hello", "application/json", []byte("{}"))
	require.NotContains(t, string(body), "is not relayed", "the server answers")
	require.NotEqual(t, http.StatusBadGateway, status)
	status, _, body = s.send(http.MethodPost, "/lossless/remove", "application/json", []byte("{}"))
	require.Equal(t, http.StatusNotFound, status, string(body))
}
