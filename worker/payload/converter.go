package payload

import (
	"context"
	"errors"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// Converter returns the converter of clients, workers and replays. A nil Ring reads what is encrypted no more than any
// other without its key.
func (r *Ring) Converter() converter.DataConverter {
	if r == nil {
		return within{converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), reader{})}
	}
	return within{converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), r)}
}

// reader is the codec of a process without keys: it encrypts nothing, and names the key of what it cannot read.
type reader struct{}

// Encode implements converter.PayloadCodec.
func (reader) Encode(payloads []*common.Payload) ([]*common.Payload, error) { return payloads, nil }

// Decode implements converter.PayloadCodec.
func (reader) Decode(payloads []*common.Payload) ([]*common.Payload, error) {
	return (*Ring)(nil).Decode(payloads)
}

// within is a converter that differs within workflows.
type within struct{ converter.DataConverter }

var _ workflow.ContextAware = within{}

// WithWorkflowContext implements workflow.ContextAware.
func (w within) WithWorkflowContext(workflow.Context) converter.DataConverter {
	return blocking(w)
}

// WithContext implements workflow.ContextAware.
func (w within) WithContext(context.Context) converter.DataConverter { return w.DataConverter }

// blocking panics where a key is gone. Within a workflow that fails the task, which Temporal repeats until the key is back;
// an error would end the workflow.
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
