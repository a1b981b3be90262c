package edge_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/api/cloud"
	"github.com/millrace-dev/millrace/api/webhooks"
	"github.com/millrace-dev/millrace/internal/domain/account"
)

// A NUL character is refused in whatever is recorded beside a graph, in queries and in sockets: the database compares
// no text that holds one. Texts inside a graph keep it.
func TestNULIsRefusedOutsideOfGraphs(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	for _, body := range []string{
		`{"prompt":{},"client_id":"a\u0000"}`, `{"prompt":{},"extra_data":{"x":"\u0000"}}`, `{"prompt":{},"extra_data":{"\u0000":1}}`,
		`{"prompt":{},"extra_data":{"x":{"y":["\\\u0000"]}}}`, `{"prompt":{},"partial_execution_targets":["\u0000"]}`,
	} {
		got := h.Do(t, "POST", "/api/prompt", body)
		require.Equal(t, http.StatusBadRequest, got.Status, body)
		require.Contains(t, got.Body, "NUL", body)
	}
	for body, status := range map[string]int{
		`{"workflow":{},"metadata":{"a":"\u0000"}}`:                      http.StatusUnprocessableEntity,
		`{"workflow":{},"metadata":{"\u0000":"a"}}`:                      http.StatusUnprocessableEntity,
		`{"workflow":{},"extra_data":{"extra_pnginfo":{"x":"\u0000"}}}`:  http.StatusBadRequest,
		`{"workflow":{},"extra_data":{"extra_pnginfo":{"x":"\\u0000"}}}`: http.StatusCreated, // a backslash, and no NUL
	} {
		require.Equal(t, status, h.Do(t, "POST", "/api/v2/jobs", body).Status, body)
	}
	graph := `{"1":{"class_type":"A","inputs":{"text":"a\u0000b"}}}`
	require.Equal(t, http.StatusOK, h.Do(t, "POST", "/api/prompt", `{"prompt":`+graph+`}`).Status)
	require.Equal(t, graph, string(h.Jobs.Last().Prompt))
	for _, path := range []string{
		"/api/jobs?workflow_id=%00", "/api/v2/jobs?metadata.a=%00", "/api/v2/jobs?metadata.%00=a", "/api/history?x=%00", "/ws?clientId=%00",
	} {
		got := h.Do(t, "GET", path, "")
		require.Equal(t, http.StatusBadRequest, got.Status, "%s: %s", path, got.Body)
	}
	require.Equal(t, http.StatusNotFound, h.Do(t, "GET", "/api/job/%00/status", "").Status)
}

// The cost of a body is bounded by its values and by its depth, and not by its bytes alone.
func TestJSONIsBoundedInMembersAndDepth(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{MaxPrompt: 64 << 20})
	many := strings.Repeat("[],", 1_000_000) + "[]"
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for name, c := range map[string]struct{ path, body string }{
		"a prompt of many members":     {"/api/prompt", `{"prompt":{"1":[` + many + `]}}`},
		"extra_data of many members":   {"/api/prompt", `{"prompt":{},"extra_data":{"x":[` + many + `]}}`},
		"a workflow of many members":   {"/api/v2/jobs", `{"workflow":{"1":[` + many + `]}}`},
		"a deep prompt":                {"/api/prompt", `{"prompt":{"1":` + deep + `}}`},
		"deep extra_data":              {"/api/v2/jobs", `{"workflow":{},"extra_data":{"extra_pnginfo":{"x":` + deep + `}}}`},
		"an ordinary body, deep":       {"/api/queue", `{"delete":` + deep + `}`},
		"an ordinary body of many":     {"/api/queue", `{"delete":[` + many[:600_000] + `[]]}`},
		"many members of empty names":  {"/api/queue", `{` + strings.Repeat(`"":0,`, 200_000) + `"":0}`},
		"many behind white space only": {"/api/queue", `[` + strings.Repeat("[ ],", 200_000) + `[ ]]`},
	} {
		got := h.Do(t, "POST", c.path, c.body)
		require.Equal(t, http.StatusBadRequest, got.Status, "%s: %.200s", name, got.Body)
		require.Regexp(t, "more than [0-9]+ members|deeper than 128 levels", got.Body, name)
	}
	models := apitest.StartRouter(t, apitest.Options{}, apitest.Refusing{})
	got := models.Do(t, "POST", "/v2/models/sim/echo/estimate", `{"prompt":"x","more":[`+many+`]}`)
	require.Equal(t, http.StatusBadRequest, got.Status, "%.200s", got.Body)
	require.Equal(t, "invalid_input", got.JSON(t)["error_type"])
	require.Equal(t, http.StatusOK, h.Do(t, "POST", "/api/queue", `{"delete":["{[,"]}`).Status, "what stands in a text does not count")
}

