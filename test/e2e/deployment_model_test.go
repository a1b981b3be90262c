package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const portraitModel = "/v2/models/deployments/portrait"

func TestADeploymentIsAModelOfTheRouter(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	c.deploy("portrait", 16, "")

	var listed []string
	for next := "/v2/models?limit=2"; next != ""; {
		page := c.json("GET", next, "")
		for _, m := range page["data"].([]any) {
			listed = append(listed, m.(map[string]any)["id"].(string))
		}
		next = ""
		if page["has_more"] == true {
			next = "/v2/models?limit=2&cursor=" + page["next_cursor"].(string)
		}
	}
	require.Contains(t, listed, "deployments/portrait")
	require.IsIncreasing(t, listed)
	require.Equal(t, "portrait", c.json("GET", portraitModel, "")["model"])

	document := c.do("GET", portraitModel+"/openapi.json", "")
	require.Equal(t, http.StatusOK, document.status)
	require.Contains(t, document.body, `"width"`)
	document.hasNoNode(t)
	unchanged := c.do("GET", portraitModel+"/openapi.json", "", "If-None-Match", document.header.Get("ETag"))
	require.Equal(t, http.StatusNotModified, unchanged.status)
	require.Equal(t, "exact", c.json("POST", portraitModel+"/estimate", `{"width":24}`)["source"], "the service charges nothing for jobs")

	key := uuid.NewString()
	r := c.do("POST", portraitModel, `{"width":24}`, "Idempotency-Key", key)
	require.Equal(t, http.StatusOK, r.status, r.body)
	require.Equal(t, "portrait@1", r.header.Get("X-Millrace-Deployment"))
	identified(t, r)
	r.hasNoNode(t)
	pictures := decode(t, r.body)["outputs"].(map[string]any)["picture"].([]any)
	require.Len(t, pictures, 1)
	picture := pictures[0].(map[string]any)
	require.Equal(t, "image/png", picture["content_type"])
	require.Equal(t, "\x00\x00\x00\x18", c.do("GET", picture["url"].(string), "").body[16:20], "the width in the header of the PNG")
	require.Equal(t, http.StatusOK, c.do("GET", "/api/v2/assets/"+picture["asset_id"].(string), "").status)

	again := c.do("POST", portraitModel, `{"width":24}`, "Idempotency-Key", key)
	require.Equal(t, http.StatusOK, again.status, again.body)
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	require.Contains(t, again.body, picture["asset_id"])
	turnedDown(t, c.do("POST", portraitModel, `{"width":25}`, "Idempotency-Key", key), 409, "invalid_input")
	require.Len(t, c.json("GET", "/deployment/portrait/api/v2/jobs", "")["jobs"], 1, "one key is one job")
}

func TestCallsOfADeploymentAreQueuedByTheRouter(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	c.deploy("portrait", 16, "")
	key := uuid.NewString()
	r := c.do("POST", portraitModel+"/requests", `{}`, "Idempotency-Key", key)
	require.Equal(t, http.StatusCreated, r.status, r.body)
	queued := decode(t, r.body)
	id, _ := queued["request_id"].(string)
	require.Equal(t, id, r.header.Get("X-Comfy-Request-Id"))
	require.Equal(t, c.base+portraitModel+"/requests/"+id, queued["response_url"])
	again := c.do("POST", portraitModel+"/requests", `{}`, "Idempotency-Key", key)
	require.Equal(t, id, decode(t, again.body)["request_id"])
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))

	c.await(id, "completed")
	status := c.json("GET", queued["status_url"].(string), "")
	require.Equal(t, "COMPLETED", status["status"])
	require.NotContains(t, status, "error_type")
	result := c.do("GET", queued["response_url"].(string), "")
	require.Equal(t, http.StatusOK, result.status, result.body)
	require.Contains(t, result.body, `"picture"`)
	require.Equal(t, "ALREADY_COMPLETED", decode(t, c.do("PUT", queued["cancel_url"].(string), "").body)["status"])
	for _, unknown := range []string{uuid.NewString(), "x", strings.ToUpper(id)} {
		turnedDown(t, c.do("GET", portraitModel+"/requests/"+unknown, ""), 404, "request_not_found")
	}
	turnedDown(t, newClient(t, "creator").do("GET", queued["status_url"].(string), ""), 404, "request_not_found")
	plain := c.submit(strings.ReplaceAll(cheapGraph, "PREFIX", "plain"))
	turnedDown(t, c.do("GET", portraitModel+"/requests/"+plain, ""), 404, "request_not_found")
}

func TestTheRouterRefusesCallsOfADeployment(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	c.deploy("portrait", 16, "")
	for name, refused := range map[string]struct {
		of          *client
		path, body  string
		status      int
		error, says string
	}{
		"a wrong value":    {c, "portrait", `{"width":"wide"}`, 422, "invalid_input", `"loc":["body","width"]`},
		"an unknown input": {c, "portrait", `{"hight":1}`, 422, "invalid_input", `"loc":["body","hight"]`},
		"no object":        {c, "portrait", `[1]`, 400, "invalid_input", "JSON object"},
		"no JSON":          {c, "portrait", `{`, 400, "invalid_input", "JSON object"},
		"another server":   {c, "portrait?model_provider=fal", `{}`, 400, "invalid_input", "model_provider"},
		"another account":  {newClient(t, "creator"), "portrait", `{}`, 404, "model_not_found", "portrait"},
		"an unknown name":  {c, "landscape", `{}`, 404, "model_not_found", "landscape"},
	} {
		for _, route := range []string{"", "/requests", "/estimate"} {
			path, query, _ := strings.Cut(refused.path, "?")
			r := refused.of.do("POST", "/v2/models/deployments/"+path+route+"?"+query, refused.body)
			require.Contains(t, r.body, refused.says, name)
			turnedDown(t, r, refused.status, refused.error)
		}
	}
	c.manage("portrait", "stop", "")
	r := c.do("POST", portraitModel, `{}`)
	turnedDown(t, r, 404, "model_not_found")
	require.Contains(t, r.body, "stopped")
	require.NotContains(t, c.do("GET", "/v2/models?limit=100", "").body, "deployments/portrait")
	require.Empty(t, c.json("GET", "/deployment/portrait/api/v2/jobs", "")["jobs"], "no refused call made a job")

	status, body := c.tryDeploy("unready", `{"9001":{"class_type":"NobodyHasThis","inputs":{"text":"a"}},
		"9002":{"class_type":"SaveImage","inputs":{"images":["9001",0],"filename_prefix":"x"}}}`,
		`"inputs":["text=9001.text"],"outputs":["9002"]`)
	require.Equal(t, http.StatusOK, status, fmt.Sprint(body))
	r = c.do("POST", "/v2/models/deployments/unready", `{}`)
	turnedDown(t, r, 503, "service_unavailable")
	require.Regexp(t, `^[1-9][0-9]*$`, r.header.Get("Retry-After"))
}
