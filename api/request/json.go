// Package request reads what clients send: JSON bodies, forms with a file, and the parameters of queries. It promises
// that no client makes the service keep more, or wait longer, than its bounds say, and that what it refuses is an
// error whose text a client can act on. What the values mean is decided by the surfaces.
package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/fault"
)

// maxTime is how long a client may take to send a JSON body.
const maxTime = time.Minute

// JSON decodes the body into v. Unknown fields are ignored: real clients of
// these contracts send more than the contracts name.
func JSON(c *gin.Context, v any) error {
	return Submission(c, v, MaxMembers)
}

// Submission is JSON for a body that may have so many members.
func Submission(c *gin.Context, v any, members int) error {
	raw, err := Read(c)
	if err != nil {
		return err
	}
	return decodeObject(raw, v, members)
}

// OptionalJSON is JSON for routes whose body may be empty.
func OptionalJSON(c *gin.Context, v any) error {
	raw, err := Read(c)
	if err != nil || len(raw) == 0 {
		return err
	}
	return decodeObject(raw, v, MaxMembers)
}

// Value is JSON for routes whose body is any JSON value, null included.
func Value(c *gin.Context, v any) error {
	raw, err := Read(c)
	if err == nil {
		err = CheckShape(raw, MaxMembers)
	}
	if err != nil {
		return err
	}
	return Decode(raw, v)
}

// decodeObject is Decode of a body within bounds. null is not taken for an empty object: what a client leaves out may
// mean all of something.
func decodeObject(raw []byte, v any, members int) error {
	if string(bytes.TrimSpace(raw)) == "null" {
		return httperr.Invalidf("the body must not be null")
	}
	if err := CheckShape(raw, members); err != nil {
		return err
	}
	return Decode(raw, v)
}

// Read reads the body, whose size the route bounds, and bounds the time it takes. The
// deadline is lifted afterwards: the connection may go on to be a stream.
func Read(c *gin.Context) ([]byte, error) {
	conn := http.NewResponseController(c.Writer)
	if err := conn.SetReadDeadline(time.Now().Add(maxTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	raw, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return nil, err // the connection is not used again
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return raw, nil
}

// Decode decodes a body that was read into v, as JSON does.
func Decode(raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s cannot be a JSON %s", wrongType.Field, wrongType.Value)
	case errors.As(err, &wrongType):
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "the body cannot be a JSON %s", wrongType.Value)
	default:
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidJSON, "the request body is not valid JSON")
	}
}

// Strict decodes a body whose contract is ours: unknown fields are refused. An empty body is {}.
func Strict(c *gin.Context, v any) error {
	raw, err := Read(c)
	if err != nil || len(raw) == 0 {
		return err
	}
	if err := decodeObject(raw, v, MaxMembers); err != nil {
		return err
	}
	if HasNUL(raw) {
		return httperr.Invalidf("the body must not hold NUL characters")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "the body has an unknown field")
	}
	return nil
}

// Bound refuses a body that announces more than limit bytes and cuts off one that announces less than it sends.
func Bound(c *gin.Context, limit int64) error {
	if c.Request.ContentLength > limit {
		return httperr.TooLarge(limit)
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, limit)
	return nil
}

// Watch makes failures to read the body of r an httperr.BodyError, until restored. net/http has to find its own body in the end: of
// others it does not know how much is left, and waits for it before it sends an answer.
func Watch(r *http.Request) (restore func()) {
	own := r.Body
	r.Body = clientBody{own}
	return func() { r.Body = own }
}

// clientBody tells failures of the client's connection and framing from ours.
type clientBody struct{ io.ReadCloser }

// Read implements io.Reader.
func (b clientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF { // io.Reader returns EOF itself
		err = &httperr.BodyError{Err: err}
	}
	return n, err
}
