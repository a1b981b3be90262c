package router

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// wire is the server of one conversation, with its catalog entry and translation.
type wire struct {
	model     *catalog.Model     // the requested model
	entry     *catalog.Model     // the entry of the server
	alternate *catalog.Alternate // the alternate that translates bodies and answers; nil = no translation
}

// wire finds the server of a conversation in the catalog with which the call was accepted.
func (p *Provider) wire(c call.Conversation) (wire, error) {
	return wireOf(p.Catalog, c.Catalog, c.Model, c.Server, c.Strict)
}

func wireOf(models *catalog.Catalog, state, model, server string, strict bool) (wire, error) {
	m, ok := models.Find(model, state)
	if !ok {
		return wire{}, fmt.Errorf("the model %s is no longer in the catalog", model)
	}
	if server == "" {
		return wire{model: m, entry: m}, nil
	}
	a, ok := m.Alternate(server)
	switch {
	case !ok:
		return wire{}, fmt.Errorf("the server %s of the model %s is no longer in the catalog", server, model)
	case strict:
		return wire{model: a.Model, entry: a.Model}, nil
	}
	return wire{model: m, entry: a.Model, alternate: a}, nil
}

// result returns the entry whose output schema and hosting rule apply to the delivered answer.
func (w wire) result() *catalog.Model { return w.model }

// request returns the body for the server, and the names of the fields that the translation drops.
func (w wire) request(c call.Conversation) (body io.ReadSeeker, size int64, dropped []string, err error) {
	if w.alternate == nil {
		return c.Body, c.Size, nil, nil
	}
	caller, err := input(c)
	if err != nil {
		return nil, 0, nil, fmt.Errorf("read the body: %w", err)
	}
	translated, dropped, err := w.alternate.Request(caller)
	return bytes.NewReader(translated), int64(len(translated)), dropped, err
}

// sent returns the body that was sent to the server, from which the price is computed.
func (w wire) sent(c call.Conversation) ([]byte, error) {
	caller, err := input(c)
	if err == nil && catalog.IsForm(c.ContentType) {
		return w.model.FormInput(c.ContentType, caller)
	}
	if err != nil || w.alternate == nil {
		return caller, err
	}
	translated, _, err := w.alternate.Request(caller)
	return translated, err
}

// sink returns the writer of the server's answer: the caller's sink for a streamed answer, or memory for an answer to
// be translated.
func (w wire) sink(to io.Writer) io.Writer {
	if w.alternate == nil || !w.alternate.Translates() {
		return to
	}
	return &boundedBuffer{}
}

// errUntranslatable reports an answer that the alternate's translation cannot read.
var errUntranslatable = errors.New("the answer cannot be translated")

// deliver translates the answer in memory and writes it to sink. It returns false if the answer has been streamed
// already.
func (w wire) deliver(c call.Conversation, answer, sink io.Writer) (bool, error) {
	k, ok := answer.(*boundedBuffer)
	if !ok {
		return false, nil
	}
	if k.over {
		return false, fmt.Errorf("%w: it is larger than %d bytes", errUntranslatable, maxRewritten)
	}
	caller, err := input(c)
	if fault.Is(err, fault.NotFound) {
		return false, fmt.Errorf("%w without the request: %w", errUntranslatable, err)
	}
	if err != nil {
		return false, fmt.Errorf("read the body: %w", err)
	}
	translated, err := w.alternate.Response(w.model, caller, k.bytes.Bytes(), c.Handle)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errUntranslatable, err)
	}
	_, err = sink.Write(translated)
	return true, err
}

// boundedBuffer is an answer in memory. Bytes beyond the bound are dropped, and over is set.
type boundedBuffer struct {
	bytes bytes.Buffer
	over  bool
}

// Write implements io.Writer.
func (k *boundedBuffer) Write(p []byte) (int, error) {
	if k.over = k.over || k.bytes.Len()+len(p) > maxRewritten; k.over {
		k.bytes.Reset()
		return len(p), nil
	}
	return k.bytes.Write(p)
}
