package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOperatorsActInTheConsole(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	because := func(values url.Values) url.Values { values.Set("reason", "the test <b>says</b> so"); return values }
	moved := func(to string, r reply) {
		t.Helper()
		require.Equal(t, http.StatusSeeOther, r.status, r.body)
		require.Equal(t, to, r.header.Get("Location"))
	}

	name := "made-in-the-console"
	require.Equal(t, http.StatusBadRequest, o.post("/console/accounts", url.Values{"name": {name}, "tier": {"pro"}}).status,
		"without a reason nothing changes")
	require.NotContains(t, o.page("/console/accounts"), name)
	made := o.post("/console/accounts", because(url.Values{"name": {name}, "tier": {"pro"}}))
	require.Equal(t, http.StatusSeeOther, made.status, made.body)
	at := made.header.Get("Location")
	require.Contains(t, o.page(at), name)
	id := at[len("/console/accounts/"):]

	secret := regexp.MustCompile(`<pre>([^<]+)</pre>`).FindStringSubmatch(o.post(at+"/keys",
		because(url.Values{"scope": {"read,write"}})).body)
	require.Len(t, secret, 2)
	require.NotContains(t, o.page(at), secret[1], "a key is shown once")
	p := &person{t: t, s: o.s, account: name, key: secret[1]}
	p.signIn(p.key)
	require.Equal(t, http.StatusOK, p.get("/console").status)

	moved("/console/queues", o.post("/console/queues", because(url.Values{"queue": {id}, "mode": {"paused"}})))
	require.Regexp(t, `(?s)id="queue-`+id+`">.*?`+name+`.*?paused.*?console:operator.*?the test &lt;b&gt;says&lt;/b&gt; so`,
		o.page("/console/queues"))
	moved("/console/queues", o.post("/console/queues", because(url.Values{"queue": {name}, "mode": {"open"}})))
	require.Equal(t, http.StatusNotFound, o.post("/console/queues", because(url.Values{"queue": {"nobody"}, "mode": {"open"}})).status)
	require.Equal(t, http.StatusBadRequest, o.post("/console/queues", because(url.Values{"queue": {id}, "mode": {"odd"}})).status)

	moved(at, o.post(at+"/credit", because(url.Values{"usd": {"2.5"}})))
	require.Contains(t, o.page(at), "$2.50")
	require.Equal(t, http.StatusBadRequest, o.post(at+"/credit", because(url.Values{"usd": {"much"}})).status)
	moved(at, o.post(at, because(url.Values{"suspended": {"true"}})))
	require.Contains(t, o.page(at), ">suspended</span></h1>")
	require.Equal(t, http.StatusForbidden, p.get("/console").status, "no key of the account is accepted")
	moved(at, o.post(at, because(url.Values{"suspended": {"false"}, "tier": {"free"}})))
	require.Equal(t, http.StatusOK, p.get("/console").status)
	key := regexp.MustCompile(`name="key" value="([^"]+)"`).FindStringSubmatch(o.page(at))
	require.Len(t, key, 2)
	moved(at, o.post(at+"/keys/revoke", because(url.Values{"key": {key[1]}})))
	require.Equal(t, http.StatusUnauthorized, p.get("/console").status)
	require.Equal(t, http.StatusNotFound, o.get("/console/accounts/nobody").status)

	require.Contains(t, o.page("/console/views"), `id="view-stats_v1"`)
	require.Contains(t, o.page("/console/views/usage_v1/check"), `&#34;view&#34;: &#34;usage_v1&#34;`)
	moved("/console/views", o.post("/console/views/usage_v1/rebuild", because(url.Values{})))
	require.Equal(t, http.StatusNotFound, o.post("/console/views/nothing/rebuild", because(url.Values{})).status)
	require.Equal(t, http.StatusNotFound, o.post("/console/views/usage_v1/resume", because(url.Values{"stream": {"job-x"}})).status,
		"it is not halted")

	o.await("the findings", func() bool { return strings.Contains(o.page("/console/doctor"), ">database</td>") })
	require.Contains(t, o.page("/console/deliveries?status=delivered"), "Deliveries of webhooks")
	require.Equal(t, http.StatusBadRequest, o.get("/console/deliveries?status=odd").status)

	b := o.open()
	for _, name := range []string{"accounts", "queues", "views", "deliveries", "doctor", "servers", "sessions", "pools", "weights"} {
		b.looks("operators-"+name, "/console/"+name)
	}
	b.looks("operators-account", at)
	b.clean()
}

// TestOnlyOperatorsActInTheConsole sends every form as a person of an account, and without a cookie.
func TestOnlyOperatorsActInTheConsole(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	nobody := &person{t: t, s: p.s, withoutRedirect: p.withoutRedirect}
	for _, path := range []string{
		"/queues", "/views", "/views/usage_v1/check", "/accounts", "/accounts/x", "/deliveries", "/doctor",
		"/sessions", "/pools", "/weights",
	} {
		require.Equal(t, http.StatusForbidden, p.get("/console"+path).status, path)
		require.Equal(t, http.StatusUnauthorized, nobody.get("/console"+path).status, path)
	}
	for _, path := range []string{
		"/queues", "/views/usage_v1/rebuild", "/views/usage_v1/resume", "/accounts", "/accounts/x", "/accounts/x/credit", "/accounts/x/keys",
		"/accounts/x/keys/revoke", "/deliveries/replay", "/servers", "/servers/x/drain",
		"/sessions/x/end", "/pools/x", "/weights/x/remove",
	} {
		require.Equal(t, http.StatusForbidden, p.post("/console"+path, url.Values{"reason": {"mine"}}).status, path)
		require.Equal(t, http.StatusUnauthorized, nobody.post("/console"+path, url.Values{"reason": {"mine"}}).status, path)
	}
}
