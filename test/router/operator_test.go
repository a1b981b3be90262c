package router_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// operate calls the admin API.
func (c *client) operate(method, path, body string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+"/admin"+path, strings.NewReader(body))
	require.NoError(c.t, err)
	req.Header.Set("Authorization", "Bearer "+adminToken)
	return c.send(req)
}

// events returns the number of events of that type with this actor and reason, in streams of accounts.
func (c *client) events(eventType, id string) int {
	return c.count(c.t, "millrace", `select count(*) from events where type = '`+eventType+`' and stream = 'account-' || $1
		and meta->>'actor' = 'admin:kim' and meta->>'reason' = 'ticket 4' and meta->>'request_id' <> ''`, id)
}

func TestOperatorsSuspendOverHTTP(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.id(t)
	require.Equal(t, 400, c.operate("PATCH", "/accounts/"+id, `{"suspended":true}`).status, "who and why")
	require.Equal(t, 400, c.operate("PATCH", "/accounts/"+id, `{"actor":"kim","reason":"ticket 4"}`).status)
	r := c.operate("PATCH", "/accounts/"+id, `{"actor":"kim","reason":"ticket 4","suspended":true}`)
	require.Equal(t, []any{200, true}, []any{r.status, decode(t, r.body)["suspended"]}, r.body)
	for _, path := range []string{"/v1/models", "/v2/models", "/v2/models/sim/echo"} {
		c.do("GET", path, "").failed(t, 403, "forbidden")
	}
	c.do("POST", "/v2/models/sim/echo", `{"prompt":"x"}`).failed(t, 403, "forbidden")
	require.Equal(t, true, decode(t, c.operate("GET", "/accounts/"+id, "").body)["suspended"])
	require.Equal(t, 200, c.operate("PATCH", "/accounts/"+id, `{"actor":"kim","reason":"ticket 4","suspended":false}`).status)
	require.Equal(t, 200, c.do("POST", "/v2/models/sim/echo", `{"prompt":"x"}`).status)
	require.Equal(t, []int{1, 1}, []int{c.events("account.suspended.v1", id), c.events("account.resumed.v1", id)})
	require.Equal(t, 404, c.operate("PATCH", "/accounts/nobody", `{"actor":"kim","reason":"r","suspended":true}`).status)
	require.Equal(t, 404, c.operate("GET", "/accounts/nobody", "").status)
}

func TestOperatorsGrantAndDenyModelsOverHTTP(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.id(t)
	const who = `"actor":"kim","reason":"ticket 4"`
	path := "/accounts/" + id + "/models"
	equal := func(want, body string) {
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(body), &got), body)
		delete(got, "name") // the account's, which is the test's
		raw, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, want, string(raw))
	}
	equal(`{"account":"`+id+`","router":true,"allowed":null,"denied":[]}`, c.operate("GET", path, "").body)
	for _, wrong := range []string{
		`{"router":true,"allowed":null}`, `{` + who + `}`, `{` + who + `,"router":true}`, `{` + who + `,"allowed":null}`,
		`{` + who + `,"router":true,"allowed":["*"]}`,
		`{` + who + `,"router":true,"allowed":null,"denied":null}`, `{` + who + `,"router":null,"allowed":null}`,
		`{` + who + `,"router":true,"allowed":"sim/echo"}`, `{` + who + `,"router":true,"allowed":null,"denied":["x"]}`,
	} {
		require.Equal(t, 400, c.operate("PUT", path, wrong).status, wrong)
	}
	r := c.operate("PUT", path, `{`+who+`,"router":true,"allowed":["sim/*"],"denied":["sim/open"]}`)
	equal(`{"account":"`+id+`","router":true,"allowed":["sim/*"],"denied":["sim/open"]}`, r.body)
	require.Equal(t, 200, c.do("POST", "/v2/models/sim/echo", `{"prompt":"x"}`).status)
	c.do("POST", "/v2/models/sim/open", `{}`).failed(t, 403, "forbidden")
	c.do("GET", "/v2/models/probe/json", "").failed(t, 403, "forbidden")
	require.NotContains(t, c.do("GET", "/v2/models?limit=100", "").body, "probe/json")
	require.Equal(t, 200, c.operate("PUT", path, `{`+who+`,"router":false,"allowed":[]}`).status)
	c.do("GET", "/v2/models", "").failed(t, 403, "not_enabled")
	require.Equal(t, 200, c.operate("PUT", path, `{`+who+`,"router":true,"allowed":null}`).status)
	require.Equal(t, 200, c.do("POST", "/v2/models/sim/open", `{}`).status)
	require.Equal(t, 3, c.events("account.router_access_changed.v1", id))
	require.Equal(t, 404, c.operate("PUT", "/accounts/nobody/models", `{`+who+`,"router":true,"allowed":null}`).status)
	require.Equal(t, 404, c.operate("GET", "/accounts/nobody/models", "").status)
}

// id returns the id of the client's account.
func (c *client) id(t *testing.T) string {
	t.Helper()
	for _, a := range decode(t, c.operate("GET", "/accounts", "").body)["accounts"].([]any) {
		if a := a.(map[string]any); a["name"] == c.account {
			return a["id"].(string)
		}
	}
	require.Fail(t, "the account is not listed")
	return ""
}
