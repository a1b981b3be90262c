package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	echo      = "/v2/models/sim/echo"
	requestID = `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`
)

// newMember makes an account that may run models, and returns its name as well.
func newMember(t *testing.T) (*client, *service, string) {
	t.Helper()
	s := start(t)
	name := fmt.Sprint(t.Name(), time.Now().UnixNano())
	s.Run(t, "accounts", "create", name, "--tier", "creator")
	return &client{t: t, base: s.Base, key: s.Run(t, "keys", "create", "--account", name)}, s, name
}

// turnedDown checks what every failure of the router has, in both families of headers.
func turnedDown(t *testing.T, r reply, status int, errorType string) {
	t.Helper()
	require.Equal(t, status, r.status, r.body)
	require.Equal(t, errorType, r.header.Get("X-Service-Error-Type"))
	require.Equal(t, errorType, r.header.Get("X-Comfy-Error-Type"))
	identified(t, r)
	if status != http.StatusUnprocessableEntity {
		require.Equal(t, errorType, decode(t, r.body)["error_type"])
		require.NotEmpty(t, decode(t, r.body)["detail"])
	}
}

// identified checks the request's id, which is on every answer.
func identified(t *testing.T, r reply) {
	t.Helper()
	require.Regexp(t, requestID, r.header.Get("X-Service-Request-Id"))
	require.Equal(t, r.header.Get("X-Service-Request-Id"), r.header.Get("X-Comfy-Request-Id"))
	require.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"))
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	whole := c.do("GET", "/v2/models?limit=1000&all=true", "")
	identified(t, whole)
	list := decode(t, whole.body)
	require.EqualValues(t, 100, list["limit"])
	var all []string
	for {
		for _, each := range list["data"].([]any) {
			m := each.(map[string]any)
			require.Equal(t, m["id"], fmt.Sprint(m["provider"], "/", m["model"]))
			all = append(all, m["id"].(string))
		}
		if list["has_more"] == false {
			break
		}
		require.Len(t, list["data"], 100, "a page before the last one is full")
		list = c.json("GET", "/v2/models?limit=1000&all=true&cursor="+url.QueryEscape(list["next_cursor"].(string)), "")
	}
	require.NotContains(t, list, "next_cursor")
	require.GreaterOrEqual(t, len(all), 12)
	require.Contains(t, all, "sim/echo")
	var walked []string
	for next := "/v2/models?limit=5&all=true"; next != ""; {
		page := c.json("GET", next, "")
		require.LessOrEqual(t, len(page["data"].([]any)), 5)
		for _, m := range page["data"].([]any) {
			walked = append(walked, m.(map[string]any)["id"].(string))
		}
		next = ""
		if page["has_more"] == true {
			next = "/v2/models?limit=5&all=true&cursor=" + url.QueryEscape(page["next_cursor"].(string))
		}
	}
	require.Equal(t, all, walked)
	for query, limit := range map[string]int{"": 20, "?limit=0": 20, "?limit=-3": 20, "?limit=7": 7, "?limit=99999999999999999999": 100} {
		require.EqualValues(t, limit, c.json("GET", "/v2/models"+query, "")["limit"], query)
	}
	for _, query := range []string{
		"cursor=", "cursor=!", "cursor=MQ", "cursor=" + strings.Repeat("a", 513),
		"cursor=" + strings.Repeat("QUJD", 20), "limit=ten", "limit=1.5", "limit=",
	} {
		turnedDown(t, c.do("GET", "/v2/models?"+query, ""), 400, "invalid_input")
	}
	tag := whole.header.Get("ETag")
	same := c.do("GET", "/v2/models?limit=1000&all=true", "", "If-None-Match", tag)
	require.Equal(t, 304, same.status)
	require.Equal(t, tag, same.header.Get("ETag"))
	require.Empty(t, same.body)
	identified(t, same)
	require.Equal(t, 200, c.do("GET", "/v2/models?limit=4", "", "If-None-Match", tag).status)
}

func TestAModelAndItsSchemaAreRead(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	got := c.do("GET", echo, "")
	identified(t, got)
	// the service is not on https
	require.JSONEq(t, `{"id":"sim/echo","provider":"sim","model":"echo","billing":{"charges_on_policy_rejection":"no"},`+
		`"alternates":["runware"]}`, got.body)
	for _, id := range []string{"sim/ecko", "sim/ECHO", "smi/echo"} {
		r := c.do("GET", "/v2/models/"+id, "")
		turnedDown(t, r, 404, "model_not_found")
		require.Contains(t, decode(t, r.body)["detail"], "sim/echo")
	}
	for _, path := range []string{
		"/v2/models/nobody/nothing-like-this-at-all", "/v2/models/sim/echo/fast", "/v2/models/sim/echo%2Ffast",
		"/v2/nothing",
	} {
		turnedDown(t, c.do("GET", path, ""), 404, "model_not_found")
	}
	turnedDown(t, c.do("GET", "/v1/models/sim", ""), 401, "unauthorized") // a key opens nothing there
	turnedDown(t, c.do("DELETE", echo, ""), 405, "invalid_input")
	schema := c.do("GET", echo+"/openapi.json", "")
	identified(t, schema)
	tag := schema.header.Get("ETag")
	require.Regexp(t, `^"[^"]+"$`, tag) // strong
	require.Contains(t, schema.header.Get("Cache-Control"), "private")
	require.Contains(t, schema.header.Get("Cache-Control"), "must-revalidate")
	require.Equal(t, true, decode(t, schema.body)["x-service-input-schema-authored"])
	require.Equal(t, true, decode(t, schema.body)["x-comfy-input-schema-authored"])
	require.Equal(t, false, c.json("GET", "/v2/models/sim/open/openapi.json", "")["x-service-input-schema-authored"])
	for _, match := range []string{tag, "W/" + tag, `"other", ` + tag, `"other",W/` + tag + `, "more"`, "*"} {
		r := c.do("GET", echo+"/openapi.json", "", "If-None-Match", match)
		require.Equal(t, 304, r.status, match)
		require.Empty(t, r.body)
		require.Equal(t, tag, r.header.Get("ETag"))
		require.Equal(t, schema.header.Get("Cache-Control"), r.header.Get("Cache-Control"))
		identified(t, r)
	}
	require.Equal(t, 200, c.do("GET", echo+"/openapi.json", "", "If-None-Match", `"other"`).status)
}

func TestKeysOfTheRouter(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	ask := func(headers ...string) reply {
		req, err := http.NewRequestWithContext(t.Context(), "GET", c.base+"/v2/models", nil)
		require.NoError(t, err)
		for i := 0; i+1 < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		return c.send(req)
	}
	require.Equal(t, 200, ask("X-API-Key", c.key).status)
	require.Equal(t, 200, ask("Authorization", "Bearer "+c.key).status)
	for _, headers := range [][]string{
		{},
		{"X-API-Key", "wrong"},
		{"Authorization", "Bearer wrong"},
		{"Authorization", "Basic " + c.key},
		{"X-API-Key", "wrong", "Authorization", "Bearer " + c.key},
		{"Authorization", "Bearer comfyui-wrong"},
		{"Authorization", "Bearer a.b.c"},
	} {
		r := ask(headers...)
		turnedDown(t, r, 401, "unauthorized")
		require.Equal(t, "Bearer", r.header.Get("WWW-Authenticate"))
	}
	turnedDown(t, c.do("GET", "/v1/models", ""), 401, "unauthorized") // a key is no token
}
