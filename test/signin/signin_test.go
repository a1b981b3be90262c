package signin_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A role decides what a person sees and may do; the sign-in and the session are events, and name the person.
func TestRolesDecideWhatPeopleMayDo(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		user            string
		submit, operate int
		seesOthers      bool
	}{
		{user: "vera", submit: http.StatusForbidden, operate: http.StatusForbidden},
		{user: "max", submit: http.StatusSeeOther, operate: http.StatusForbidden},
		{user: "olga", operate: http.StatusOK, seesOthers: true},
	} {
		t.Run(c.user, func(t *testing.T) {
			b := s.signedIn(t, c.user)
			a := b.get("/console")
			require.Equal(t, http.StatusOK, a.StatusCode, a.body)
			require.Contains(t, a.body, `<span class="person">`+c.user+`@studio.example</span>`)
			require.Equal(t, c.operate, b.get("/console/accounts").StatusCode)
			require.Equal(t, c.seesOthers, strings.Contains(a.body, "All accounts"))
			if c.submit != 0 {
				a = b.post("/console/run/queue", url.Values{"prompt": {`{"1":{"class_type":"PrimitiveInt","inputs":{"value":1}},
					"2":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}`}})
				require.Equal(t, c.submit, a.StatusCode, a.body)
				require.Equal(t, http.StatusForbidden, b.post("/console/keys", url.Values{}).StatusCode, "a key would outlast the session")
			}
			last := s.events(t, "person.signed_in.v1")
			require.True(t, slices.ContainsFunc(last, func(e event) bool {
				return e.Actor == "person:"+c.user+"@studio.example" && strings.HasPrefix(e.Stream, "person-")
			}))
		})
	}
	require.NotContains(t, s.log.String(), clientSecret)
}

// A refusal says why, gives no cookie, and is an event.
func TestRefusedSignIns(t *testing.T) {
	s := start(t)
	for user, why := range map[string]string{
		"nora": "None of the person", "eve": "verified no email address of an allowed domain", "ulf": "verified no email address",
	} {
		b := s.browser(t)
		a := b.signIn(user)
		require.Equal(t, http.StatusForbidden, a.StatusCode, a.body)
		require.Contains(t, a.body, why)
		require.Empty(t, b.cookie())
		require.Equal(t, http.StatusUnauthorized, b.get("/console").StatusCode)
	}
	refused := s.events(t, "person.sign_in_refused.v1")
	require.True(t, slices.ContainsFunc(refused, func(e event) bool { return e.Data["name"] == "nora@studio.example" }), refused)
}

// An answer that does not belong to a sign-in of this browser is refused, whoever caused it.
func TestAnswersOfOtherFlowsAreRefused(t *testing.T) {
	s := start(t)
	victim, attacker := s.browser(t), s.browser(t)
	stolen := attacker.atProvider(attacker.begin("/console"), "olga")
	change := func(address, name, value string) string {
		u, err := url.Parse(address)
		require.NoError(t, err)
		q := u.Query()
		q.Set(name, value)
		u.RawQuery = q.Encode()
		return u.String()
	}
	for name, send := range map[string]func() answer{
		"without a sign-in":  func() answer { return victim.get(stolen) },
		"of another browser": func() answer { victim.begin("/console"); return victim.get(stolen) },
		"with another state": func() answer {
			b := s.browser(t)
			return b.get(change(b.atProvider(b.begin("/"), "max"), "state", "x"))
		},
		"of another issuer": func() answer {
			b := s.browser(t)
			return b.get(change(b.atProvider(b.begin("/"), "max"), "iss", "https://evil.example"))
		},
		"without a code": func() answer { b := s.browser(t); return b.get(change(b.atProvider(b.begin("/"), "max"), "code", "")) },
		"with a code of another": func() answer {
			b := s.browser(t)
			return b.get(change(b.atProvider(b.begin("/"), "max"), "code", "invented"))
		},
		"that reports a refusal": func() answer {
			b := s.browser(t)
			return b.get(change(b.atProvider(b.begin("/"), "max"), "error", "access_denied"))
		},
		"that is used a second time": func() answer {
			b := s.browser(t)
			back := b.atProvider(b.begin("/console"), "max")
			require.Equal(t, http.StatusOK, b.get(back).StatusCode)
			b.Jar = nil
			return b.get(back)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := send()
			require.Equal(t, http.StatusForbidden, a.StatusCode, a.body)
			require.False(t, slices.ContainsFunc(a.Cookies(), func(c *http.Cookie) bool { return c.Name == "millrace_console" }))
		})
	}
}

