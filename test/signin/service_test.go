// Package signin_test signs people in to a complete service with a real OpenID provider, which runs in the test: the
// reference server of github.com/zitadel/oidc. Every threat to the sign-in is a test.
package signin_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/test/served"
)

const (
	patience   = 3 * time.Minute
	adminToken = "operators-only"
	callback   = "/console/openid/callback"
)

// service is the running service that the tests of this package share.
type service struct {
	*served.Service
	provider *provider
	log      *served.Log
	key      string // of the account studio
	err      error
}

var theService = sync.OnceValue(startService)

func TestMain(m *testing.M) {
	code := m.Run()
	theService().Stop()
	os.Exit(code)
}

// environment has the settings of the sign-in, of which the secret and the grants have no flags.
func environment(issuer string, more map[string]string) func(string) (string, bool) {
	set := map[string]string{
		"MILLRACE_OIDC_ISSUER": issuer, "MILLRACE_OIDC_CLIENT_ID": clientID, "MILLRACE_OIDC_CLIENT_SECRET": clientSecret,
		"MILLRACE_OIDC_DOMAINS": "studio.example", "MILLRACE_OIDC_GRANTS": "ops=operator,artists=member:studio,press=viewer:studio",
	}
	for name, value := range more {
		set[name] = value
	}
	return func(name string) (string, bool) {
		if value, ok := set[name]; ok {
			return value, true
		}
		return os.LookupEnv(name)
	}
}

func startService() *service {
	s := &service{log: &served.Log{}, provider: newProvider()}
	s.Service, s.err = served.Dev(served.Options{
		Name: "mr-signin", Args: []string{"--log", "info", "--auth", "keys", "--admin-token", adminToken},
		Lookup: environment(s.provider.URL, map[string]string{"MILLRACE_OIDC_SESSION": "2h"}), Log: s.log, Patience: 2 * patience,
	})
	if s.err != nil {
		return s
	}
	s.provider.serve(s.Base + callback)
	s.err = s.createAccount(context.Background())
	return s
}

// createAccount creates the account of the grants, with a key.
func (s *service) createAccount(ctx context.Context) error {
	if _, err := s.Command(ctx, "accounts", "create", "studio", "--tier", "pro"); err != nil {
		return err
	}
	out, err := s.Command(ctx, "keys", "create", "--account", "studio")
	s.key = served.LastLine(out)
	return err
}

func start(t *testing.T) *service {
	t.Helper()
	served.UseTemporal(t)
	s := theService()
	require.NoError(t, s.err, s.log.String())
	return s
}

// startAlone starts a service for one test, with arguments and those that prepare returns.
func startAlone(t *testing.T, name string, more map[string]string, prepare func(dir string) ([]string, error), args ...string) *service {
	t.Helper()
	served.UseTemporal(t)
	s := &service{log: &served.Log{}, provider: newProvider()}
	t.Cleanup(s.provider.Close)
	s.Service = served.Start(t, served.Options{
		Name: name, Args: append([]string{"--log", "warn"}, args...), Prepare: prepare,
		Lookup: environment(s.provider.URL, more), Log: s.log, Patience: 2 * patience,
	})
	s.provider.serve(s.Base + callback)
	return s
}

// browser keeps cookies and follows no redirect by itself.
type browser struct {
	*http.Client
	t *testing.T
	s *service
}

