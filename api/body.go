package api

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/fault"
)

const codeInvalidJSON = "invalid_json"

// readJSON decodes the body into v. Unknown fields are passed over: real clients of
// these contracts send more than the contracts name.
func readJSON(c *gin.Context, v any) error {
	raw, err := readBody(c)
	if err != nil {
		return err
	}
	return decodeJSON(raw, v)
}

// readOptionalJSON is readJSON for routes whose body may be empty.
func readOptionalJSON(c *gin.Context, v any) error {
	raw, err := readBody(c)
	if err != nil || len(raw) == 0 {
		return err
	}
	return decodeJSON(raw, v)
}

// bodyTime is how long a client may take to send a JSON body.
const bodyTime = time.Minute

// readBody reads the body, which wrap bounds in size, and bounds the time it takes. The
// deadline is lifted afterwards: the connection may go on to be a stream.
func readBody(c *gin.Context) ([]byte, error) {
	conn := http.NewResponseController(c.Writer)
	if err := conn.SetReadDeadline(time.Now().Add(bodyTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
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

func decodeJSON(raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return fault.Wrap(err, fault.Invalid, "invalid_request", "%s cannot be a JSON %s", wrongType.Field, wrongType.Value)
	case errors.As(err, &wrongType):
		return fault.Wrap(err, fault.Invalid, "invalid_request", "the body cannot be a JSON %s", wrongType.Value)
	default:
		return fault.Wrap(err, fault.Invalid, codeInvalidJSON, "the request body is not valid JSON")
	}
}

// watchBody tells failures to read a body from ours, until restored. net/http has to find its own body in the end: of
// others it does not know how much is left, and waits for it before it sends an answer.
func watchBody(r *http.Request) (restore func()) {
	own := r.Body
	r.Body = clientBody{own}
	return func() { r.Body = own }
}

// clientBody tells failures of the client's connection and framing from ours.
type clientBody struct{ io.ReadCloser }

// Read implements io.Reader.
func (b clientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // io.Reader returns EOF itself
		err = unreadable{err}
	}
	return n, err
}

// unreadable is a body that could not be read to its end.
type unreadable struct{ error }

// Unwrap serves package errors.
func (u unreadable) Unwrap() error { return u.error }

// allowWriting gives the client so long to take what is written next, or, at 0, any time. Whoever sets a
// deadline takes it back in the end: net/http leaves it on the connection, for the requests that follow.
func allowWriting(out *http.ResponseController, limit time.Duration) error {
	until := time.Time{}
	if limit > 0 {
		until = time.Now().Add(limit)
	}
	if err := out.SetWriteDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
