package telemetry

import (
	"context"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Begin starts a child of the span in ctx, with the id of the request that began the trace. If the span in ctx is not
// recorded, as when nothing is exported, Begin costs one lookup in ctx. Attributes must not contain text of clients or
// credentials.
func Begin(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, trace.SpanFromContext(context.Background()) // records nothing
	}
	attributes = append(attributes, attribute.String("millrace.request_id", uuid.UUID(parent.SpanContext().TraceID()).String()))
	return parent.TracerProvider().Tracer(TracerName).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
}

// BeginFor starts a child of a request's span, for work outside of the request's own context. It ends with End. If nothing is
// exported, it records nothing.
func BeginFor(ctx context.Context, requestID, name string) (context.Context, trace.Span) {
	return otel.Tracer(TracerName).Start(Within(ctx, requestID), name,
		trace.WithAttributes(attribute.String("millrace.request_id", requestID)))
}

// Along returns ctx with the span of other, for work that outlives other.
func Along(ctx, other context.Context) context.Context {
	return trace.ContextWithSpan(ctx, trace.SpanFromContext(other))
}

// End ends a span that Begin started. failure is a word for the kind of failure, "" for success. Messages of errors are not
// recorded, because they may quote a client.
func End(span trace.Span, failure string) {
	if failure != "" {
		span.SetStatus(codes.Error, failure)
	}
	span.End()
}
