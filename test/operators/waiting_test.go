package operators_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// waitOf is the description of a wait for a server in a body.
type waitOf struct {
	Reason string
	Place  int
}

// waiting returns the status and the wait that a body shows, whatever its surface.
func (b *bench) waiting(path string) (status string, wait *waitOf, body string) {
	b.t.Helper()
	code, body := b.do(http.MethodGet, path, nil)
	require.Equal(b.t, http.StatusOK, code, body)
	var answer struct {
		Status  string
		Waiting *waitOf
		Jobs    []struct {
			Status  string
			Waiting *waitOf
		}
	}
	require.NoError(b.t, json.Unmarshal([]byte(body), &answer))
	if len(answer.Jobs) == 1 {
		return answer.Jobs[0].Status, answer.Jobs[0].Waiting, body
	}
	return answer.Status, answer.Waiting, body
}

func TestAJobThatWaitsForAServerSaysWhyEverywhere(t *testing.T) {
	b := start(t)
	m := b.server(comfyui.Options{}, nil)
	b.command("servers", "drain", m.URL(), "--reason", "driver update")
	id := b.submit(served.Text2Img(1, 1))
	bodies := map[string]string{ // each with its status of a running job
		"/api/v2/jobs/" + id: "running", "/api/job/" + id + "/status": "in_progress", "/api/jobs": "in_progress",
		"/api/jobs/" + id: "in_progress",
	}
	for path, running := range bodies {
		b.await(path+" to say why", func() bool { _, wait, _ := b.waiting(path); return wait != nil })
		status, wait, body := b.waiting(path)
		require.Equal(t, running, status, "%s keeps its status", path)
		require.Contains(t, wait.Reason, "draining", path)
		require.Positive(t, wait.Place, path)
		require.NotContains(t, body, m.URL(), "addresses of servers are for operators: %s", path)
	}
	timeline := b.command("jobs", "timeline", id)
	require.Contains(t, timeline, "waits for a server")
	require.Contains(t, timeline, "draining")
	status, body := b.admin(http.MethodGet, "/jobs/"+id+"/timeline", nil)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"waiting":[{`)
	for _, page := range []string{"/console/jobs/" + id, "/console"} {
		status, body = b.page(b.signIn(b.key), page)
		require.Equal(t, http.StatusOK, status, page)
		require.Regexp(t, `Waits for a server, place \d+: .*draining`, body, page)
		require.NotContains(t, strings.Split(body, "<h2>Events</h2>")[0], m.URL())
	}

	b.command("servers", "resume", m.URL(), "--reason", "done")
	require.Equal(t, "completed", b.ended(id))
	for path := range bodies {
		_, wait, _ := b.waiting(path)
		require.Nil(t, wait, "%s after the end", path)
	}
	_, body = b.page(b.signIn(b.key), "/console/jobs/"+id)
	require.NotContains(t, body, "Waits for a server")
}

// signIn opens the console with a credential and returns the cookie, "" if it was refused.
func (b *bench) signIn(credential string) string {
	b.t.Helper()
	form := strings.NewReader(url.Values{"key": {credential}}.Encode())
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.Base+"/console/signin", form)
	require.NoError(b.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(b.t, err)
	defer res.Body.Close()
	cookie, _, _ := strings.Cut(res.Header.Get("Set-Cookie"), ";")
	return cookie
}

// page reads a page of the console.
func (b *bench) page(cookie, path string) (int, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.Base+path, nil)
	require.NoError(b.t, err)
	if cookie != "" {
		req.Header.Set("Cookie", cookie)
	}
	return b.answer(req)
}