// null is no empty object: an interrupt without a body stops everything.
func TestNullIsNoBody(t *testing.T) {
	t.Parallel()
	h := apitest.StartWith(t, apitest.Options{}, func(d *apitest.Deps) { // what is asked of these ends in a panic
		d.History = struct{ cloud.History }{}
		d.Webhooks = &webhooks.Deps{Endpoints: struct{ webhooks.Commands }{}, Deliveries: struct{ webhooks.DeliveryReader }{}}
	})
	hook := "/api/v2/webhooks/" + uuid.NewString()
	for _, path := range []string{
		"/api/interrupt", "/api/queue", "/api/history", "/api/jobs/cancel", "/api/v2/jobs", "/api/v2/webhooks", hook + "/secret",
	} {
		for _, body := range []string{"null", " null\n"} {
			require.Equal(t, http.StatusBadRequest, h.Do(t, "POST", path, body).Status, path)
		}
	}
	require.Equal(t, http.StatusBadRequest, h.Do(t, "PATCH", hook, "null").Status, "nothing is changed")
	require.Equal(t, http.StatusOK, h.Do(t, "POST", "/api/interrupt", "").Status, "the body may be left out")
}

// Whoever has no key reads which contract is followed, and nothing of the machine.
func TestSystemStatsWithoutAKey(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{Mode: account.ModeToken, Version: "1.2.3"})
	system := func(headers ...string) map[string]any {
		got := h.Do(t, "GET", "/api/system_stats", "", headers...)
		require.Equal(t, http.StatusOK, got.Status)
		return got.JSON(t)["system"].(map[string]any)
	}
	known, unknown := system("X-API-Key", "s3cret"), system()
	require.Equal(t, "1.2.3", known["cloud_version"])
	require.Positive(t, known["ram_total"])
	require.Equal(t, known["comfyui_version"], unknown["comfyui_version"])
	require.Zero(t, unknown["ram_total"])
	require.NotContains(t, unknown["cloud_version"], "1.2.3")
	require.Equal(t, unknown, system("X-API-Key", "wrong"))
	require.Positive(t, apitest.Start(t, apitest.Options{}).Do(t, "GET", "/system_stats", "").JSON(t)["system"].(map[string]any)["ram_total"],
		"in mode none, everybody")
}

// Allow names the methods of a path, wherever a method is refused.
func TestAllowListsTheMethodsOfThePath(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	for target, want := range map[string]string{
		"PUT /api/v2/jobs": "POST, GET, HEAD", "GET /api/userdata/a/move/b": "POST", "DELETE /api/userdata/a/move/b": "POST",
		"POST /api/view": "GET, HEAD",
		// not the methods of routes whose parameter would match: of /assets/:id and /jobs/:id
		"PUT /api/jobs/cancel": "POST", "PUT /jobs/cancel": "POST", "PATCH /api/v2/assets/from-hash": "POST",
		"PATCH /api/assets/from-hash": "POST", "PATCH /api/assets/import": "POST", "POST /api/assets/remote-metadata": "GET, HEAD",
		"PUT /api/jobs/x": "GET, HEAD", "PATCH /api/v2/assets/x": "GET, HEAD, DELETE",
	} {
		method, path, _ := strings.Cut(target, " ")
		res := h.Do(t, h.Request(t, method, path, "key-a", nil))
		require.Equal(t, http.StatusMethodNotAllowed, res.Status, target)
		require.ElementsMatch(t, strings.Split(want, ", "), strings.Split(res.Header.Get("Allow"), ", "), target)
	}
}

// A client that breaks the rules of WebSocket receives a close code that names it.
func TestRefusedSocketsNameTheReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message []byte
		code    int
	}{
		"not UTF-8": {[]byte{'a', 0xff}, websocket.CloseInvalidFramePayloadData},
		"too large": {make([]byte, 65<<10), websocket.CloseMessageTooBig},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := apitest.Start(t, apitest.Options{})
			conn := h.Dial(t, "")
			require.NoError(t, conn.WriteMessage(websocket.TextMessage, c.message))
			require.Equal(t, c.code, apitest.CloseOf(t, conn).Code)
		})
	}
}

// Of a name that leads inside, a client learns no more than of one that does not exist.
func TestPrivateHostNamesAnswerLikeUnknownOnes(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	answer := func(address string) string {
		got := h.Get(t, "/api/assets/remote-metadata?url="+url.QueryEscape(address), "key-a")
		require.Equal(t, http.StatusBadRequest, got.Status)
		return got.Body
	}
	require.Equal(t, answer("https://does-not-exist.invalid/x"), answer("https://localhost:1/x"))
}