// An ID token counts only if the provider signed it, for this client and this request, and while it is valid.
func TestForgedIDTokensAreRefused(t *testing.T) {
	s := start(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	change := func(do func(map[string]any)) func(string) string {
		return func(token string) string { return s.provider.resigned(t, token, nil, do) }
	}
	unsigned := func(token string) string {
		payload := strings.Split(token, ".")[1]
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + payload + "."
	}
	s.provider.with(t, change(nil), false)
	require.Equal(t, http.StatusOK, s.browser(t).signIn("max").StatusCode, "the forger itself changes nothing")
	for name, forge := range map[string]func(string) string{
		"another key":     func(token string) string { return s.provider.resigned(t, token, other, nil) },
		"no signature":    unsigned,
		"expired":         change(func(c map[string]any) { c["exp"] = time.Now().Add(-time.Minute).Unix() }),
		"another client":  change(func(c map[string]any) { c["aud"] = []string{"another"} }),
		"another party":   change(func(c map[string]any) { c["aud"], c["azp"] = []string{clientID, "another"}, "another" }),
		"another issuer":  change(func(c map[string]any) { c["iss"] = "https://evil.example" }),
		"another nonce":   change(func(c map[string]any) { c["nonce"] = "of another request" }),
		"no nonce":        change(func(c map[string]any) { delete(c, "nonce") }),
		"another subject": change(func(c map[string]any) { c["sub"] = "olga" }),
		"nothing":         func(string) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			s.provider.with(t, forge, false)
			b := s.browser(t)
			a := b.signIn("max")
			require.Equal(t, http.StatusForbidden, a.StatusCode, a.body)
			require.Empty(t, b.cookie())
		})
	}
	require.NotRegexp(t, `\beyJ`, s.log.String(), "no part of an ID token is logged")
}

// The return address is a page of the service, whatever a link asks for.
func TestReturnAddressStaysOnTheService(t *testing.T) {
	s := start(t)
	for asked, want := range map[string]string{
		"/console/files?kind=output": "/console/files?kind=output", "/": "/",
		"https://evil.example/": "/console", "//evil.example/console/": "/console", `/\evil.example`: "/console",
		"/console/../../evil": "/console", "/console//evil.example": "/console", "javascript:alert(1)": "/console",
		"/console/openid/start": "/console", "/console/signout": "/console", "/console/\r\nSet-Cookie: a=b": "/console", "": "/console",
		"/admin/jobs": "/console", "/console/a; url=https://evil.example": "/console",
	} {
		b := s.browser(t)
		a := b.get(b.atProvider(b.begin(asked), "max"))
		require.Equal(t, http.StatusOK, a.StatusCode, a.body)
		require.Equal(t, "0; url="+want, a.Header.Get("Refresh"), asked)
	}
}

// A sign-in gives a new secret, whatever cookie the browser had, in cookies that scripts and other sites cannot use.
func TestSignInGivesAFreshCookie(t *testing.T) {
	s := start(t)
	attacker := s.signedIn(t, "max")
	planted := attacker.cookie()
	b := s.browser(t)
	at, err := url.Parse(s.Base + "/console")
	require.NoError(t, err)
	b.Jar.SetCookies(at, []*http.Cookie{{Name: "millrace_console", Value: planted, Path: "/console"}})
	back := b.atProvider(b.begin("/console"), "vera")
	flow := b.Jar.Cookies(&url.URL{Scheme: "http", Host: at.Host, Path: callback})
	require.True(t, slices.ContainsFunc(flow, func(c *http.Cookie) bool { return c.Name == "millrace_signin" }))
	a := b.get(back)
	require.Equal(t, http.StatusOK, a.StatusCode, a.body)
	require.NotEqual(t, planted, b.cookie())
	require.NotEmpty(t, b.cookie())
	require.Equal(t, http.StatusUnauthorized, attacker.get("/console").StatusCode, "the planted session has ended")
	line := slices.IndexFunc(a.Header.Values("Set-Cookie"), setsCookie.MatchString)
	set := a.Header.Values("Set-Cookie")[line]
	require.Contains(t, set, "HttpOnly")
	require.Contains(t, set, "SameSite=Strict")
	require.NotContains(t, set, "Secure", "this service has no TLS")
	require.Equal(t, "no-store", a.Header.Get("Cache-Control"))
}

