package eventlog

import (
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/google/uuid"
)

// Metadata keys of delivered messages.
const (
	KeyPosition = "position" // up to which the message has the log
	KeyCount    = "count"    // number of events in the message
)

// Batch is the content of one message: consecutive events of a topic. The payload is binary: to wrap the data of each event in
// further JSON for each of the projections would cost as much as to fold it.
type Batch struct {
	After  int64      // position up to which earlier messages had the log: for a group, its checkpoint
	UpTo   int64      // position up to which this one has it
	Events []Recorded // none if only the checkpoint has to move
	Read   []Mark     // every event between After and UpTo, wanted or not; only for a group
}

// Message returns the batch as a message. Its id is that of the last event.
func (b Batch) Message() *message.Message {
	size := 64
	for _, e := range b.Events {
		size += len(e.Data) + len(e.Stream) + 160
	}
	for _, m := range b.Read {
		size += len(m.Stream) + 32
	}
	w := writer(make([]byte, 0, size))
	w.int(b.After)
	w.int(b.UpTo)
	w.int(int64(len(b.Events)))
	for _, e := range b.Events {
		w.mark(Mark{e.Position, e.ID, e.Stream, e.Version})
		for _, s := range []string{e.Type, e.Account, e.Meta.Actor, e.Meta.RequestID, e.Meta.Cause, e.Meta.Reason} {
			w.text(s)
		}
		w.int(e.RecordedAt.UnixMicro())
		w.int(int64(len(e.Data)))
		w = append(w, e.Data...)
	}
	w.int(int64(len(b.Read)))
	for _, m := range b.Read {
		w.mark(m)
	}
	id, request := watermill.NewUUID(), ""
	if n := len(b.Events); n > 0 {
		id, request = b.Events[n-1].ID.String(), b.Events[n-1].Meta.RequestID
	}
	msg := message.NewMessage(id, message.Payload(w))
	msg.Metadata.Set(KeyPosition, strconv.FormatInt(b.UpTo, 10))
	msg.Metadata.Set(KeyCount, strconv.Itoa(len(b.Events)))
	if request != "" {
		middleware.SetCorrelationID(request, msg)
	}
	return msg
}

// BatchOf returns the content of a message of a Subscriber. The events' data shares the memory of the payload.
func BatchOf(msg *message.Message) (Batch, error) {
	r := reader{data: msg.Payload}
	b := Batch{After: r.int(), UpTo: r.int()}
	if n := r.count(); n > 0 {
		b.Events = make([]Recorded, n)
	}
	for i := range b.Events {
		m := r.mark()
		b.Events[i] = Recorded{
			Position: m.Position, ID: m.ID, Stream: m.Stream, Version: m.Version, Type: r.string(), Account: r.string(),
			Meta:       Meta{Actor: r.string(), RequestID: r.string(), Cause: r.string(), Reason: r.string()},
			RecordedAt: time.UnixMicro(r.int()).UTC(), Data: r.bytes(r.count()),
		}
	}
	if n := r.count(); n > 0 {
		b.Read = make([]Mark, n)
	}
	for i := range b.Read {
		b.Read[i] = r.mark()
	}
	if r.broken || len(r.data) > 0 {
		return Batch{}, errors.New("message " + msg.UUID + " did not come from the event log")
	}
	return b, nil
}

// writer appends the parts of a payload.
type writer []byte

func (w *writer) int(v int64) { *w = binary.AppendVarint(*w, v) }

func (w *writer) text(s string) {
	w.int(int64(len(s)))
	*w = append(*w, s...)
}

func (w *writer) mark(m Mark) {
	w.int(m.Position)
	*w = append(*w, m.ID[:]...)
	w.text(m.Stream)
	w.int(m.Version)
}

// reader takes the parts of a payload from its front. After a part that is not there, it is broken and returns zeros.
type reader struct {
	data   []byte
	broken bool
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.broken, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

// count reads a number of things that follow, each of at least a byte.
func (r *reader) count() int {
	n := r.int()
	if n < 0 || n > int64(len(r.data)) {
		r.broken, r.data = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.data) {
		r.broken, r.data = true, nil
		return nil
	}
	part := r.data[:n:n]
	r.data = r.data[n:]
	return part
}

func (r *reader) string() string { return string(r.bytes(r.count())) }

func (r *reader) mark() Mark {
	m := Mark{Position: r.int()}
	copy(m.ID[:], r.bytes(len(uuid.UUID{})))
	m.Stream, m.Version = r.string(), r.int()
	return m
}
