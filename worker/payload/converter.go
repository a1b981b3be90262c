package payload

import (
	"context"
	"errors"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// Converter returns the data converter of clients, workers and replays. With a nil Ring it cannot read encrypted
// payloads.
func (r *Ring) Converter() converter.DataConverter {
	if r == nil {
		return contextConverter{converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), reader{})}
	}
	return contextConverter{converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), r)}
}

// reader is the codec of a process without keys: it encrypts nothing, and its error for an encrypted payload names
// the key.
type reader struct{}

// Encode implements converter.PayloadCodec.
func (reader) Encode(payloads []*common.Payload) ([]*common.Payload, error) { return payloads, nil }

// Decode implements converter.PayloadCodec.
func (reader) Decode(payloads []*common.Payload) ([]*common.Payload, error) {
	return (*Ring)(nil).Decode(payloads)
}

// contextConverter is a converter with another behaviour inside workflows.
type contextConverter struct{ converter.DataConverter }

var _ workflow.ContextAware = contextConverter{}

// WithWorkflowContext implements workflow.ContextAware.
func (w contextConverter) WithWorkflowContext(workflow.Context) converter.DataConverter {
	return blocking(w)
}

// WithContext implements workflow.ContextAware.
func (w contextConverter) WithContext(context.Context) converter.DataConverter {
	return w.DataConverter
}

// blocking panics if a key is missing. Inside a workflow that fails the task, which Temporal repeats until the key is
// back; an error would end the workflow.
type blocking struct{ converter.DataConverter }

// FromPayload implements converter.DataConverter.
func (b blocking) FromPayload(p *common.Payload, value any) error {
	return block(b.DataConverter.FromPayload(p, value))
}

// FromPayloads implements converter.DataConverter.
func (b blocking) FromPayloads(p *common.Payloads, values ...any) error {
	return block(b.DataConverter.FromPayloads(p, values...))
}

func block(err error) error {
	var missing *MissingKeyError
	if errors.As(err, &missing) {
		panic(missing)
	}
	return err
}
