package e2e_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// limited returns the client with a key that may call some deployments and do nothing else.
func (c *client) limited(deployments string) *client {
	c.t.Helper()
	key := start(c.t).Run(c.t, "keys", "create", "--account", c.account, "--deployment", deployments)
	return &client{t: c.t, base: c.base, key: key, account: c.account}
}

func TestAKeyLimitedToADeploymentCallsIt(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	c.deploy("portrait", 16, "")
	c.deploy("other", 16, "")
	k := c.limited("portrait")
	require.Contains(t, start(t).Run(t, "keys", "list", "--account", c.account), "deployment:portrait")

	r, made := k.call("portrait", `{}`)
	require.Equal(t, http.StatusCreated, r.status, r.body)
	self, _ := made["urls"].(map[string]any)["self"].(string)
	require.Contains(t, k.ended(self).body, `"succeeded"`)
	require.Equal(t, http.StatusOK, k.do("POST", portraitModel, `{}`).status)
	require.Equal(t, http.StatusOK, k.do("POST", "/openai/v1/images/generations", `{"model":"portrait"}`).status)
	require.False(t, k.ask(k.tools(nil), "portrait", nil, nil).IsError)

	require.NotContains(t, k.do("GET", "/openai/v1/models", "").body, "other")
	tools, err := k.tools(nil).ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 1)
	r, _ = k.call("other", `{}`)
	require.Equal(t, http.StatusNotFound, r.status)
	turnedDown(t, k.do("POST", "/v2/models/deployments/other", `{}`), 404, "model_not_found")
	require.Equal(t, http.StatusNotFound, k.do("POST", "/openai/v1/images/generations", `{"model":"other"}`).status)
	require.True(t, k.ask(k.tools(nil), "other", nil, nil).IsError)
	for _, path := range []string{"/deployment/portrait/api/v2/assets", strings.TrimPrefix(self, c.base) + "/workflow"} {
		require.Equal(t, http.StatusForbidden, k.do("GET", path, "").status, path)
	}
}

// Every operation of the document is refused that is not a call of the key's deployment.
func TestAKeyLimitedToADeploymentDoesNothingElse(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	c.deploy("portrait", 16, "")
	c.deploy("other", 16, "")
	k := c.limited("portrait")
	_, made := c.call("other", `{}`)
	paths, _ := c.json("GET", "/openapi.json", "")["paths"].(map[string]any)
	require.Greater(t, len(paths), 50)
	values := strings.NewReplacer("{provider}", "deployments", "{model}", "other", "{id}", made["id"].(string))
	parameter := regexp.MustCompile(`\{[^}]*\}`)
	free := 0
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for method, operation := range paths[path].(map[string]any) {
			verb := strings.ToUpper(method)
			op, ok := operation.(map[string]any)
			if !ok || !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}, verb) {
				continue // the parameters of a path
			}
			if security, ok := op["security"].([]any); ok && len(security) == 0 {
				free++
				continue // it needs no key
			}
			if path == "/mcp" || strings.HasPrefix(path, "/openai/") && !strings.Contains(path, "{") {
				continue // the test above
			}
			target := parameter.ReplaceAllString(values.Replace(path), "x")
			r := k.do(verb, target, `{}`, "Content-Type", "application/json")
			require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, r.status,
				"%s %s: %s", verb, target, r.body)
		}
	}
	require.Less(t, free, 40, "the document names what needs no key")
}
