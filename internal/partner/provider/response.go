package provider

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/outbound/redact"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/jsondoc"
)

// response is a provider's response whose body has not been read yet.
type response struct {
	status      int
	headers     map[string]string
	contentType string
	retryAfter  time.Duration
	body        io.ReadCloser
	redacted    io.Reader // the body with its secrets overwritten
	secrets     *redact.Secrets
	watch       *outbound.Watcher
	remaining   int64 // bytes that may still be read
	problem     error // why reading ended before the end of the body
	cutOff      bool  // the connection broke before the end of the body
}

// maxErrorBody bounds the bytes that are read of the body of an error answer.
const maxErrorBody = 256 << 10

// errTooLarge reports an answer larger than the entry's limit.
var errTooLarge = errors.New("the answer is larger than the entry allows")

// newResponse returns a response whose secrets are overwritten, both in its headers and in its body.
func newResponse(resp *http.Response, watch *outbound.Watcher, limit int64, secrets *redact.Secrets) *response {
	a := &response{
		status: resp.StatusCode, contentType: secrets.String(resp.Header.Get("Content-Type")), headers: map[string]string{},
		body: resp.Body, redacted: secrets.Reader(resp.Body), secrets: secrets,
		watch: watch, remaining: limit, retryAfter: seconds(resp.Header.Get("Retry-After")),
	}
	for name := range resp.Header {
		a.headers[strings.ToLower(name)] = secrets.String(resp.Header.Get(name))
	}
	if resp.Header.Get("Content-Encoding") != "" { // compression was not requested
		a.problem = errors.New("the answer is compressed")
	}
	return a
}

// maxRetryAfter bounds the Retry-After of a provider.
const maxRetryAfter = 5 * time.Minute

func seconds(header string) time.Duration {
	n, err := strconv.Atoi(header)
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(n)*time.Second, maxRetryAfter)
}

func (a *response) ok() bool { return a.status >= 200 && a.status < 300 }

func (a *response) json() bool {
	media, _, err := mime.ParseMediaType(a.contentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// otherContent reports whether the answer has a content type other than the JSON that the entry expects. HTML pages do not
// count, because proxies return them in place of answers.
func (a *response) otherContent() bool {
	media, _, err := mime.ParseMediaType(a.contentType)
	return err == nil && !a.json() && media != "text/html"
}

// Read implements io.Reader within the bounds of the entry.
func (a *response) Read(p []byte) (int, error) {
	if a.problem != nil {
		return 0, a.problem
	}
	if int64(len(p)) > a.remaining+1 {
		p = p[:a.remaining+1]
	}
	n, err := a.redacted.Read(p)
	a.watch.Progress()
	if a.remaining -= int64(n); a.remaining < 0 {
		a.problem = errTooLarge
		return 0, errTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		a.problem, a.cutOff = readable(a.secrets, a.watch.Cause(err)), true
		return n, a.problem
	}
	return n, err
}

func (a *response) close() {
	a.watch.Stop()
	a.body.Close() // the body has been read
}

// document reads a JSON answer to its end and copies its bytes to s as they arrive.
func (a *response) document(s *spool) (any, error) {
	document, err := jsondoc.Skeleton(io.TeeReader(a, s))
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(s, a) // white space after the document
	return document, err
}

// stream copies an answer of bytes to the sink.
func (a *response) stream(sink io.Writer) (Outcome, error) {
	s := &spool{sink: sink, passing: true}
	_, err := io.Copy(s, a)
	switch {
	case err != nil:
		return a.unreadable(s, err)
	case s.size == 0:
		return a.unreadable(s, errors.New("the answer is empty"))
	}
	return Outcome{Phase: Answered, Status: a.status, ContentType: a.contentType, Size: s.size, Headers: a.headers}, nil
}

// unreadable returns the outcome for a successful status whose body is not a result. If the body is late or was cut off, the
// outcome is unknown: the provider has the result, and may have charged for it. If it is malformed or too large, the call has
// failed, and it is unknown whether the provider charges.
func (a *response) unreadable(s *spool, err error) (Outcome, error) {
	if s.err != nil {
		return Outcome{}, fmt.Errorf("%w: store the answer: %w", ErrUnknown, s.err)
	}
	if failure := timedOut(a.problem); failure != nil {
		return Outcome{Phase: Failed, Status: a.status, Failure: failure}, nil
	}
	if a.cutOff {
		return Outcome{}, fmt.Errorf("%w: the answer was cut off: %w", ErrUnknown, a.problem)
	}
	failure := failureOf("provider_error", catalog.ChargesUnknown)
	failure.UpstreamStatus, failure.Detail, failure.Cause = a.status, "The provider's answer cannot be read as a result.", err.Error()
	return Outcome{Phase: Failed, Status: a.status, Failure: failure}, nil
}

// scope returns the values of this answer that expressions can read.
func (a *response) scope(s catalog.Scope, document any) catalog.Scope {
	s.Status, s.Headers, s.Body = a.status, a.headers, document
	return s
}

// spool buffers the beginning of an answer until it is known to be a result, and then passes everything on.
type spool struct {
	sink     io.Writer
	passing  bool // pass everything on without buffering
	buffered []byte
	size     int64
	err      error // error of the sink
}

// maxBuffered bounds the buffered part of an answer; status documents and failures fit.
const maxBuffered = 256 << 10

// Write implements io.Writer.
func (s *spool) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	if !s.passing && len(s.buffered)+len(p) <= maxBuffered {
		s.buffered = append(s.buffered, p...)
		return len(p), nil
	}
	if err := s.flush(); err != nil {
		return 0, err
	}
	return s.pass(p)
}

// flush writes the buffer to the sink; from then on everything passes through.
func (s *spool) flush() error {
	s.passing = true
	buffered := s.buffered
	s.buffered = nil
	_, err := s.pass(buffered)
	return err
}

func (s *spool) pass(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.sink.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	s.err = err
	return n, err
}

// inMemory returns the whole answer if it is small enough to be buffered, otherwise nil.
func (s *spool) inMemory() []byte { return s.buffered }
