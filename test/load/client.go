//go:build linux

package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Client is a client of the service that works through outages.
type Client struct {
	http     *http.Client
	patience time.Duration // time for which a request is repeated; 0 = the request is sent once
	deployed int           // number of clients that call the deployment in each way; 0 = the service does not have the deployment

	mu    sync.Mutex // guards the fields below
	bases []string   // the first one receives the requests
	seen  Seen
}

// NewClient returns a client that sends each request once.
func NewClient(base string) *Client { return NewPatientClient(0, base) }

// Send returns the status and body of an answer, or status 0 without an answer.
func (c *Client) Send(ctx context.Context, method, path string, body []byte, headers ...string) (int, []byte) {
	for until := time.Now().Add(c.patience); ; {
		status, answer, after := c.sendOnce(ctx, method, path, body, headers)
		final := status != 0 && after == 0
		if final || !c.waits(ctx, after, until) {
			if final || ctx.Err() == nil { // an error after the client has stopped does not count
				c.note(status, method+" "+path, answer)
			}
			return status, answer
		}
	}
}

// sendOnce also returns the Retry-After of the answer; 0 means that the answer has none.
func (c *Client) sendOnce(ctx context.Context, method, path string, body []byte,
	headers []string,
) (status int, answer []byte, after time.Duration) {
	base := c.base()
	if strings.HasPrefix(path, "http://") { // an address that the service returned
		base = ""
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return 0, []byte(err.Error()), 0
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.leave(base)
		return 0, []byte(err.Error()), 0
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.leave(base)
		return 0, []byte(err.Error()), 0
	}
	return resp.StatusCode, raw, retryAfter(resp)
}

// UntilReady waits until the service has started.
func (c *Client) UntilReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the service did not get ready"))
	defer cancel()
	for {
		if status, _ := c.Send(ctx, http.MethodGet, "/readyz", nil); status == http.StatusOK {
			return nil
		}
		if !Pause(ctx, 100*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// Submit sends a graph and reports whether the service accepted it. A patient client chooses the job's id, so that it
// can repeat a submission whose answer was lost: the service has at most one job with an id.
func (c *Client) Submit(ctx context.Context, graph string) (id string, accepted bool) {
	if c.patience > 0 {
		id = uuid.NewString()
		graph = strings.Replace(graph, "{", fmt.Sprintf(`{"prompt_id":%q,`, id), 1)
	}
	status, body := c.Send(ctx, http.MethodPost, "/api/prompt", []byte(graph))
	if status == http.StatusConflict && c.patience > 0 {
		return id, true
	}
	var answer struct {
		ID string `json:"prompt_id"`
	}
	if status != http.StatusOK || json.Unmarshal(body, &answer) != nil {
		return "", false
	}
	return answer.ID, answer.ID != ""
}

// State returns the status of a job on the cloud surface; "" = not known now, "unknown" = the service has no such
// job.
func (c *Client) State(ctx context.Context, id string) string {
	status, body := c.Send(ctx, http.MethodGet, "/api/job/"+id+"/status", nil)
	if status == http.StatusNotFound {
		return "unknown"
	}
	var answer struct{ Status string }
	if status != http.StatusOK || json.Unmarshal(body, &answer) != nil {
		return ""
	}
	return answer.Status
}

// Queued returns how long a job waited for a slot; 0 = it did not wait, or the time is not known now.
func (c *Client) Queued(ctx context.Context, id string) time.Duration {
	status, body := c.Send(ctx, http.MethodGet, "/api/v2/jobs/"+id, nil)
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

// UntilGoesOn waits until a job has progressed since the first answer about it, or has completed.
func (c *Client) UntilGoesOn(ctx context.Context, id string) error {
	for first := ""; ; {
		status, body := c.Send(ctx, http.MethodGet, "/api/v2/jobs/"+id, nil)
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
		if !Pause(ctx, 20*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// outputs returns the names of a job's output files.
func (c *Client) outputs(ctx context.Context, id string) (names []string, failure string, err error) {
	status, body := c.Send(ctx, http.MethodGet, "/api/v2/jobs/"+id, nil)
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
func (c *Client) hasFile(ctx context.Context, name string) (bool, error) {
	status, body := c.Send(ctx, http.MethodGet, "/api/view?type=output&filename="+name, nil)
	switch status {
	case http.StatusOK:
		return true, nil
	case http.StatusNotFound:
		return false, nil
	}
	return false, fmt.Errorf("status %d: %s", status, body)
}

// Upload sends a file and returns its asset's id if the service accepted it, and the status of the answer.
func (c *Client) Upload(ctx context.Context, name string, content []byte, headers ...string) (status int, id string) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for _, field := range [][2]string{{"content_type", "application/octet-stream"}, {"file_path", name}} {
		if err := w.WriteField(field[0], field[1]); err != nil {
			return 0, ""
		}
	}
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		return 0, ""
	}
	if _, err := part.Write(content); err != nil || w.Close() != nil {
		return 0, ""
	}
	headers = append(headers, "Content-Type", w.FormDataContentType())
	status, body := c.Send(ctx, http.MethodPost, "/api/v2/assets", form.Bytes(), headers...)
	var answer struct{ ID string }
	if status != http.StatusCreated && status != http.StatusOK || json.Unmarshal(body, &answer) != nil {
		return status, ""
	}
	return status, answer.ID
}

const model = "/v2/models/sim/image/requests"

// Order sends a request to the model and returns its id if the service accepted it. again reports that the same
// request, with the same key, may be sent again.
func (c *Client) Order(ctx context.Context, marker string) (id string, again bool) {
	body := fmt.Sprintf(`{"prompt":"%s [sim:delay=700ms]"}`, marker)
	status, answer := c.Send(ctx, http.MethodPost, model, []byte(body), "Idempotency-Key", marker)
	var kept struct {
		ID string `json:"request_id"`
	}
	if status/100 == 2 && json.Unmarshal(answer, &kept) == nil && kept.ID != "" {
		return kept.ID, false
	}
	return "", status == 0 || status >= 500 || status == http.StatusConflict || status == http.StatusTooManyRequests
}

// Result returns the answer to a request; the status is 0 or 202 while there is no answer.
func (c *Client) Result(ctx context.Context, id string) (int, []byte) {
	return c.Send(ctx, http.MethodGet, model+"/"+id, nil)
}

// SubmitUntilAccepted submits graphs, a new one each time, until one is accepted, and returns the job's id.
func (c *Client) SubmitUntilAccepted(ctx context.Context, graph func(n int) string) (string, error) {
	for n := 0; ; n++ {
		if id, accepted := c.Submit(ctx, graph(n)); accepted {
			return id, nil
		}
		if !Pause(ctx, 50*time.Millisecond) {
			return "", context.Cause(ctx)
		}
	}
}

// UntilCompleted waits until a job has completed.
func (c *Client) UntilCompleted(ctx context.Context, id string) error {
	for {
		switch state := c.State(ctx, id); state {
		case "completed":
			return nil
		case "failed", "cancelled", "unknown":
			return fmt.Errorf("the job that was to show the recovery is %s", state)
		}
		if !Pause(ctx, 50*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// ours returns an address of the service without its host, and any other address unchanged.
func (c *Client) ours(address string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, base := range c.bases {
		if path, ok := strings.CutPrefix(address, base); ok {
			return path
		}
	}
	return address
}
