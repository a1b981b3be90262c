// Package request reads the parts of requests: JSON bodies, forms with a file, and query parameters. It promises that
// no client makes the service store more, or wait longer, than the bounds allow, and that a refusal is an error with
// a text that a client can act on. The surfaces interpret the values.
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

// maxTime bounds the time in which a client must send a JSON body.
const maxTime = time.Minute

// JSON decodes the body into v. Unknown fields are ignored: clients of these contracts send fields that the contracts
// do not have.
func JSON(c *gin.Context, v any) error {
	return Submission(c, v, MaxMembers)
}

// Submission is JSON for a body of at most members values.
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

// decodeObject decodes a body within bounds. It refuses null instead of reading it as an empty object: an omitted
// field may mean all of something.
func decodeObject(raw []byte, v any, members int) error {
	if string(bytes.TrimSpace(raw)) == "null" {
		return httperr.Invalidf("the body must not be null")
	}
	if err := CheckShape(raw, members); err != nil {
		return err
	}
	return Decode(raw, v)
}

// Read reads the body, whose size the route bounds, within maxTime. It removes the deadline afterwards, because the
// connection may become a stream.
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

// Decode decodes a body that was read before into v, as JSON does.
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

// Strict decodes a body of an API that is only ours: unknown fields are refused. An empty body is {}.
func Strict(c *gin.Context, v any) error {
	raw, err := Read(c)
	if err != nil || len(raw) == 0 {
		return err
	}
	if err := decodeObject(raw, v, MaxMembers); err != nil {
		return err
	}
	if HasNUL(raw) {
		return httperr.Invalidf("the body must not contain NUL characters")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "the body has an unknown field")
	}
	return nil
}

// Bound refuses a body that announces more than limit bytes, and cuts a body after limit bytes.
func Bound(c *gin.Context, limit int64) error {
	if c.Request.ContentLength > limit {
		return httperr.TooLarge(limit)
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, limit)
	return nil
}

// Watch turns failures to read the body of r into httperr.BodyError, until restore is called. net/http must get its
// own body back at the end: it does not know how much is left of another one, and would read that to its end before
// it answers.
func Watch(r *http.Request) (restore func()) {
	own := r.Body
	r.Body = clientBody{own}
	return func() { r.Body = own }
}

// clientBody distinguishes failures of the client's connection and framing from internal failures.
type clientBody struct{ io.ReadCloser }

// Read implements io.Reader.
func (b clientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF { // io.Reader returns EOF itself
		err = &httperr.BodyError{Err: err}
	}
	return n, err
}
