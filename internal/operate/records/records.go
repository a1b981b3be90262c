package records

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/histories"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/report"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Kind is a kind of aggregate, calls or assets, with the workflows that run it and its table of fields.
type Kind[S any] struct {
	inspect.Kind[S]
	Workflows func(S) []inspect.Execution
	Print     func(*terminal.Printer, S)
}

// Records reads the events of one kind of aggregates, such as calls. It implements Reader.
type Records[S any] struct {
	Kind[S]
	Pool   *postgres.Pool
	Engine histories.Engine
}

// History reads the events of the one call or asset whose id begins with text.
func (r Records[S]) History(ctx context.Context, text string) (inspect.StreamHistory[S], error) {
	var none inspect.StreamHistory[S]
	types, err := eventtypes.Registry()
	if err != nil {
		return none, err
	}
	stream, err := FindStream(ctx, r.Pool, r.Noun, text)
	if err != nil {
		return none, err
	}
	recorded, err := eventlog.Collect(eventlog.Read(ctx, eventstore.StreamsOf(r.Pool), stream, 0))
	if err != nil {
		return none, err
	}
	return inspect.ReadStream(r.Kind.Kind, types, recorded)
}

// at returns the history up to a version or a time; "" means now.
func (r Records[S]) at(ctx context.Context, id, at string) (inspect.StreamHistory[S], error) {
	h, err := r.History(ctx, id)
	if err != nil || at == "" {
		return h, err
	}
	p, err := inspect.ParsePoint(at)
	if err != nil {
		return h, err
	}
	return h.At(p)
}

// State implements Reader.
func (r Records[S]) State(ctx context.Context, id, at string) (Answer, error) {
	h, err := r.at(ctx, id, at)
	state := h.State()
	return Answer{
		JSON: state, Body: map[string]any{r.Noun: state},
		Show: func(p *terminal.Printer) { r.Print(p, state) },
	}, err
}

// Events implements Reader.
func (r Records[S]) Events(ctx context.Context, id string) (Answer, error) {
	return Shown(report.StreamEvents[S])(r.History(ctx, id))
}

// Timeline implements Reader.
func (r Records[S]) Timeline(ctx context.Context, id string) (Answer, error) {
	h, err := r.History(ctx, id)
	if err != nil {
		return Answer{}, err
	}
	now, err := operate.Now(ctx, r.Pool)
	if err != nil {
		return Answer{}, err
	}
	return Shown(report.Phases)(h.Phases(now), nil)
}

// Diff implements Reader.
func (r Records[S]) Diff(ctx context.Context, a, b string) (Answer, error) {
	one, err := r.History(ctx, a)
	if err != nil {
		return Answer{}, err
	}
	other, err := r.History(ctx, b)
	if err != nil {
		return Answer{}, err
	}
	now, err := operate.Now(ctx, r.Pool)
	if err != nil {
		return Answer{}, err
	}
	return Shown(report.StreamComparison)(inspect.Compare(one, other, now))
}

// Workflow implements Reader.
func (r Records[S]) Workflow(ctx context.Context, id, at string) (Answer, error) {
	h, err := r.at(ctx, id, at)
	if err != nil {
		return Answer{}, err
	}
	return Beside(ctx, r.Engine, h, h.Events, r.Workflows(h.State()))
}
