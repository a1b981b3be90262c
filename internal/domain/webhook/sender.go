package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Wire sends requests to permitted addresses only and follows no redirects. outbound.Client implements it.
type Wire interface {
	RoundTrip(req *http.Request, allow []string) (*http.Response, error)
}

// maxResponse bounds how much of a response body is read. The body is discarded; reading it lets the connection be
// reused.
const maxResponse = 4 << 10

// response is the response of an endpoint to a message.
type response struct {
	Try
	retryAfter time.Duration
}

func (a response) isGone() bool { return a.Status == http.StatusGone }

// send makes one attempt.
func send(ctx context.Context, wire Wire, allow []string, p endpointSecrets, d Delivery) (response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, bytes.NewReader(d.Body))
	if err != nil {
		return response{}, errors.New("the address of a webhook cannot be asked") // without the address
	}
	began := time.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "millrace-webhooks")
	if err := p.sign(req.Header, d.ID.String(), began, d.Body); err != nil {
		return response{}, err
	}
	resp, err := wire.RoundTrip(req, allow)
	a := response{Try: Try{At: began.UTC(), Millis: time.Since(began).Milliseconds()}}
	if err != nil {
		a.Error = problem(err)
		return a, nil
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, maxResponse) //nolint:errcheck // the status is the answer
	a.Status = resp.StatusCode
	switch {
	case a.Status >= 300 && a.Status < 400:
		a.Error = Redirected
	case a.Status < 200 || a.Status > 299:
		a.Error, a.retryAfter = Refused, retryAfter(resp)
	}
	return a, nil
}

// retryAfter returns the Retry-After of a busy endpoint if it is given in seconds. Dates are ignored.
func retryAfter(resp *http.Response) time.Duration {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
}

// problem classifies a network error. The error's text may contain the secret URL, so it is dropped.
func problem(err error) Problem {
	var name *net.DNSError
	var timeout net.Error
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	switch {
	case fault.CodeOf(err) == fault.CodeAddressNotAllowed:
		return NotAllowed
	case fault.CodeOf(err) == fault.CodeNameNotAllowed:
		return NoName
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	case errors.As(err, &name):
		return NoName
	case errors.As(err, &verification), errors.As(err, &record), errors.As(err, &alert), errors.As(err, &unknown), errors.As(err, &host):
		return BadTLS
	case errors.As(err, &timeout) && timeout.Timeout():
		return TimedOut
	default:
		return Unreachable
	}
}
