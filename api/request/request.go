// Package request reads the parts of requests: JSON bodies, forms with a file, and query parameters. It promises that
// no client makes the service store more, or wait longer, than the bounds allow, and that a refusal is an error with
// a text that a client can act on. The surfaces interpret the values.
package request

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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
	return raw, Received(c)
}

// Received removes the deadline of a body that was read: the answer may take longer.
func Received(c *gin.Context) error {
	if err := http.NewResponseController(c.Writer).SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
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

// Bounds of JSON bodies. Decoding takes time and memory for each value: a megabyte of empty arrays takes forty times
// its size.
const (
	MaxMembers = 100_000 // values of a body: members of objects and elements of arrays
	maxDepth   = 128     // nested containers
)

// CheckShape refuses JSON with more than members values, or with containers that are nested too deep. It does not
// check that raw is JSON.
func CheckShape(raw []byte, members int) error {
	depth, values := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
		case '{', '[':
			if depth++; depth > maxDepth {
				return httperr.Invalidf("the body nests objects and arrays deeper than %d levels", maxDepth)
			}
			if next := bytes.TrimLeft(raw[i+1:min(i+17, len(raw))], " \t\r\n"); len(next) == 0 || next[0] != '}' && next[0] != ']' {
				values++ // the first member of the container
			}
		case '}', ']':
			depth--
		case ',':
			values++
		}
		if values > members {
			return httperr.Invalidf("the body has more than %d members", members)
		}
	}
	return nil
}

// skipString returns the index of the quote that ends the string that begins at i, or of the last byte.
func skipString(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return i
}

// HasNUL reports whether a string in the JSON contains a NUL character, which the database cannot store.
func HasNUL(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 >= len(raw) {
			return false
		}
		if bytes.HasPrefix(raw[i+1:], []byte("u0000")) {
			return true
		}
		raw = raw[i+2:]
	}
}

// CheckQuery refuses a query that contains a NUL character.
func CheckQuery(r *http.Request) error {
	if !strings.Contains(r.URL.RawQuery, "%00") && strings.IndexByte(r.URL.RawQuery, 0) < 0 {
		return nil
	}
	for name, values := range r.URL.Query() {
		if strings.ContainsRune(name+strings.Join(values, ""), 0) {
			return httperr.Invalidf("the parameter %q must not contain NUL characters", strings.ReplaceAll(name, "\x00", ""))
		}
	}
	return nil
}

// Texts is a list of texts. Unlike []string it refuses null as an element, which would be read as an empty text.
type Texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Texts) UnmarshalJSON(raw []byte) error {
	var list []*string
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*t = nil
	if list != nil {
		*t = make(Texts, 0, len(list))
	}
	for _, text := range list {
		if text == nil {
			return &json.UnmarshalTypeError{Value: "null", Type: reflect.TypeFor[string](), Field: "a list element"}
		}
		*t = append(*t, *text)
	}
	return nil
}

// BoundWaiting returns next for clients that may announce a body and never send it: reading a body ends after within,
// unless the handler sets a deadline of its own. Without it, such a client would keep its connection for ever, even
// on routes that ignore the body or need no credential, because net/http reads a body to its end before it answers.
func BoundWaiting(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // the reader of a closed connection gets the error
		}
		next.ServeHTTP(w, r)
	})
}

// Bounds of listings.
const (
	maxLimit  = 1000
	maxOffset = 100_000
)

// Limit parses ?limit=. A value below 1 is refused; a value above the maximum of a page becomes the maximum.
func Limit(c *gin.Context, byDefault int) (int, error) {
	text, ok := c.GetQuery("limit")
	if !ok || text == "" {
		return byDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, httperr.Invalidf("limit must be a whole number of at least 1")
	}
	return min(n, maxLimit), nil
}

// Offset parses ?offset=. A negative offset is 0, as in the self-hosted runtime.
func Offset(c *gin.Context) (int, error) {
	text, ok := c.GetQuery("offset")
	if !ok || text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n > maxOffset {
		return 0, httperr.Invalidf("offset must be a whole number up to %d", maxOffset)
	}
	return max(n, 0), nil
}

// Number parses a whole number of the query between least and most. Without the parameter it returns byDefault.
func Number(c *gin.Context, name string, byDefault, least, most int) (int, error) {
	text, ok := c.GetQuery(name)
	if !ok {
		return byDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, httperr.Invalidf("%s must be a number from %d to %d", name, least, most)
	}
	return n, nil
}

// CommaList splits a list of words at its commas. An empty text has no words.
func CommaList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// maxKey bounds an Idempotency-Key, in bytes.
const maxKey = 255

// IdempotencyKey returns the request's Idempotency-Key, or "" without one.
func IdempotencyKey(r *http.Request) (string, error) {
	values, present := r.Header["Idempotency-Key"]
	if !present {
		return "", nil
	}
	if len(values) != 1 || values[0] == "" || len(values[0]) > maxKey || !utf8.ValidString(values[0]) {
		return "", httperr.Invalidf("Idempotency-Key must have 1 to %d bytes of UTF-8", maxKey)
	}
	return values[0], nil
}

// Listing formats and parses the cursors of one listing: opaque texts that hold the position at which the next page
// begins. A listing refuses the cursors of every other one. T is the position at which a page ends.
type Listing[T comparable] struct {
	Kind  string       // begins the content of a cursor, so that a cursor of another listing is recognised
	Valid func(T) bool // reports whether a page can end at this position; nil = a number must be positive
}

// Format returns the cursor of the page after end, "" for the zero T.
func (l Listing[T]) Format(end T) string {
	var none T
	if end == none {
		return ""
	}
	raw, err := json.Marshal(end)
	if err != nil {
		panic(err) // the ends of pages are numbers and texts, which always marshal
	}
	return base64.RawURLEncoding.EncodeToString(append([]byte(l.Kind), raw...))
}

// Parse returns the position at which the page of a cursor begins. A cursor that Format did not make is Invalid,
// invalid_cursor.
func (l Listing[T]) Parse(text string) (end T, err error) {
	var none T
	raw, err := base64.RawURLEncoding.DecodeString(text)
	rest, ours := strings.CutPrefix(string(raw), l.Kind)
	if err != nil || !ours {
		return end, invalidCursor()
	}
	d := json.NewDecoder(bytes.NewReader([]byte(rest)))
	d.DisallowUnknownFields()
	if d.Decode(&end) != nil || d.More() || !l.valid(end) {
		return none, invalidCursor()
	}
	return end, nil
}

// Read parses a query parameter. Without the parameter, the listing begins at the zero T.
func (l Listing[T]) Read(c *gin.Context, parameter string) (begin T, err error) {
	text, given := c.GetQuery(parameter)
	if !given {
		return begin, nil
	}
	return l.Parse(text)
}

func (l Listing[T]) valid(end T) bool {
	if l.Valid != nil {
		return l.Valid(end)
	}
	n, number := any(end).(int64)
	return !number || n > 0
}

func invalidCursor() error {
	return fault.New(fault.Invalid, fault.CodeInvalidCursor, "the cursor does not belong to this listing")
}

// IdleReader reads the body of a client and fails when the client sends nothing for longer than Idle. Such a client
// would keep a connection, a goroutine and a file for ever.
type IdleReader struct {
	io.Reader
	Conn *http.ResponseController
	Idle time.Duration
}

// Read implements io.Reader.
func (b IdleReader) Read(p []byte) (int, error) {
	if err := b.Conn.SetReadDeadline(time.Now().Add(b.Idle)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return b.Reader.Read(p)
}