// Whoever signs in to a browser ends the session of whoever had signed in before, in the editor too.
func TestSignInEndsTheFormerSession(t *testing.T) {
	s := startAlone(t, "mr-signin-editor", nil, func(dir string) ([]string, error) {
		return []string{"--editor", dir}, os.WriteFile(filepath.Join(dir, "index.html"), []byte("<html><head></head></html>"), 0o600)
	}, "--auth", "keys")
	require.NoError(t, s.createAccount(t.Context()))
	t.Run("the editor asks for the sign-in and returns", func(t *testing.T) {
		b := s.browser(t)
		asked := b.get("/")
		require.Equal(t, http.StatusSeeOther, asked.StatusCode)
		form := b.get(asked.Header.Get("Location"))
		require.Contains(t, form.body, "Sign in with ")
		back := regexp.MustCompile(`name="return" value="([^"]+)"`).FindStringSubmatch(form.body)
		require.NotNil(t, back, form.body)
		a := b.get(b.atProvider(b.begin(back[1]), "max"))
		require.Equal(t, "0; url=/", a.Header.Get("Refresh"))
		opened := b.get("/", "Sec-Fetch-Site", "same-origin")
		require.Equal(t, http.StatusOK, opened.StatusCode)
		require.Contains(t, opened.body, "<html>")
	})
	for name, signIn := range map[string]func(*browser) answer{
		"as an operator without an account": func(b *browser) answer {
			return b.fromProvider(b.atProvider(b.begin("/console"), "olga"))
		},
		"with a key": func(b *browser) answer { return b.post("/console/signin", url.Values{"key": {s.key}}) },
	} {
		t.Run(name, func(t *testing.T) {
			b := s.signedIn(t, "max")
			former := b.cookie()
			require.Equal(t, http.StatusOK, b.get("/api/queue", "Sec-Fetch-Site", "same-origin").StatusCode)
			a := signIn(b)
			require.Less(t, a.StatusCode, http.StatusBadRequest, a.body)
			require.NotEqual(t, former, b.cookie())
			require.Equal(t, http.StatusOK, b.get("/console").StatusCode)
			require.Equal(t, http.StatusUnauthorized, b.get("/api/queue", "Sec-Fetch-Site", "same-origin").StatusCode,
				"the editor works for nobody")
			other := s.browser(t)
			require.Equal(t, http.StatusUnauthorized, other.get("/console", "Cookie", "millrace_console="+former).StatusCode)
		})
	}
}

// A session ends when its person signs out, and no other site can cause that.
func TestSignOutEndsTheSession(t *testing.T) {
	s := start(t)
	b := s.signedIn(t, "max")
	kept := b.cookie()
	a := b.send(http.MethodPost, "/console/signout", url.Values{}, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, a.StatusCode)
	require.Equal(t, http.StatusMethodNotAllowed, b.get("/console/signout").StatusCode)
	require.Equal(t, http.StatusOK, b.get("/console").StatusCode)
	require.Equal(t, http.StatusSeeOther, b.post("/console/signout", url.Values{}).StatusCode)
	require.Empty(t, b.cookie())
	require.Equal(t, http.StatusUnauthorized, b.get("/console", "Cookie", "millrace_console="+kept).StatusCode, "the secret has ended too")
	ended := s.events(t, "person.session_ended.v1")
	require.True(t, slices.ContainsFunc(ended, func(e event) bool { return e.Data["cause"] == "signed_out" }))
}

