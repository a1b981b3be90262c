package outbound

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// StatusError is the HTTP status of an unsuccessful answer, as the cause of a fault.
type StatusError int

// Error implements error.
func (e StatusError) Error() string { return fmt.Sprintf("the server answered with status %d", int(e)) }

func statusFault(status int) error {
	return fault.Wrap(StatusError(status), fault.Unavailable, fault.CodeFetchStatus, "the server answered with status %d", status)
}

// Resource describes the content of an address, as its server reports it.
type Resource struct {
	URL         string // the final URL, after redirects
	ContentType string // "" = not said
	Size        int64  // in bytes; -1 = unknown
	Filename    string // as the server suggests it, else the last part of the path; "" = neither
}

// statTime bounds a Stat, which reads only headers.
const statTime = 20 * time.Second

// Stat describes the content of an address without reading it, under the rules of Fetch. It uses HEAD and, if the
// server does not answer HEAD, a GET whose body is not read.
func (c *Client) Stat(ctx context.Context, address string, allow []string) (Resource, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return Resource{}, fault.New(fault.Denied, fault.CodeAddressNotAllowed,
			"the address cannot be fetched: it is not a URL with a host and without credentials")
	}
	ctx, watch := Watch(ctx, statTime, statTime)
	defer watch.Stop()
	about, err := c.request(ctx, http.MethodHead, address, allow)
	var refused StatusError
	if errors.As(err, &refused) && refused != http.StatusTooManyRequests {
		about, err = c.request(ctx, http.MethodGet, address, allow)
	}
	if err != nil {
		return Resource{}, classified(watch.Cause(withoutAddress(err)))
	}
	return about, nil
}

func (c *Client) request(ctx context.Context, method, address string, allow []string) (Resource, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return Resource{}, fault.New(fault.Denied, fault.CodeAddressNotAllowed,
			"the address cannot be fetched: it is not a URL with a host and without credentials")
	}
	if method == http.MethodGet {
		req.Header.Set("Range", "bytes=0-0")
	}
	resp, err := c.follow(allow).Do(req)
	if err != nil {
		return Resource{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent {
		return Resource{}, statusFault(resp.StatusCode)
	}
	return resourceOf(resp), nil
}

func resourceOf(resp *http.Response) Resource {
	a := Resource{URL: resp.Request.URL.String(), ContentType: resp.Header.Get("Content-Type"), Size: resp.ContentLength}
	if resp.StatusCode == http.StatusPartialContent {
		a.Size = -1
		if _, whole, ok := strings.Cut(resp.Header.Get("Content-Range"), "/"); ok {
			if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
				a.Size = n
			}
		}
	}
	_, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition"))
	if err == nil && params["filename"] != "" {
		a.Filename = path.Base(strings.ReplaceAll(params["filename"], `\`, "/"))
	} else if base := path.Base(resp.Request.URL.Path); base != "/" && base != "." {
		a.Filename = base
	}
	return a
}
