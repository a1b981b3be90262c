package eventlog

import (
	"encoding/json"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/fault"
)

// TypeMessage is the event type of a published message.
const TypeMessage = "message.published.v1"

// MessageV1 is a Watermill message as an event.
type MessageV1 struct {
	UUID     string            `json:"uuid"`
	Payload  []byte            `json:"payload"` // any bytes
	Metadata map[string]string `json:"metadata,omitempty"`
}

// MessageType describes TypeMessage to a Registry.
func MessageType() Type {
	return TypeOf[MessageV1](TypeMessage).Says("a Watermill message, through eventlog.Publisher")
}

// messageNamespace derives event ids from topics and message ids, so that publishing again records nothing.
var messageNamespace = uuid.MustParse("0f6d7b0e-54a5-5b0c-9a51-2f0f6c2b7e1d")

// Publisher appends Watermill messages to the log, to a stream for each topic. Aggregates append their events through
// a Store; Publisher serves Watermill's own components, such as a poison queue. It implements message.Publisher.
type Publisher struct {
	store   Store
	account string
	closed  atomic.Bool
}

var _ message.Publisher = (*Publisher)(nil)

// NewPublisher returns a publisher whose events belong to an account.
func NewPublisher(store Store, account string) *Publisher {
	return &Publisher{store: store, account: account}
}

// Publish implements message.Publisher. The messages are recorded together, in order. A message that was published to
// the topic before is not recorded again.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	if p.closed.Load() {
		return fault.New(fault.Unavailable, "", "the publisher is closed")
	}
	if len(messages) == 0 {
		return nil
	}
	recorded, err := p.append(topic, messages)
	if err != nil || len(recorded) == len(messages) {
		return err
	}
	for _, msg := range messages { // the first was published before, so the append recorded none of the new ones
		if _, err := p.append(topic, []*message.Message{msg}); err != nil {
			return err
		}
	}
	return nil
}

func (p *Publisher) append(topic string, messages []*message.Message) ([]Recorded, error) {
	a := Append{Stream: topic, Account: p.account, Expected: AnyVersion, Events: make([]Event, len(messages))}
	for i, msg := range messages {
		a.Events[i] = Event{
			ID:   uuid.NewSHA1(messageNamespace, []byte(topic+"\x00"+msg.UUID)),
			Type: TypeMessage,
			Data: MessageV1{UUID: msg.UUID, Payload: msg.Payload, Metadata: msg.Metadata},
		}
	}
	return p.store.Append(messages[0].Context(), a)
}

// Close implements message.Publisher. Everything published is already recorded.
func (p *Publisher) Close() error {
	p.closed.Store(true)
	return nil
}

// published returns the message that a Publisher recorded as an event.
func published(e Recorded) (*message.Message, bool) {
	var m MessageV1
	if e.Type != TypeMessage || json.Unmarshal(e.Data, &m) != nil {
		return nil, false
	}
	msg := message.NewMessage(m.UUID, m.Payload)
	for key, value := range m.Metadata {
		msg.Metadata.Set(key, value)
	}
	return msg, true
}
