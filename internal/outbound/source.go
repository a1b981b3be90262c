package outbound

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/millrace-dev/millrace/internal/fault"
)

// SourceFault converts an error of an exchange with an address that a client chose to the error that the client gets:
// Invalid, with a code for the problem of the source. Content that is too large is left to the caller.
func SourceFault(err error) error {
	var status StatusError
	switch {
	case fault.CodeOf(err) == fault.CodeNameNotAllowed: // the same answer as for a name that does not exist
		return fault.Wrap(err, fault.Invalid, fault.CodeSourceUnreachable, "the source cannot be reached")
	case fault.CodeOf(err) == fault.CodeAddressNotAllowed:
		return fault.Wrap(err, fault.Invalid, fault.CodeSourceUnsupported,
			"the address cannot be fetched: only public https addresses are supported")
	case errors.As(err, &status):
		return sourceStatusFault(int(status), err)
	case errors.Is(err, ErrSlow), errors.Is(err, ErrStalled), errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Invalid, fault.CodeSourceTimeout, "the source did not answer in time")
	}
	return fault.Wrap(err, fault.Invalid, fault.CodeSourceUnreachable, "the source cannot be reached")
}

func sourceStatusFault(status int, err error) error {
	code := fault.CodeSourceHTTPError
	switch {
	case status == http.StatusUnauthorized:
		code = fault.CodeSourceUnauthorized
	case status == http.StatusForbidden:
		code = fault.CodeSourceForbidden
	case status == http.StatusNotFound, status == http.StatusGone:
		code = fault.CodeSourceNotFound
	case status == http.StatusTooManyRequests:
		code = fault.CodeSourceRateLimited
	case status >= http.StatusInternalServerError:
		code = fault.CodeSourceServerError
	}
	return fault.Wrap(err, fault.Invalid, code, "the source answered with status %d", status)
}

// Sources returns a Fetcher for addresses that clients choose, bounded by b. Its errors, including those of reading
// the content, are suitable for clients. The hosts in allow may be reached although they are not public.
func (c *Client) Sources(b Bounds, allow ...string) func(ctx context.Context, address string) (content io.ReadCloser, contentType string,
	size int64, err error) {
	b = b.filled()
	return func(ctx context.Context, address string) (io.ReadCloser, string, int64, error) {
		fetched, err := c.Fetch(ctx, address, b, allow)
		if err != nil {
			return nil, "", 0, sourceError(ctx, b, err)
		}
		return &source{ReadCloser: fetched, ctx: ctx, bounds: b}, fetched.ContentType, fetched.Size, nil
	}
}

// source is the content of a source.
type source struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // the context of the fetch
	bounds Bounds
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = sourceError(s.ctx, s.bounds, err)
	}
	return n, err
}

func sourceError(ctx context.Context, b Bounds, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrTooLarge):
		return fault.Wrap(err, fault.Invalid, fault.CodeSourceTooLarge, "the file is larger than %d bytes", b.Bytes)
	}
	return SourceFault(err)
}
