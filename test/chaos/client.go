//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"
)

// client is the service as somebody outside sees it, through outages.
type client struct {
	base string
	http *http.Client
}

func newClient(base string) *client {
	return &client{base: base, http: &http.Client{Timeout: 30 * time.Second}}
}

// send returns the status and body of an answer, 0 where there was none.
func (c *client) send(ctx context.Context, method, path string, body []byte, headers ...string) (int, []byte) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, []byte(err.Error())
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return resp.StatusCode, raw
}

// untilReady waits for the first start of the service.
func (c *client) untilReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the service did not get ready"))
	defer cancel()
	for {
		if status, _ := c.send(ctx, http.MethodGet, "/readyz", nil); status == http.StatusOK {
			return nil
		}
		if !pause(ctx, 100*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// submit sends a graph and reports whether the answer says that it is kept.
func (c *client) submit(ctx context.Context, graph string) (id string, accepted bool) {
	status, body := c.send(ctx, http.MethodPost, "/api/prompt", []byte(graph))
	var answer struct {
		ID string `json:"prompt_id"`
	}
	if status != http.StatusOK || json.Unmarshal(body, &answer) != nil {
		return "", false
	}
	return answer.ID, answer.ID != ""
}

// state is the word of the cloud surface for a job; "" = not known now, "unknown" = the service has no such job.
func (c *client) state(ctx context.Context, id string) string {
	status, body := c.send(ctx, http.MethodGet, "/api/job/"+id+"/status", nil)
	if status == http.StatusNotFound {
		return "unknown"
	}
	var answer struct{ Status string }
	if status != http.StatusOK || json.Unmarshal(body, &answer) != nil {
		return ""
	}
	return answer.Status
}

// queued returns how long a job waited for a slot; 0 = not at all, or it is not known now.
func (c *client) queued(ctx context.Context, id string) time.Duration {
	status, body := c.send(ctx, http.MethodGet, "/api/v2/jobs/"+id, nil)
	var answer struct {
		Metrics struct {
			Queue int64 `json:"queue_ms"`
		}
	}
	if status != http.StatusOK || json.Unmarshal(body, &answer) != nil {
		return 0
	}
	return time.Duration(answer.Metrics.Queue) * time.Millisecond
}

// untilGoesOn waits until a job is further than at the first answer about it, or has completed.
func (c *client) untilGoesOn(ctx context.Context, id string) error {
	for first := ""; ; {
		status, body := c.send(ctx, http.MethodGet, "/api/v2/jobs/"+id, nil)
		var answer struct {
			Status   string
			Progress json.RawMessage
		}
		if status == http.StatusOK && json.Unmarshal(body, &answer) == nil {
			switch now := answer.Status + string(answer.Progress); {
			case answer.Status == "failed", answer.Status == "canceled":
				return fmt.Errorf("the interrupted job is %s", answer.Status)
			case first == "" && answer.Status != "succeeded":
				first = now
			case now != first:
				return nil
			}
		}
		if !pause(ctx, 20*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// outputs returns the names of the files that a job put out.
func (c *client) outputs(ctx context.Context, id string) (names []string, failure string, err error) {
	status, body := c.send(ctx, http.MethodGet, "/api/v2/jobs/"+id, nil)
	var answer struct {
		Outputs []struct{ Name string }
		Error   json.RawMessage
	}
	if status != http.StatusOK {
		return nil, "", fmt.Errorf("status %d: %s", status, body)
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, "", err
	}
	for _, o := range answer.Outputs {
		names = append(names, o.Name)
	}
	return names, string(answer.Error), nil
}

// hasFile reports whether an output file of a name is served.
func (c *client) hasFile(ctx context.Context, name string) (bool, error) {
	status, body := c.send(ctx, http.MethodGet, "/api/view?type=output&filename="+name, nil)
	switch status {
	case http.StatusOK:
		return true, nil
	case http.StatusNotFound:
		return false, nil
	}
	return false, fmt.Errorf("status %d: %s", status, body)
}

// upload sends a file and returns its asset's id if the answer says that it is kept.
func (c *client) upload(ctx context.Context, name string, content []byte) (id string, accepted bool) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for _, field := range [][2]string{{"content_type", "application/octet-stream"}, {"file_path", name}} {
		if err := w.WriteField(field[0], field[1]); err != nil {
			return "", false
		}
	}
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		return "", false
	}
	if _, err := part.Write(content); err != nil || w.Close() != nil {
		return "", false
	}
	status, body := c.send(ctx, http.MethodPost, "/api/v2/assets", form.Bytes(), "Content-Type", w.FormDataContentType())
	var answer struct{ ID string }
	if status != http.StatusCreated && status != http.StatusOK || json.Unmarshal(body, &answer) != nil {
		return "", false
	}
	return answer.ID, answer.ID != ""
}

const model = "/v2/models/sim/image/requests"

// order sends a request to the model and returns its id if the answer says that it is kept. again says that the same
// request, with the same key, may be sent again.
func (c *client) order(ctx context.Context, marker string) (id string, again bool) {
	body := fmt.Sprintf(`{"prompt":"%s [sim:delay=700ms]"}`, marker)
	status, answer := c.send(ctx, http.MethodPost, model, []byte(body), "Idempotency-Key", marker)
	var kept struct {
		ID string `json:"request_id"`
	}
	if status/100 == 2 && json.Unmarshal(answer, &kept) == nil && kept.ID != "" {
		return kept.ID, false
	}
	return "", status == 0 || status >= 500 || status == http.StatusConflict || status == http.StatusTooManyRequests
}

// result returns the answer to a request: 0 or 202 while there is none.
func (c *client) result(ctx context.Context, id string) (int, []byte) {
	return c.send(ctx, http.MethodGet, model+"/"+id, nil)
}

// Each graph saves one picture under a prefix of its own, so that a second run would show as a second number, and in a
// colour of its own, so that no job is answered from the cache.
func colour(prefix string) uint32 { return crc32.ChecksumIEEE([]byte(prefix)) & 0xffffff }

// cheap is a graph of milliseconds. A probe does not wait behind the load.
func cheap(prefix string) string {
	return fmt.Sprintf(`{"front":%t,"prompt":{
		"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":%d}},
		"2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},
		"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":%q}}}}`, strings.Contains(prefix, "probe"), colour(prefix), prefix)
}

func long(prefix string) string {
	return fmt.Sprintf(`{"prompt":{
		"1":{"class_type":"EmptyImage","inputs":{"width":1536,"height":1536,"batch_size":1,"color":%d}},
		"2":{"class_type":"ImageBlur","inputs":{"image":["1",0],"blur_radius":31,"sigma":2.0}},
		"3":{"class_type":"ImageSharpen","inputs":{"image":["2",0],"sharpen_radius":31,"sigma":2.0,"alpha":1.0}},
		"4":{"class_type":"ImageBlur","inputs":{"image":["3",0],"blur_radius":31,"sigma":2.0}},
		"5":{"class_type":"ImageScale","inputs":{"image":["4",0],"upscale_method":"lanczos","width":256,"height":256,"crop":"disabled"}},
		"6":{"class_type":"SaveImage","inputs":{"images":["5",0],"filename_prefix":%q}}}}`, colour(prefix), prefix)
}

func painted(prefix string) string {
	return fmt.Sprintf(`{"prompt":{
		"1":{"class_type":"Partner_sim_image","inputs":{"prompt":%q}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":%q}}}}`, prefix+" [sim:delay=700ms]", prefix)
}
