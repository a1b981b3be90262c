package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Call sends a request with a JSON body and reads the answer into into, unless that is nil. An answer
// other than 2xx is an error.
func Call(ctx context.Context, c *http.Client, method, address, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	return Do(c, req, into)
}

// Do is Call for a request that the caller has built. If the service is busy, Do repeats the request after the
// Retry-After.
func Do(c *http.Client, req *http.Request, into any) error {
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err == nil && resp.StatusCode == http.StatusTooManyRequests && req.GetBody != nil {
		resp.Body.Close()
		if req.Body, err = req.GetBody(); err != nil {
			return err
		}
		if err := pause.For(req.Context(), time.Duration(seconds)*time.Second); err != nil {
			return err
		}
		return Do(c, req, into)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", req.Method, req.URL, resp.Status, raw)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}
