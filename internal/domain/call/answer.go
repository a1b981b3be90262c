package call

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Result is a model's answer, ready to send to the caller.
type Result struct {
	Call        ID
	Status      int // 200
	ContentType string
	Size        int64
	Replayed    bool   // the answer repeats the result of an idempotency key
	Spend       *Spend // nil unless a spend ceiling applies to the account
	Charged     *int64 // USD millionths; nil = not known
	Served             // set if a fallback server answered, or fields were dropped

	document  []byte // the answer's bytes; nil = they are the blob ref
	ref       blob.Ref
	blobs     blob.Store
	delivered func(context.Context) error
}

// DocumentResult returns a result that is a JSON document in memory. Nothing is recorded about its delivery.
func DocumentResult(document []byte, replayed bool) *Result {
	return &Result{Status: 200, ContentType: "application/json", Size: int64(len(document)), Replayed: replayed, document: document}
}

// Open returns the answer's bytes. Reads of a blob are verified against its hash.
func (r *Result) Open(ctx context.Context) (io.ReadSeekCloser, error) {
	if r.document != nil {
		return memory{bytes.NewReader(r.document)}, nil
	}
	return r.blobs.Open(ctx, r.ref)
}

// memory is a document that is open.
type memory struct{ *bytes.Reader }

// Close does nothing.
func (memory) Close() error { return nil }

// Delivered records that the caller received the whole answer. An answer that cannot be replayed can be collected by
// its key for some more minutes. Call Delivered after the last byte was written.
func (r *Result) Delivered(ctx context.Context) error {
	if r.delivered == nil {
		return nil
	}
	return r.delivered(ctx)
}

// resultOf returns the result of an ended call, or the refusal that it ended with.
func (s *Service) resultOf(c Call, replayed bool) (*Result, error) {
	switch c.State {
	case Succeeded:
		return s.result(c, replayed), nil
	case Failed:
		r := c.Failure.refusal()
		r.Replayed = replayed
		return nil, r
	case Canceled:
		return nil, Refuse(fault.Conflict, CancelledType, "the request was cancelled")
	case Unknown:
		return nil, c.Failure.refusal().withCause(ErrOutcomeUnknown)
	case Waiting, Admitted, Dispatching, Running, Answered:
	}
	return nil, Refuse(fault.Internal, InternalError, "the router failed; the operator's log has the details")
}

func (s *Service) result(c Call, replayed bool) *Result {
	r := &Result{
		Call: c.ID, Status: 200, ContentType: c.Answer.ContentType, Size: c.Answer.Size,
		Replayed: replayed, Charged: c.Charged, Served: c.Served, ref: c.Answer.Ref, blobs: s.Blobs,
	}
	if c.Keyed && !c.Replayable {
		r.delivered = func(ctx context.Context) error { return s.Store.Deliver(ctx, c.Account, c.ID) }
	}
	return r
}

// Bounds of the header that names dropped parameters (router contract, Router-Dropped-Params).
const (
	maxDropped     = 64   // entries
	maxDroppedName = 300  // bytes of an entry
	maxDroppedAll  = 4096 // bytes of the header
)

// KeptDropped returns the names that fit into the header. The names come from a caller's body: an event with all of
// them could exceed the limit of the log, and the answer could then not be recorded.
func KeptDropped(names []string) []string {
	if len(names) > maxDropped {
		names = names[:maxDropped]
	}
	kept := make([]string, len(names))
	for i, name := range names {
		kept[i] = strings.ToValidUTF8(name[:min(len(name), maxDroppedName)], "")
	}
	return kept
}

// DroppedParams renders names as the value of the header: one JSON array of strings in ASCII. It shortens long names
// and leaves out names beyond the bounds. Without names it returns "", and the header is not sent.
func DroppedParams(names []string) string {
	var b strings.Builder
	for i, name := range names {
		entry := quoted(name)
		if i == maxDropped || b.Len()+len(",")+len(entry)+len("]") > maxDroppedAll {
			break
		}
		if i == 0 {
			b.WriteByte('[')
		} else {
			b.WriteByte(',')
		}
		b.WriteString(entry)
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "]"
}

// quoted renders a name as a JSON string of ASCII, shortened to the bound.
func quoted(name string) string {
	if len(name) > maxDroppedName {
		name = name[:maxDroppedName]
	}
	for {
		encoded := ascii(strings.ToValidUTF8(name, ""))
		if len(encoded) <= maxDroppedName {
			return encoded
		}
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
}

// ascii encodes a string as JSON without bytes that are not allowed in a header.
func ascii(s string) string {
	encoded, err := json.Marshal(s)
	if err != nil { // a string always encodes
		return `""`
	}
	var b strings.Builder
	for _, r := range string(encoded) {
		switch {
		case r < utf8.RuneSelf && r != 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			_, _ = fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			_, _ = fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