// An operator ends sessions at once, on the command line and over the admin API.
func TestOperatorsEndSessions(t *testing.T) {
	s := start(t)
	first, second := s.signedIn(t, "vera"), s.signedIn(t, "vera")
	require.GreaterOrEqual(t, len(s.sessions(t, "vera")), 2)
	out, err := s.Command(t.Context(), "sessions", "end", "vera@studio.example", "--reason", "a lost laptop")
	require.NoError(t, err, out)
	require.Equal(t, http.StatusUnauthorized, first.get("/console").StatusCode)
	require.Equal(t, http.StatusUnauthorized, second.get("/console").StatusCode)
	require.Empty(t, s.sessions(t, "vera"))
	third := s.signedIn(t, "vera")
	id := s.sessions(t, "vera")[0].ID
	admin := s.browser(t)
	body := strings.NewReader(`{"actor":"ana","reason":"a test"}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Base+"/admin/sessions/"+id+"/end", body)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+adminToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := admin.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, http.StatusUnauthorized, third.get("/console").StatusCode)
	ended := s.events(t, "person.session_ended.v1")
	require.True(t, slices.ContainsFunc(ended, func(e event) bool {
		return e.Reason == "a lost laptop" && e.Data["cause"] == "operator"
	}), ended)
	_, err = s.Command(t.Context(), "sessions", "end", "nobody", "--reason", "a test")
	require.Error(t, err)
}

// An operator ends a session on the page of sessions, at once. Others may not see the page.
func TestOperatorsEndSessionsInTheConsole(t *testing.T) {
	s := start(t)
	operator, member := s.signedIn(t, "olga"), s.signedIn(t, "max")
	require.Equal(t, http.StatusForbidden, member.get("/console/sessions").StatusCode)
	id := s.sessions(t, "max")[0].ID
	row := func() string {
		a := operator.get("/console/sessions")
		require.Equal(t, http.StatusOK, a.StatusCode, a.body)
		return regexp.MustCompile(`(?s)<tr id="session-` + id + `">.*?</tr>`).FindString(a.body)
	}
	require.Regexp(t, `(?s)>max@studio.example</td>.*>member</td>.*>studio</a>.*Signed in".*<time .*Last used".*<time .*Expires".*<time `,
		row())
	end := "/console/sessions/" + id + "/end"
	require.Equal(t, http.StatusForbidden, member.post(end, url.Values{"reason": {"mine"}}).StatusCode)
	require.Equal(t, http.StatusBadRequest, operator.post(end, url.Values{}).StatusCode, "without a reason nothing ends")
	require.Equal(t, http.StatusOK, member.get("/console").StatusCode)
	a := operator.post(end, url.Values{"reason": {"a lost laptop"}})
	require.Equal(t, http.StatusSeeOther, a.StatusCode, a.body)
	require.Equal(t, "/console/sessions", a.Header.Get("Location"))
	require.Equal(t, http.StatusUnauthorized, member.get("/console").StatusCode)
	require.Empty(t, row())
	require.True(t, slices.ContainsFunc(s.events(t, "person.session_ended.v1"), func(e event) bool {
		return e.Reason == "a lost laptop" && e.Actor == "console:olga@studio.example" && e.Data["session"] == id
	}))
}

// Somebody whose groups change has the new role at the next sign-in, and loses the old sessions with it; somebody who has no
// group any more loses all of them.
func TestChangesAtTheProviderTakeEffect(t *testing.T) {
	s := start(t)
	s.provider.set("nora", "artists")
	t.Cleanup(func() { s.provider.set("nora") })
	member := s.signedIn(t, "nora")
	s.provider.set("nora", "press")
	viewer := s.signedIn(t, "nora")
	require.Equal(t, http.StatusUnauthorized, member.get("/console").StatusCode)
	require.Equal(t, http.StatusOK, viewer.get("/console").StatusCode)
	changed := s.events(t, "person.role_changed.v1")
	require.True(t, slices.ContainsFunc(changed, func(e event) bool { return e.Data["role"] == "viewer" && e.Data["was_role"] == "member" }))
	s.provider.set("nora")
	require.Equal(t, http.StatusForbidden, s.browser(t).signIn("nora").StatusCode)
	require.Equal(t, http.StatusUnauthorized, viewer.get("/console").StatusCode, "the refusal ended the session")
}

// A refusal ends the sessions of the person whom the ID token identifies, whatever comes after it.
func TestRefusalAfterTheIDTokenEndsSessions(t *testing.T) {
	s := start(t)
	b := s.signedIn(t, "vera")
	s.provider.with(t, func(token string) string {
		return s.provider.resigned(t, token, nil, func(c map[string]any) { c["sub"] = "vera" }) // the user info is that of max
	}, false)
	a := s.browser(t).signIn("max")
	require.Equal(t, http.StatusForbidden, a.StatusCode, a.body)
	require.Contains(t, a.body, "belongs to another person")
	require.Equal(t, http.StatusUnauthorized, b.get("/console").StatusCode)
}

