package outbound

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/millrace-dev/millrace/internal/fault"
)

// SourceFault returns the failure of an exchange with an address that a client named, as that client learns it: Invalid,
// with a code that says what is wrong with the source. Content that is too large is the caller's to report.
func SourceFault(err error) error {
	var status StatusError
	switch {
	case fault.CodeOf(err) == fault.CodeNameNotAllowed: // answered like a name that does not exist
		return fault.Wrap(err, fault.Invalid, fault.CodeSourceUnreachable, "the source cannot be reached")
	case fault.CodeOf(err) == fault.CodeAddressNotAllowed:
		return fault.Wrap(err, fault.Invalid, fault.CodeSourceUnsupported, "this address is not fetched: only public https addresses are")
	case errors.As(err, &status):
		return sourceStatusFault(int(status), err)
	case errors.Is(err, ErrSlow), errors.Is(err, ErrStalled), errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Invalid, fault.CodeSourceTimeout, "the source took too long")
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
	return fault.Wrap(err, fault.Invalid, code, "the source answered %d", status)
}

// Sources returns what fetches addresses that clients name, within b: Fetch, whose failures, and those of reading the
// content, are what the client learns. The hosts of allow are reached although they are not public.
func (c *Client) Sources(b Bounds, allow ...string) func(ctx context.Context, address string) (content io.ReadCloser, contentType string, size int64, err error) {
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
	ctx    context.Context //nolint:containedctx // of the one fetch that this value is made for
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
