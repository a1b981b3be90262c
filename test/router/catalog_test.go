package router_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// acme returns a catalog file of a provider that the simulator plays. Properties are the properties of the body.
func acme(done, properties string) string {
	return fmt.Sprintf(`provider: acme
title: Acme
base: https://api.acme.example
auth: {kind: none}
defaults:
  idempotency_header: Idempotency-Key
  price: {exact: "0", as_of: 2026-11-01}
models:
  - model: painter
    title: Painter
    protocol: submit-poll
    submit: {url: /generations}
    handle: body.id
    poll: {url: "/generations/{handle}"}
    done: body.status == %q
    failed: body.status in ["failed", "refused", "cancelled"]
    limits: {first_poll: 200ms, poll_every: 200ms, total: 10m}
    input:
      type: object
      required: [prompt]
      properties:
        prompt: {type: string, minLength: 1}
%s
    media: {image: image_base64}
    node: {outputs: [{name: image, type: IMAGE, from: [/result/url]}]}
    output: {type: object, properties: {result: {type: object}}}
    example: {prompt: a red square}
`, done, properties)
}

const (
	before = `        image: {type: string}`
	after  = before + "\n" + `        strength: {type: integer, minimum: 0, maximum: 10, default: 5}`
)

// put replaces a catalog file atomically, as a deployment does.
func (s *service) put(t *testing.T, name, content string) {
	t.Helper()
	next := filepath.Join(s.catalog, "."+name)
	require.NoError(t, os.WriteFile(next, []byte(content), 0o600))
	require.NoError(t, os.Rename(next, filepath.Join(s.catalog, name)))
}

func (c *client) until(what string, done func() bool) {
	c.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			c.t.Fatal("not in time: " + what)
		}
	}
}

const (
	painter = "/v2/models/acme/painter"
	class   = "Partner_acme_painter"
)

// seen is the catalog as a caller reads it, with the tag of each version.
type seen struct{ nodes, list, schema string }

func (c *client) seen() (s seen) {
	s.nodes = c.do("GET", "/api/object_info", "").header.Get("ETag")
	s.list = c.do("GET", "/v2/models?limit=100", "").header.Get("ETag")
	s.schema = c.do("GET", painter+"/openapi.json", "").header.Get("ETag")
	return s
}

func (c *client) require(path, contains string, yes bool) {
	c.t.Helper()
	body := c.do("GET", path, "").body
	require.Equal(c.t, yes, strings.Contains(body, contains), "%s: %.300s", path, body)
}

// A running service follows the files of its catalog; running calls continue with the version with which they began.
func TestTheCatalogChangesWhileTheServiceRuns(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	at := c.seen()
	require.Equal(t, 404, c.do("POST", painter, `{"prompt":"x"}`).status)
	require.NotEmpty(t, at.nodes)
	require.NotEmpty(t, at.list)

	c.put(t, "acme.yaml", acme("done", before))
	c.until("the added model is seen", func() bool { return c.do("GET", painter, "").status == 200 })
	c.until("it is a node", func() bool { return strings.Contains(c.do("GET", "/api/object_info", "").body, class) })
	c.require("/v2/models?limit=100", `"acme/painter"`, true)
	added := c.seen()
	require.NotEqual(t, at.nodes, added.nodes)
	require.NotEqual(t, at.list, added.list)
	require.Equal(t, 304, c.do("GET", "/api/object_info", "", "If-None-Match", added.nodes).status)
	require.Equal(t, 304, c.do("GET", "/v2/models?limit=100", "", "If-None-Match", added.list).status)
	require.Equal(t, 200, c.do("POST", painter, `{"prompt":"x"}`).status)
	require.Equal(t, 200, c.do("POST", painter, `{"prompt":"x","strength":11}`).status, "nobody knows that field yet")

	// A graph of two nodes, whose second node begins after the catalog has changed, and a request.
	running := c.submit(`{
		"1":{"class_type":"` + class + `","inputs":{"prompt":"slowly [sim:delay=8s]"}},
		"2":{"class_type":"` + class + `","inputs":{"prompt":"over it","image":["1",0]}},
		"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"old"}}}`)
	queued := decode(t, c.do("POST", painter+"/requests", `{"prompt":"slowly [sim:delay=8s]"}`).body)["request_id"].(string)
	status := func() string {
		return fmt.Sprint(decode(t, c.do("GET", painter+"/requests/"+queued+"/status", "").body)["status"])
	}
	c.until("the request is under way", func() bool { return status() == "IN_PROGRESS" })
	c.until("the job is under way", func() bool { return c.job(running) == "in_progress" })

	c.put(t, "acme.yaml", acme("never", after)) // a definition with which no generation ends
	c.until("the changed model is seen", func() bool { return c.seen().schema != added.schema })
	c.until("its node, too", func() bool { return c.seen().nodes != added.nodes })
	c.require("/api/object_info/"+class, `"strength"`, true)
	require.Equal(t, 422, c.do("POST", painter, `{"prompt":"x","strength":11}`).status)

	changed := c.seen()
	c.put(t, "broken.yaml", "provider: broken\nmodels: [")
	c.put(t, "acme.yaml", acme("done", before)) // not in force while another file has a mistake
	c.until("the problem is reported", func() bool {
		return strings.Contains(c.log.String(), "catalog reload failed; the previous catalog stays in force") &&
			strings.Contains(c.log.String(), "broken.yaml")
	})
	require.Equal(t, changed, c.seen(), "a broken file changes nothing")

	require.NoError(t, os.Remove(filepath.Join(c.catalog, "broken.yaml")))
	require.NoError(t, os.Remove(filepath.Join(c.catalog, "acme.yaml")))
	c.until("the model is gone", func() bool { return c.do("GET", painter, "").status == http.StatusNotFound })
	c.until("its node is gone", func() bool { return !strings.Contains(c.do("GET", "/api/object_info", "").body, class) })
	require.Equal(t, at, c.seen(), "equal catalogs, equal tags")
	c.do("POST", painter, `{"prompt":"x"}`).failed(t, 404, "model_not_found")
	require.Equal(t, 400, c.do("POST", "/api/prompt", `{"prompt":{"1":{"class_type":"`+class+`","inputs":{"prompt":"x"}}}}`).status)

	c.until("the request ends by the old definition", func() bool { return status() == "COMPLETED" })
	r := c.do("GET", painter+"/requests/"+queued, "")
	require.Equal(t, 200, r.status, r.body)
	c.until("the job ends by the old definition", func() bool { return c.job(running) == "completed" })
}

// submit sends a graph with the account's key.
func (c *client) submit(graph string) string {
	c.t.Helper()
	r := c.do("POST", "/api/prompt", `{"prompt":`+graph+`,"extra_data":{"api_key_service":"`+c.key+`"}}`)
	require.Equal(c.t, 200, r.status, r.body)
	return decode(c.t, r.body)["prompt_id"].(string)
}

func (c *client) job(id string) string {
	c.t.Helper()
	state := fmt.Sprint(decode(c.t, c.do("GET", "/api/job/"+id+"/status", "").body)["status"])
	require.NotEqual(c.t, "failed", state, c.do("GET", "/api/jobs/"+id, "").body)
	return state
}
