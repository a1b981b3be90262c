package e2e_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func TestFourWaysToCallADeploymentAreOneCall(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	c.deploy("portrait", 16, "")
	tools := c.tools(nil)
	ways := map[string]func(key string) string{
		"v2": func(key string) string {
			r, made := c.call("portrait", `{"width":24,"color":7}`, "Idempotency-Key", key)
			require.Equal(t, http.StatusCreated, r.status, r.body)
			return c.picture(made["id"].(string))
		},
		"router": func(key string) string {
			r := c.do("POST", portraitModel, `{"width":24,"color":7}`, "Idempotency-Key", key)
			require.Equal(t, http.StatusOK, r.status, r.body)
			file := decode(t, r.body)["outputs"].(map[string]any)["picture"].([]any)[0].(map[string]any)
			return c.do("GET", file["url"].(string), "").body
		},
		"openai": func(key string) string {
			r := c.do("POST", "/openai/v1/images/generations", `{"model":"portrait","width":24,"color":7}`, "Idempotency-Key", key)
			require.Equal(t, http.StatusOK, r.status, r.body)
			raw, err := base64.StdEncoding.DecodeString(decode(t, r.body)["data"].([]any)[0].(map[string]any)["b64_json"].(string))
			require.NoError(t, err)
			return string(raw)
		},
		"mcp": func(key string) string {
			made := c.ask(tools, "portrait", map[string]any{"width": 24, "color": 7}, mcp.Meta{"idempotencyKey": key})
			require.False(t, made.IsError, made.Content)
			return string(made.Content[0].(*mcp.ImageContent).Data)
		},
	}
	history := func() []any {
		return c.json("GET", "/deployment/portrait/api/v2/jobs?limit=100", "")["jobs"].([]any)
	}
	want := ways["v2"](uuid.NewString())
	require.Equal(t, "\x00\x00\x00\x18", want[16:20], "the width in the header of the PNG")
	for name, way := range ways {
		require.Equal(t, want, way(uuid.NewString()), name)
	}
	require.Len(t, history(), 1+len(ways), "all are in the history of the deployment")

	key := uuid.NewString()
	for range 2 {
		for _, name := range []string{"router", "openai", "mcp"} {
			require.Equal(t, want, ways[name](key), name)
		}
	}
	require.Len(t, history(), 2+len(ways), "one key is one job, and one charge")
	require.Equal(t, want, ways["v2"](key), "the v2 contract answers a key once")
	r, _ := c.call("portrait", `{"width":24,"color":7}`, "Idempotency-Key", key)
	require.Equal(t, http.StatusUnprocessableEntity, r.status, r.body)
	require.Len(t, history(), 2+len(ways))
}

// picture returns the first output of a job that succeeds.
func (c *client) picture(id string) string {
	c.t.Helper()
	ended := c.ended("/api/v2/jobs/" + id)
	j := decode(c.t, ended.body)
	require.Equal(c.t, "succeeded", j["status"], ended.body)
	return c.do("GET", j["outputs"].([]any)[0].(map[string]any)["url"].(string), "").body
}
