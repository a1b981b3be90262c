package router

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/provider"
)

// Provider speaks to providers as the catalog describes them. It implements call.Provider.
type Provider struct {
	Catalog *catalog.Catalog
	Client  *provider.Client
	Log     *slog.Logger
}

var _ call.Provider = (*Provider)(nil)

// Dispatch implements call.Provider. It does not send a call whose model has left the catalog.
func (p *Provider) Dispatch(ctx context.Context, c call.Conversation, sink io.Writer) (call.Exchange, error) {
	w, err := p.wire(c)
	if err != nil {
		return call.Exchange{}, fmt.Errorf("%w: %w", call.ErrNotSent, err)
	}
	body, size, dropped, err := w.request(c)
	if err != nil {
		return call.Exchange{}, fmt.Errorf("%w: %w", call.ErrNotSent, err)
	}
	answer := w.sink(sink)
	out, err := p.Client.Dispatch(ctx, provider.Request{
		Model: w.entry, CallID: string(c.Call), Body: body, Size: size,
		ContentType: c.ContentType,
	}, answer)
	switch {
	case errors.Is(err, provider.ErrNotSent):
		return call.Exchange{}, fmt.Errorf("%w: %w", call.ErrNotSent, err)
	case err != nil:
		return call.Exchange{}, err
	}
	x, err := p.exchange(w, c, out, answer, sink)
	if len(dropped) > 0 {
		x.Dropped = call.KeptDropped(dropped)
	}
	return x, err
}

// Poll implements call.Provider.
func (p *Provider) Poll(ctx context.Context, c call.Conversation, sink io.Writer) (call.Exchange, error) {
	w, err := p.wire(c)
	if err != nil {
		return call.Exchange{}, err
	}
	answer := w.sink(sink)
	out, err := p.Client.Poll(ctx, w.entry, c.Handle, answer)
	if err != nil {
		return call.Exchange{}, err
	}
	return p.exchange(w, c, out, answer, sink)
}

// Cancel implements call.Provider.
func (p *Provider) Cancel(ctx context.Context, c call.Conversation) error {
	w, err := p.wire(c)
	if err != nil {
		return call.ErrNoCancel
	}
	err = p.Client.Cancel(ctx, w.entry, c.Handle)
	if errors.Is(err, provider.ErrCannotCancel) {
		return call.ErrNoCancel
	}
	return err
}

// Idempotent implements call.Provider: the entry names the header by which the provider recognises a call.
func (p *Provider) Idempotent(c call.Conversation) bool {
	w, err := p.wire(c)
	return err == nil && w.entry.Idempotency != ""
}

// fallbackTotal bounds a generation whose model has left the catalog.
const fallbackTotal = time.Hour

// Total implements call.Provider. For a model with several servers, it returns the bound of the slowest.
func (p *Provider) Total(model string) time.Duration {
	m, ok := p.Catalog.Find(model, "")
	if !ok || m.Limits.Total <= 0 {
		return fallbackTotal
	}
	total := m.Limits.Total
	for _, a := range m.Alternates {
		total = max(total, a.Model.Limits.Total)
	}
	return total
}

func (p *Provider) exchange(w wire, c call.Conversation, out provider.Outcome, answer, sink io.Writer) (call.Exchange, error) {
	x := call.Exchange{ContentType: out.ContentType, Handle: out.Handle, PollAfter: out.PollAfter}
	switch out.Phase {
	case provider.Answered:
		return p.settleAnswer(w, c, out, answer, sink, x)
	case provider.Accepted:
		x.Phase = call.PhaseAccepted
		x.Price = p.quoted(w, c, out)
	case provider.Pending:
		x.Phase = call.PhasePending
	case provider.Failed:
		p.failed(&x, w, c, out)
	default:
		return x, fmt.Errorf("unknown outcome %q of a provider", out.Phase)
	}
	return x, nil
}

