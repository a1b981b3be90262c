package telemetry

import (
	"context"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Begin starts a span below that of ctx, with the id of the request that began the trace. Where ctx has no
// span that is recorded, which is always so when nothing is exported, it costs one look into ctx.
// Attributes must hold no text of clients and no credential.
func Begin(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, trace.SpanFromContext(context.Background()) // records nothing
	}
	attributes = append(attributes, attribute.String("millrace.request_id", uuid.UUID(parent.SpanContext().TraceID()).String()))
	return parent.TracerProvider().Tracer(TracerName).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
}

// BeginFor starts a span below that of a request, for what a process does for it outside of the request's own
// context. It ends with End; where nothing is exported it records nothing.
func BeginFor(ctx context.Context, requestID, name string) (context.Context, trace.Span) {
	return otel.Tracer(TracerName).Start(Within(ctx, requestID), name, trace.WithAttributes(attribute.String("millrace.request_id", requestID)))
}

// Along returns ctx with the span of another, for work that outlives it.
func Along(ctx, other context.Context) context.Context {
	return trace.ContextWithSpan(ctx, trace.SpanFromContext(other))
}

// End ends a span that Begin started; failure is a word for what went wrong, "" for nothing. Messages of
// errors are not told: they may quote what a client sent.
func End(span trace.Span, failure string) {
	if failure != "" {
		span.SetStatus(codes.Error, failure)
	}
	span.End()
}
