package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/jsondoc"
)

// Client talks to providers. It is safe for concurrent use.
type Client struct {
	http   *outbound.Client
	lookup func(string) (string, bool)
	log    *slog.Logger
	tokens tokens
}

// New returns a client. lookup reads credentials from the environment (os.LookupEnv) for every request. Access tokens
// stay in memory while they are valid.
func New(http *outbound.Client, lookup func(string) (string, bool), log *slog.Logger) *Client {
	return &Client{http: http, lookup: lookup, log: log, tokens: tokens{http: http}}
}

// maxHandle bounds the handle that a provider returns. Addresses fit.
const maxHandle = 2048

// Dispatch sends one call. If the provider gives the final answer at once, Dispatch writes it to sink; these bytes
// are valid only if the outcome is Answered. An error wraps ErrNotSent or ErrUnknown. A failure whose Charged is
// unknown also leaves the outcome open: the provider may have done the work.
func (c *Client) Dispatch(ctx context.Context, r Request, sink io.Writer) (Outcome, error) {
	m := r.Model
	scope, body, err := c.prepare(r)
	if err != nil {
		return Outcome{}, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	out := message{endpoint: m.Submit, body: body, scope: scope}
	if m.Idempotency != "" {
		out.idempotency = r.CallID
	}
	answer, err := c.exchange(ctx, m, out)
	if err != nil {
		if failure := timedOut(err); failure != nil {
			return Outcome{Phase: Failed, Failure: failure}, nil
		}
		return Outcome{}, err
	}
	defer answer.close()
	if !answer.ok() {
		return answer.failed(c, m), nil
	}
	switch {
	case m.Protocol == catalog.Bytes && !answer.json():
		return c.bytes(m, answer, scope, sink)
	case m.Protocol == catalog.Sync && answer.otherContent():
		return answer.stream(sink)
	}
	return c.read(m, answer, scope, sink)
}

// bytes copies an answer of bytes to sink, unless its headers show that it is not a result.
func (c *Client) bytes(m *catalog.Model, a *response, scope catalog.Scope, sink io.Writer) (Outcome, error) {
	if scope = a.scope(scope, nil); m.Done.Set() && !m.Done.Holds(scope) {
		return c.refused(m, a, scope, &spool{}), nil
	}
	return a.stream(sink)
}

// prepare decodes the caller's body for expressions, if the entry has any that need it, and encodes it for the
// provider.
func (c *Client) prepare(r Request) (catalog.Scope, payload, error) {
	scope := catalog.Scope{Settings: c.settings(r.Model)}
	if _, err := r.Body.Seek(0, io.SeekStart); err != nil {
		return scope, payload{}, fmt.Errorf("read the body: %w", err)
	}
	form := catalog.IsForm(r.ContentType)
	if r.Model.Protocol == catalog.SubmitPoll { // the handle's expression may read the input
		input, err := inputOf(r, form)
		if err != nil {
			return scope, payload{}, fmt.Errorf("read the body: %w", err)
		}
		scope.Input = input
	}
	if _, err := r.Body.Seek(0, io.SeekStart); err != nil {
		return scope, payload{}, fmt.Errorf("read the body: %w", err)
	}
	if form { // sent unchanged, with its own boundary
		return scope, payload{reader: r.Body, size: r.Size, contentType: r.ContentType}, nil
	}
	if r.Model.TakesForms() {
		body, err := multipartBody(r.Body, r.Size)
		return scope, body, err
	}
	if r.Model.Encoding == catalog.EncodingTasks {
		body, err := tasksBody(r.Model, r.CallID, r.Body, r.Size)
		return scope, body, err
	}
	return scope, payload{reader: r.Body, size: r.Size, contentType: "application/json"}, nil
}

// inputOf decodes the caller's body for expressions, with long strings cut.
func inputOf(r Request, form bool) (any, error) {
	if !form {
		return jsondoc.Skeleton(r.Body)
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, r.Size))
	if err != nil {
		return nil, err
	}
	object, err := r.Model.FormInput(r.ContentType, raw)
	if err != nil {
		return nil, err
	}
	return jsondoc.Skeleton(bytes.NewReader(object))
}

