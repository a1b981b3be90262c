package api_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/api/openapi/openapitest"
)

func TestTheDocumentIsServed(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	got := h.Do(t, "GET", "/openapi.json", "")
	require.Equal(t, http.StatusOK, got.Status)
	require.Contains(t, got.JSON(t)["paths"], "/api/v2/jobs/{id}/logs")
	require.Equal(t, http.StatusNotModified, h.Do(t, "GET", "/openapi.json", "", "If-None-Match", got.Header.Get("ETag")).Status)

	page := h.Do(t, "GET", "/docs", "")
	require.Contains(t, page.Body, "<pre>MILLRACE="+h.URL+"</pre>", "the base address is that of the request")
	require.Equal(t, http.StatusOK, page.Status)
	require.Contains(t, page.Body, "/api/v2/jobs/{id}/logs")
	require.NotContains(t, page.Body, "<script")
	require.NotContains(t, page.Body, "src=", "the page loads nothing")
	require.Contains(t, page.Header.Get("Content-Security-Policy"), "default-src 'none'")
}

func TestCheckerFindsErrors(t *testing.T) {
	t.Parallel()
	doc, err := openapitest.Load()
	require.NoError(t, err)
	plain := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	stream, events := http.Header{"Content-Type": {"text/event-stream"}}, "/api/v2/jobs/x/events"
	for name, a := range map[string]openapitest.Answer{
		"undocumented route":  {Method: "GET", Path: "/nowhere", Status: 200, Header: plain, Body: []byte(`{}`)},
		"undocumented method": {Method: "PUT", Path: "/prompt", Status: 200, Header: plain, Body: []byte(`{}`)},
		"undocumented status": {Method: "GET", Path: "/api/queue", Status: 418, Header: plain, Body: []byte(`{}`)},
		"wrong content type":  {Method: "GET", Path: "/api/queue", Status: 200, Header: http.Header{}, Body: []byte(`{}`)},
		"missing field":       {Method: "GET", Path: "/api/queue", Status: 200, Header: plain, Body: []byte(`{"queue_running":[]}`)},
		"undocumented field": {
			Method: "GET", Path: "/prompt", Status: 200, Header: plain, Body: []byte(`{"exec_info":{"queue_remaining":0},"x":1}`),
		},
		"other envelope": {Method: "GET", Path: "/api/v2/jobs", Status: 404, Header: plain, Body: []byte(`{"code":"a","message":"b"}`)},
		"trailing garbage": {
			Method: "GET", Path: "/prompt", Status: 200, Header: plain, Body: []byte(`{"exec_info":{"queue_remaining":0}} {}`),
		},
		"unknown event":        {Method: "GET", Path: events, Status: 200, Header: stream, Body: []byte("event: gossip\ndata: {}\n\n")},
		"event without fields": {Method: "GET", Path: events, Status: 200, Header: stream, Body: []byte("event: status\ndata: {}\n\n")},
	} {
		require.Error(t, doc.Check(a), name)
	}
	require.NoError(t, doc.Check(openapitest.Answer{
		Method: "GET", Path: "/api/prompt", Status: 200, Header: plain, Body: []byte(`{"exec_info":{"queue_remaining":0}}`),
	}))
	require.NoError(t, doc.Check(openapitest.Answer{Method: "GET", Path: "/nowhere", Status: 404, Header: plain}))
}

// A malformed query is refused by every operation, as the document says, which the harness compares.
func TestMalformedQueryIsRefusedAsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := openapitest.Load()
	require.NoError(t, err)
	files, models := apitest.StartFiles(t, apitest.Options{}), apitest.StartRouter(t, apitest.Options{}, apitest.Refusing{})
	parameter := regexp.MustCompile(`\{[a-z]+\}`)
	refused := 0
	for _, op := range doc.Operations() {
		for _, route := range op.Routes {
			if strings.HasPrefix(route, "/admin/") { // served elsewhere
				continue
			}
			path := parameter.ReplaceAllString(route, "x") + "?x=%00"
			status := files.Do(t, files.Request(t, op.Method, path, "key-a", nil)).Status
			if strings.HasPrefix(route, "/v1/") || strings.HasPrefix(route, "/v2/") {
				status = models.Do(t, op.Method, path, "").Status
			}
			if status != http.StatusNotFound { // of the parts that the harness lacks
				require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, status, "%s %s", op.Method, route)
				refused++
			}
		}
	}
	require.Greater(t, refused, 50)
}