func (s *service) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{t: t, s: s, Client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is an answer with its body.
type answer struct {
	*http.Response
	body string
}

func (b *browser) send(method, address string, form url.Values, headers ...string) answer {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.s.Base + address
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := b.Do(req)
	require.NoError(b.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	return answer{resp, string(raw)}
}

func (b *browser) get(address string, headers ...string) answer {
	b.t.Helper()
	return b.send(http.MethodGet, address, nil, headers...)
}

func (b *browser) post(address string, form url.Values) answer {
	b.t.Helper()
	return b.send(http.MethodPost, address, form, "Origin", b.s.Base, "Sec-Fetch-Site", "same-origin")
}

// begin starts a sign-in and returns the address at the provider.
func (b *browser) begin(returnTo string) *url.URL {
	b.t.Helper()
	a := b.get("/console/openid/start?return=" + url.QueryEscape(returnTo))
	require.Equal(b.t, http.StatusSeeOther, a.StatusCode, a.body)
	at, err := a.Location()
	require.NoError(b.t, err)
	return at
}

// atProvider signs a user in at the provider and returns the address to which it sends the browser back.
func (b *browser) atProvider(at *url.URL, user string) string {
	b.t.Helper()
	a := b.get(at.String())
	form, err := a.Location()
	require.NoError(b.t, err, a.body)
	a = b.send(http.MethodPost, form.String(), url.Values{
		"username": {user}, "password": {password}, "id": {form.Query().Get("authRequestID")},
	})
	for range 3 {
		back, err := a.Location()
		require.NoError(b.t, err, a.body)
		if strings.HasPrefix(back.String(), b.s.Base) {
			return back.String()
		}
		a = b.get(back.String())
	}
	b.t.Fatal("the provider does not send the browser back")
	return ""
}

// signIn signs a user in and returns the last answer.
func (b *browser) signIn(user string) answer {
	b.t.Helper()
	return b.get(b.atProvider(b.begin("/console"), user))
}

// signedIn signs a user in with success.
func (s *service) signedIn(t *testing.T, user string) *browser {
	t.Helper()
	b := s.browser(t)
	a := b.signIn(user)
	require.Equal(t, http.StatusOK, a.StatusCode, a.body)
	require.Contains(t, a.body, "You are signed in as <strong>"+user+"@studio.example")
	return b
}

// fromProvider requests an address as browsers do when another site sends them there: without cookies that are
// SameSite=Strict.
func (b *browser) fromProvider(address string) answer {
	b.t.Helper()
	at, err := url.Parse(address)
	require.NoError(b.t, err)
	all := b.Jar
	b.Jar = nil
	defer func() { b.Jar = all }()
	var headers []string
	for _, c := range all.Cookies(at) {
		if c.Name == "millrace_signin" {
			headers = []string{"Cookie", c.Name + "=" + c.Value}
		}
	}
	a := b.get(address, headers...)
	all.SetCookies(at, a.Cookies())
	return a
}

// cookie returns the cookie of the console that the browser has, or "".
func (b *browser) cookie() string {
	at, err := url.Parse(b.s.Base + "/console")
	require.NoError(b.t, err)
	for _, c := range b.Jar.Cookies(at) {
		if c.Name == "millrace_console" {
			return c.Value
		}
	}
	return ""
}

// event is an event as the command line shows it.
type event struct {
	Type   string         `json:"type"`
	Stream string         `json:"stream"`
	Actor  string         `json:"actor"`
	Reason string         `json:"reason"`
	Data   map[string]any `json:"data"`
}

// events returns the events of people with a type.
func (s *service) events(t *testing.T, kind string) (found []event) {
	t.Helper()
	a := s.browser(t).get("/admin/events?type="+kind+"&limit=1000", "Authorization", "Bearer "+adminToken)
	require.Equal(t, http.StatusOK, a.StatusCode, a.body)
	var all struct{ Events []event }
	require.NoError(t, json.Unmarshal([]byte(a.body), &all), a.body)
	return all.Events
}

// session is a session as the command line shows it.
type session struct{ ID, Name, Role, Account string }

func (s *service) sessions(t *testing.T, name string) (found []session) {
	t.Helper()
	out, err := s.Command(t.Context(), "sessions", "list", "--json")
	require.NoError(t, err, out)
	var all []session
	require.NoError(t, json.Unmarshal([]byte(out), &all), out)
	for _, one := range all {
		if strings.HasPrefix(one.Name, name+"@") {
			found = append(found, one)
		}
	}
	return found
}

var setsCookie = regexp.MustCompile(`(?i)millrace_console=([^;]*)`)