func (c *Client) settings(m *catalog.Model) map[string]string {
	values := make(map[string]string, len(m.Settings))
	for name, env := range m.Settings {
		values[name], _ = c.lookup(env)
	}
	return values
}

// read reads the JSON answer to a dispatch: the result of a synchronous model, or the handle of a submission.
func (c *Client) read(m *catalog.Model, a *response, scope catalog.Scope, sink io.Writer) (Outcome, error) {
	spool := &spool{sink: sink}
	document, err := a.document(spool)
	if err != nil {
		return a.unreadable(spool, err)
	}
	scope = a.scope(scope, document)
	if m.Protocol == catalog.SubmitPoll {
		return c.accepted(m, a, scope, spool), nil
	}
	if m.Done.Set() && !m.Done.Holds(scope) {
		return c.refused(m, a, scope, spool), nil
	}
	if err := spool.flush(); err != nil {
		return Outcome{}, fmt.Errorf("%w: store the answer: %w", ErrUnknown, err)
	}
	return Outcome{Phase: Answered, Status: a.status, ContentType: a.contentType, Size: spool.size, Headers: a.headers, Document: document},
		nil
}

func (c *Client) accepted(m *catalog.Model, a *response, scope catalog.Scope, s *spool) Outcome {
	if m.Accepted.Set() && !m.Accepted.Holds(scope) {
		return c.refused(m, a, scope, s)
	}
	handle := m.Handle.Text(scope)
	if handle == "" || len(handle) > maxHandle {
		return c.refused(m, a, scope, s)
	}
	if err := storable(m, scope, handle); err != nil {
		return unreadableStatus(err)
	}
	return Outcome{
		Phase: Accepted, Status: a.status, ContentType: a.contentType, Handle: handle,
		PollAfter: m.Limits.PollFirst, Document: scope.Body,
	}
}

// errSecretHandle refuses a handle that cannot identify the generation, because it contained the operator's
// credential, which was overwritten.
var errSecretHandle = errors.New("the provider's handle repeats the operator's credential")

// storable refuses a handle that contains a credential of the operator or of the provider, because handles are
// stored.
func storable(m *catalog.Model, scope catalog.Scope, handle string) error {
	if overwritten.MatchString(handle) {
		return errSecretHandle
	}
	scope.Handle = handle
	if _, err := addressOf(m, message{endpoint: m.Poll, scope: scope}); errors.Is(err, errUserInfo) {
		return err
	}
	return nil
}

// refused classifies an answer that has a successful status but is not a result.
func (c *Client) refused(m *catalog.Model, a *response, scope catalog.Scope, s *spool) Outcome {
	return Outcome{Phase: Failed, Status: a.status, Failure: c.classify(m, scope, s.inMemory()), Headers: a.headers, Document: scope.Body}
}

// ErrCannotCancel reports that a provider has no way to cancel, or refused to cancel.
var ErrCannotCancel = errors.New("the provider cannot cancel a generation")

// Cancel asks the provider to stop a submitted generation, as a best effort. nil means that the provider accepted the
// request or no longer has the generation. ErrCannotCancel means that the provider refused, for instance because the
// generation is nearly done: the generation finishes and is charged.
func (c *Client) Cancel(ctx context.Context, m *catalog.Model, handle string) error {
	if !m.Cancel.URL.Set() {
		return ErrCannotCancel
	}
	scope := catalog.Scope{Handle: handle, Settings: c.settings(m)}
	a, err := c.exchange(ctx, m, message{endpoint: m.Cancel, scope: scope, repeatable: true})
	if err != nil {
		return err
	}
	defer a.close()
	switch {
	case a.status >= http.StatusInternalServerError, a.status == http.StatusTooManyRequests, a.status == http.StatusRequestTimeout:
		return fmt.Errorf("%w: the provider answered the cancel with status %d", ErrUnknown, a.status)
	case a.ok(), a.status == http.StatusNotFound, a.status == http.StatusGone:
		return nil
	}
	return fmt.Errorf("%w: the provider answered %d", ErrCannotCancel, a.status)
}
