package e2e_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// editedGraph inverts the colours of a picture.
const editedGraph = `{"9001":{"class_type":"LoadImage","inputs":{"image":"example.png"}},
	"9002":{"class_type":"ImageInvert","inputs":{"image":["9001",0]}},
	"9003":{"class_type":"SaveImage","inputs":{"images":["9002",0],"filename_prefix":"edited"}}}`

func TestTheImagesAPIOfOpenAI(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	c.deploy("portrait", 16, "")
	generations := "/openai/v1/images/generations"

	made := c.json("POST", generations, `{"model":"portrait","width":24,"n":2,"user":"kim"}`)
	data, _ := made["data"].([]any)
	require.Len(t, data, 2)
	for _, picture := range data {
		raw, err := base64.StdEncoding.DecodeString(picture.(map[string]any)["b64_json"].(string))
		require.NoError(t, err)
		require.Equal(t, "\x00\x00\x00\x18", string(raw[16:20]), "the width in the header of the PNG")
	}
	r := c.do("POST", generations, `{"model":"portrait","response_format":"url"}`)
	require.Equal(t, http.StatusOK, r.status, r.body)
	require.Equal(t, "portrait@1", r.header.Get("X-Millrace-Deployment"))
	r.hasNoNode(t)
	link := decode(t, r.body)["data"].([]any)[0].(map[string]any)["url"].(string)
	require.Equal(t, http.StatusOK, c.do("GET", link, "").status)

	models := c.json("GET", "/openai/v1/models", "")
	require.Equal(t, "portrait", models["data"].([]any)[0].(map[string]any)["id"])
	require.Equal(t, "model", c.json("GET", "/openai/v1/models/portrait", "")["object"])

	for body, want := range map[string]string{
		`{"model":"portrait","prompt":"a cat"}`:        "400 invalid_request_error prompt",
		`{"model":"portrait","quality":"hd"}`:          "400 invalid_request_error quality",
		`{"model":"portrait","size":"1024x1024"}`:      "400 invalid_request_error size",
		`{"model":"portrait","width":"wide"}`:          "400 invalid_request_error width",
		`{"model":"portrait","n":50}`:                  "400 invalid_request_error n",
		`{"model":"portrait","response_format":"gif"}`: "400 invalid_request_error response_format",
		`{"model":"landscape"}`:                        "404 invalid_request_error model",
		`{}`:                                           "400 invalid_request_error model",
		`{"model":"portrait","width":24`:               "400 invalid_request_error <nil>",
	} {
		r := c.do("POST", generations, body)
		refused, _ := decode(t, r.body)["error"].(map[string]any)
		require.Equal(t, want, fmt.Sprint(r.status, " ", refused["type"], " ", refused["param"]), "%s: %s", body, r.body)
		r.hasNoNode(t)
	}
	long, two := strings.Repeat("k", 251), `{"model":"portrait","width":40,"n":2,"response_format":"url"}`
	r = c.do("POST", generations, two, "Idempotency-Key", long)
	require.Equal(t, http.StatusBadRequest, r.status, r.body)
	before := len(c.json("GET", "/api/v2/jobs", "")["jobs"].([]any))
	for range 2 {
		r = c.do("POST", generations, two, "Idempotency-Key", long[:250])
		require.Equal(t, http.StatusOK, r.status, r.body)
		require.Len(t, decode(t, r.body)["data"], 2)
	}
	require.Len(t, c.json("GET", "/api/v2/jobs", "")["jobs"], before+2, "a repeated request makes no job")
	c.manage("portrait", "stop", "")
	r = c.do("POST", generations, `{"model":"portrait"}`)
	require.Equal(t, http.StatusBadRequest, r.status)
	require.Contains(t, r.body, "deployment_stopped")
}

func TestPicturesAreEditedByTheImagesAPIOfOpenAI(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	status, body := c.tryDeploy("invert", editedGraph, `"inputs":["image=9001.image"],"outputs":["picture=9003"]`)
	require.Equal(t, http.StatusOK, status, body)
	form := "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\ninvert\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"image[]\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n" +
		string(tinyPNG(t)) + "\r\n--b--\r\n"
	r := c.do("POST", "/openai/v1/images/edits", form, "Content-Type", "multipart/form-data; boundary=b")
	require.Equal(t, http.StatusOK, r.status, r.body)
	require.Len(t, decode(t, r.body)["data"], 1)
	wrong := strings.Replace(form, "image[]", "photo", 1)
	r = c.do("POST", "/openai/v1/images/edits", wrong, "Content-Type", "multipart/form-data; boundary=b")
	require.Equal(t, http.StatusBadRequest, r.status, r.body)
	require.Equal(t, "photo", decode(t, r.body)["error"].(map[string]any)["param"])
}