func (p *Provider) settleAnswer(w wire, c call.Conversation, out provider.Outcome, answer, sink io.Writer,
	x call.Exchange,
) (call.Exchange, error) {
	if a, err := settlement(w, c, out); err != nil {
		p.Log.Error("call settled at the reserved amount: request read failed", "call_id", c.Call, "error", err)
		x.Price = c.Held
	} else {
		x.Price = settledPrice(w.entry, a, c.Held)
	}
	x.Phase, x.Host = call.PhaseAnswered, w.result().Hosted()
	written, err := w.deliver(c, answer, sink)
	switch {
	case errors.Is(err, errUntranslatable):
		p.Log.Error("alternate answer translation failed", "call_id", c.Call, "model", c.Model, "server", c.Server, "error", err)
		return call.Exchange{Phase: call.PhaseFailed, Failure: &call.Failure{
			Type: call.ProviderError, Detail: "The answer of the server that ran this call cannot be translated into the model's own format.",
			UpstreamStatus: out.Status,
		}}, nil
	case err != nil:
		return x, err
	case written:
		x.ContentType = "application/json"
	}
	return x, nil
}

// settledPrice returns the price of an answered call. It is the reserved amount if the price list does not cover the body
// and neither the answer nor the provider's quote states a price.
func settledPrice(m *catalog.Model, a catalog.Answer, reserved int64) int64 {
	if _, stated := m.Stated(a); !stated && a.Quoted <= 0 && len(m.Unpriced(a.Body)) > 0 {
		return reserved
	}
	return m.Settled(a)
}

// settlement returns the values on which the final price of a call depends.
func settlement(w wire, c call.Conversation, out provider.Outcome) (catalog.Answer, error) {
	body, err := w.sent(c)
	return catalog.Answer{Body: body, Document: out.Document, Headers: out.Headers, Quoted: c.Quoted}, err
}

// quoted returns the price that the provider stated when it accepted a submission.
func (p *Provider) quoted(w wire, c call.Conversation, out provider.Outcome) int64 {
	body, err := w.sent(c)
	if err != nil {
		p.Log.Error("provider quote ignored: request read failed", "call_id", c.Call, "error", err)
		return 0
	}
	return w.entry.Quoted(body, out.Document)
}

// input reads the caller's body, on which prices and translations depend.
func input(c call.Conversation) ([]byte, error) {
	if _, err := c.Body.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(c.Body, c.Size))
}

func (p *Provider) failed(x *call.Exchange, w wire, c call.Conversation, out provider.Outcome) {
	f := out.Failure
	if f.Cause != "" {
		p.Log.Warn("provider returned no result", "call_id", c.Call, "model", c.Model, "cause", f.Cause)
	}
	x.Phase, x.Unsent = call.PhaseFailed, f.Retryable
	x.Declined = f.Type == call.ProviderError && f.Charged == catalog.ChargesNo && f.RefusesRouter()
	// A provider that answered has ended the call, charged or not. A provider that sent nothing may still be working.
	x.Unknown = f.Charged == catalog.ChargesUnknown && f.UpstreamStatus == 0
	x.Failure = &call.Failure{
		Type: f.Type, Detail: f.Detail, Validation: string(f.Validation),
		UpstreamStatus: f.UpstreamStatus, UpstreamDetail: f.UpstreamDetail, RefusalSubject: f.RefusalSubject,
	}
	if f.Charged == catalog.ChargesYes {
		x.Price = p.charge(w, c, out)
	}
}

// charge returns the price of a failure that the provider charges for: the amount in its answer, or else the quoted
// price, or else the reserved amount.
func (p *Provider) charge(w wire, c call.Conversation, out provider.Outcome) int64 {
	a, err := settlement(w, c, out)
	if err != nil {
		p.Log.Error("failure charged at the reserved amount: request read failed", "call_id", c.Call, "error", err)
		return c.Held
	}
	if stated, ok := w.entry.Stated(a); ok {
		return stated
	}
	if c.Quoted > 0 {
		return c.Quoted
	}
	return c.Held
}