// A name that nobody has verified does not pass for the email address of somebody.
func TestUnverifiedNames(t *testing.T) {
	s := start(t)
	for chosen, want := range map[string]string{
		"olga@studio.example": "Vera (vera)", "olga\uff20studio.example": "Vera (vera)", "operator": "operator (vera)",
	} {
		s.signedIn(t, "vera") // the refusal of somebody with a role is always recorded
		s.provider.with(t, func(token string) string {
			return s.provider.resigned(t, token, nil, func(c map[string]any) {
				c["email"], c["email_verified"], c["preferred_username"], c["name"] = "vera@studio.example", false, chosen, "Vera"
			})
		}, false)
		a := s.browser(t).signIn("vera")
		require.Equal(t, http.StatusForbidden, a.StatusCode, a.body)
		s.provider.with(t, nil, false)
		refused := s.events(t, "person.sign_in_refused.v1")
		require.True(t, slices.ContainsFunc(refused, func(e event) bool {
			return e.Data["name"] == want && e.Actor == "person:"+want
		}), chosen)
		require.False(t, slices.ContainsFunc(refused, func(e event) bool { return e.Data["name"] == chosen }), chosen)
	}
}

// The secret of a session is no key: the APIs refuse the content of a cookie.
func TestAPIsTakeNoSessions(t *testing.T) {
	s := start(t)
	b := s.signedIn(t, "max")
	for _, path := range []string{"/api/v2/jobs", "/api/queue"} {
		require.Equal(t, http.StatusUnauthorized, b.get(path, "X-API-Key", b.cookie()).StatusCode, path)
		require.Equal(t, http.StatusUnauthorized, b.get(path).StatusCode, path)
		require.Equal(t, http.StatusOK, b.get(path, "X-API-Key", s.key).StatusCode, path)
	}
}

// While the provider is down, nobody signs in, sessions go on, and keys work.
func TestProviderThatIsDown(t *testing.T) {
	s := start(t)
	b := s.signedIn(t, "max")
	late := s.browser(t)
	back := late.atProvider(late.begin("/console"), "vera")
	s.provider.with(t, nil, true)
	require.Equal(t, http.StatusOK, b.get("/console").StatusCode)
	require.Equal(t, http.StatusServiceUnavailable, late.get(back).StatusCode)
	keyed := s.browser(t)
	require.Equal(t, http.StatusSeeOther, keyed.post("/console/signin", url.Values{"key": {s.key}}).StatusCode)
	require.Equal(t, http.StatusOK, keyed.get("/console").StatusCode)
}

// Refusals of people without a role are recorded at a bounded rate. It comes last of those that the service of the other
// tests refuses.
func TestRecordingOfRefusalsIsBounded(t *testing.T) {
	s := start(t)
	count := func() (n int) {
		for _, e := range s.events(t, "person.sign_in_refused.v1") {
			if e.Data["name"] == "eve@elsewhere.example" {
				n++
			}
		}
		return n
	}
	const burst = 30
	before, began, tried := count(), time.Now(), 0
	bound := func() int { return burst + 1 + int(time.Since(began).Seconds()) }
	for tried <= bound()+10 && time.Since(began) < patience {
		a := s.browser(t).signIn("eve")
		require.Equal(t, http.StatusForbidden, a.StatusCode, a.body)
		tried++
	}
	require.LessOrEqual(t, count()-before, bound(), "of %d", tried)
	require.Greater(t, tried, bound(), "too slow a machine to see a bound")
	member := s.signedIn(t, "max")
	s.provider.set("max")
	t.Cleanup(func() { s.provider.set("max", "artists", "others") })
	require.Equal(t, http.StatusForbidden, s.browser(t).signIn("max").StatusCode)
	require.Equal(t, http.StatusUnauthorized, member.get("/console").StatusCode, "the refusal ended the session beyond the rate")
}

// A person who was removed at the provider is out when the session that the operator allows has passed.
func TestSessionExpires(t *testing.T) {
	short := startAlone(t, "mr-signin-short", map[string]string{
		"MILLRACE_OIDC_SESSION": "15s", "MILLRACE_OIDC_GRANTS": "ops=operator,artists=member",
	}, nil, "--auth", "token", "--token", "a-token")
	b := short.signedIn(t, "max")
	short.provider.set("max")
	require.Equal(t, http.StatusOK, b.get("/console").StatusCode)
	require.Eventually(t, func() bool { return b.get("/console").StatusCode == http.StatusUnauthorized }, patience, 100*time.Millisecond)
	require.Equal(t, http.StatusForbidden, b.signIn("max").StatusCode)
}
